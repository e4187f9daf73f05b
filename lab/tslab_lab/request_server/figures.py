"""The figures of the request server, as PNG and PDF. They are to be read in print and by colour-blind readers: every
line has a pattern of its own and its name at its end."""

from tslab_lab.display import palette
from tslab_lab.display.figures import GRID, name_lines, save
from tslab_lab.request_server import outcomes
from tslab_lab.request_server.outcomes import CPU, WALL
from tslab_lab.statistics.histogram import coarser

PANEL_WIDTH, HEIGHT = 5.2, 4.0
STEP_MS = 20
HEADROOM = 1.08
LABEL_FACTOR = 12  # the height of the percentiles' names, on a logarithmic axis
TIMES = {WALL: "wall clock", CPU: "processor's time"}


def _latency_panel(axes, outcome, column, factor):
    """Returns the highest step."""
    highest = 0
    for kind, filled in ((WALL, True), (CPU, False)):
        histogram = outcome.pooled(column, kind)
        lefts, rights, shares = coarser(histogram, factor)
        edges = [edge / 1000 for edge in [*lefts, rights[-1]]]
        percents = [100 * share for share in shares]
        if filled:
            axes.stairs(percents, edges, fill=True, color="#C8C8C8", label=TIMES[kind])
            axes.stairs(percents, edges, color="#808080", linewidth=0.6)
        else:
            axes.stairs(percents, edges, color="#333333", linewidth=1.4, label=TIMES[kind])
        highest = max(highest, *percents)
    histogram = outcome.pooled(column, CPU)
    for share, text, pattern in ((0.5, "p50", "--"), (0.99, "p99", ":"), (0.999, "p99.9", "-.")):
        found = histogram.percentile_ns(share)
        if found is not None:
            axes.axvline(found / 1000, color="black", linewidth=0.9, linestyle=pattern)
            label = f"{text}: {found / 1000:.0f} µs"
            place = {"transform": axes.get_xaxis_transform(), "rotation": 90, "ha": "right", "va": "top"}
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1, "alpha": 0.8}
            axes.text(found / 1000 * 0.985, 0.98, label, fontsize=7, bbox=box, **place)
    axes.set_title(f"{column.name} ({histogram.count:,} requests)", fontsize=10)
    axes.set_xlabel("time in the handler, µs (lines: percentiles of the processor's time)", fontsize=8)
    return highest


def latency(outcome, left, right, directory):
    """Two columns' handler times side by side, on the same axes."""
    from matplotlib import pyplot, ticker

    figure, panels = pyplot.subplots(1, 2, sharex=True, sharey=True, figsize=(2 * PANEL_WIDTH, HEIGHT))
    highest = 0
    fewest = min(outcome.pooled(column, CPU).count for column in (left, right))
    factor = 2 if fewest >= 20_000 else 4 if fewest >= 4000 else 8
    for axes, column in zip(panels, (left, right)):
        highest = max(highest, _latency_panel(axes, outcome, column, factor))
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylim(top=LABEL_FACTOR * highest)
        axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_formatter(ticker.NullFormatter())
        axes.grid(which="major", color=GRID, linewidth=0.6)
        axes.set_axisbelow(True)
    panels[0].set_ylabel(f"% of the requests in a bucket of {100 * (1.01**factor - 1):.0f} %", fontsize=8)
    panels[0].yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    panels[1].legend(fontsize=8, loc="upper right", framealpha=1)
    figure.tight_layout()
    files = save(figure, directory, "requests-latency")
    pyplot.close(figure)
    return files


def median_series(all_series, last_ms):
    """Times and the median over the rounds, on a grid; before its first sample a round has the value of that one."""
    import numpy

    grid = numpy.arange(0, last_ms + 1, STEP_MS)
    rows = [numpy.interp(grid, *zip(*series)) for series in all_series if series]
    return grid, numpy.median(rows, axis=0)


def _rss_panel(axes, outcome, columns, last_ms, title):
    ends, lines = [], []
    for column in columns:
        all_series = [run["series"] for run in outcome.runs[column.name]]
        grid, kib = median_series(all_series, last_ms)
        (line,) = axes.plot(grid / 1000, kib / 1024, **palette.line(column.name))
        lines.append(line)
        ends.append((last_ms / 1000, kib[-1] / 1024))
    axes.set_title(title, fontsize=10)
    axes.set_xlabel("seconds since the start of the load", fontsize=8)
    axes.grid(color=GRID, linewidth=0.6)
    return ends, lines


def rss(outcome, directory, idle_seconds):
    """Peers and one of ours, our policies, and, in a panel of its own because it presses the others flat, what should
    grow: the deferred build, and sessions inside of requests' epochs."""
    from matplotlib import pyplot

    ours = [column for column in outcome.columns if column.is_judged]
    growing = [column for column in outcome.columns if not column.is_peer and not column.is_judged]
    groups = {"allocators": [*outcome.peers, *ours[:1]], "policies": ours if len(ours) > 1 else []}
    groups["for comparison"] = [*growing, *ours[:1]] if growing else []
    groups = {title: columns for title, columns in groups.items() if columns}
    last_ms = min(run["series"][-1][0] for runs in outcome.runs.values() for run in runs if run["series"])
    figure, panels = pyplot.subplots(1, len(groups), squeeze=False, figsize=(PANEL_WIDTH * len(groups), HEIGHT))
    shared = []
    for axes, (title, columns) in zip(panels[0], groups.items()):
        drawn = _rss_panel(axes, outcome, columns, last_ms, title)
        shared.append((axes, columns, *drawn))
    plain = [axes for axes, columns, *_ in shared if not set(columns) & set(growing)]
    most = max((axes.get_ylim()[1] for axes in plain), default=0)
    for axes, columns, ends, lines in shared:
        axes.set_ylim(0, HEADROOM * (most if axes in plain else axes.get_ylim()[1]))
        axes.axvline(max(0, last_ms / 1000 - idle_seconds), color="#808080", linewidth=0.8, linestyle=":")
        name_lines(axes, [column.name for column in columns], ends, lines, last_ms / 1000)
    panels[0][0].set_ylabel("RSS, MiB (median of the rounds)", fontsize=8)
    figure.tight_layout()
    files = save(figure, directory, "requests-rss")
    pyplot.close(figure)
    return files


def draw(outcome, directory, idle_seconds):
    """All figures that these columns allow; returns their PNG files with titles."""
    directory.mkdir(parents=True, exist_ok=True)
    titles = {}
    never = outcome.column(f"{outcomes.OURS} never")
    deferred = outcome.column(f"{outcomes.DEFERRED} never")
    beside = deferred or outcome.best_peer(outcomes.mean_us(CPU))
    if never and beside:
        files = latency(outcome, beside, never, directory)
        titles[files[0].name] = f"Histograms of the handler's time: {beside.name} and {never.name}"
    files = rss(outcome, directory, idle_seconds)
    titles[files[0].name] = "RSS of the server over time; the dotted line is the end of the load"
    return titles
