"""The figures of the request server, as PNG and PDF. They are to be read in print and by colour-blind readers: every
line has a pattern of its own and its name at its end, and the colours (Okabe and Ito's) differ in lightness."""

import os
from pathlib import Path
from statistics import mean

import requests_outcome as outcomes
from requests_histogram import coarser
from requests_outcome import CPU, WALL

ROOT = Path(__file__).resolve().parent.parent
# Its cache of fonts is not to be left behind in the user's home.
os.environ.setdefault("MPLCONFIGDIR", str(ROOT / "build/lab/matplotlib"))
PANEL_WIDTH, HEIGHT, DPI = 5.2, 4.0, 130
BOLD = ("#D55E00", "-", 2.6)  # ours under never, wherever it is
PEER_STYLES = (  # colour, pattern of dashes, width
    ("#000000", "-", 1.3),
    ("#0072B2", (0, (5, 2)), 1.5),
    ("#E69F00", (0, (1, 1)), 2.0),
    ("#009E73", (0, (6, 2, 1, 2)), 1.5),
)
POLICY_STYLES = (
    ("#000000", (0, (5, 2)), 1.3),
    ("#0072B2", (0, (1, 1)), 2.0),
    ("#009E73", (0, (6, 2, 1, 2)), 1.5),
    ("#CC79A7", (0, (3, 1, 1, 1, 1, 1)), 1.8),
    ("#56B4E9", "-", 1.3),
)
STEP_MS = 20
LABEL_ROOM = 0.3  # of the width of a panel, for the names at the lines' ends
LABEL_GAP = 0.055  # of the height, from one name to the next
BEFORE_MS = 200  # of the load's start: the warm-up
HEADROOM = 1.08
LABEL_FACTOR = 12  # the height of the percentiles' names, on a logarithmic axis
TIMES = {WALL: "wall clock", CPU: "processor's time"}


def available():
    """Whether the libraries are there; if not, what to do, in words."""
    try:
        import matplotlib
        import numpy
    except ImportError as error:
        return f"{error.name} is not installed: there are no figures (apt-get install python3-matplotlib python3-numpy)"
    del numpy
    Path(os.environ["MPLCONFIGDIR"]).mkdir(parents=True, exist_ok=True)
    matplotlib.use("Agg")
    return ""


def _save(figure, directory, name):
    files = []
    for suffix in ("png", "pdf"):
        files.append(directory / f"{name}.{suffix}")
        # Without the date, the same figures give the same file.
        metadata = {"CreationDate": None} if suffix == "pdf" else {}
        figure.savefig(files[-1], dpi=DPI, metadata=metadata)
    return files


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
            axes.stairs(percents, edges, color="#0072B2", linewidth=1.4, label=TIMES[kind])
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
        axes.grid(which="major", color="#E4E4E4", linewidth=0.6)
        axes.set_axisbelow(True)
    panels[0].set_ylabel(f"% of the requests in a bucket of {100 * (1.01**factor - 1):.0f} %", fontsize=8)
    panels[0].yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    panels[1].legend(fontsize=8, loc="upper right", framealpha=1)
    figure.tight_layout()
    files = _save(figure, directory, "requests-latency")
    pyplot.close(figure)
    return files


def median_series(all_series, last_ms):
    """Times and the median over the rounds, on a grid; before its first sample a round has the value of that one."""
    import numpy

    grid = numpy.arange(-BEFORE_MS, last_ms + 1, STEP_MS)
    rows = [numpy.interp(grid, *zip(*series)) for series in all_series if series]
    return grid, numpy.median(rows, axis=0)


def _spread_labels(places, least, most):
    """Moves labels apart, each as little as can be, so that none covers another; keeps their order."""
    gap = LABEL_GAP * (most - least)
    order = sorted(range(len(places)), key=places.__getitem__)
    # Less the gaps below, neighbours that are too close are out of order: they share the mean of their places.
    groups = []
    for rank, index in enumerate(order):
        groups.append([places[index] - rank * gap])
        while len(groups) > 1 and mean(groups[-2]) > mean(groups[-1]):
            groups[-2:] = [groups[-2] + groups[-1]]
    shared = [mean(group) for group in groups for _ in group]
    highest = most - (len(places) - 1) * gap
    moved = [0.0] * len(places)
    for rank, (index, place) in enumerate(zip(order, shared)):
        moved[index] = max(least, min(place, highest)) + rank * gap
    return moved


def _styles(columns):
    """A style for each column, the same in all panels."""
    peers, policies = iter(PEER_STYLES), iter(POLICY_STYLES)
    styles = {}
    for column in columns:
        is_bold = column.is_ours and BOLD not in styles.values()
        styles[column] = BOLD if is_bold else next(peers if column.is_peer else policies, PEER_STYLES[0])
    return styles


def _rss_panel(axes, outcome, columns, last_ms, title):
    ends, lines = [], []
    styles = _styles(outcome.columns)
    for column in columns:
        colour, dashes, width = styles[column]
        all_series = [run["series"] for run in outcome.runs[column.name]]
        grid, kib = median_series(all_series, last_ms)
        (line,) = axes.plot(grid / 1000, kib / 1024, color=colour, linestyle=dashes, linewidth=width)
        lines.append(line)
        ends.append(kib[-1] / 1024)
    axes.set_title(title, fontsize=10)
    axes.set_xlabel("seconds since the start of the load", fontsize=8)
    axes.grid(color="#E4E4E4", linewidth=0.6)
    return ends, lines


def _name_lines(axes, columns, ends, lines, last_ms):
    least, most = axes.get_ylim()
    left, _ = axes.get_xlim()
    end = last_ms / 1000
    axes.set_xticks([tick for tick in axes.get_xticks() if left <= tick <= end])
    axes.set_xlim(left, end + LABEL_ROOM / (1 - LABEL_ROOM) * (end - left))
    for column, at, place, line in zip(columns, ends, _spread_labels(ends, least, most), lines):
        arrow = {"arrowstyle": "-", "color": line.get_color(), "linewidth": 0.7, "shrinkA": 0, "shrinkB": 0}
        arrow["relpos"] = (0, 0.5)
        spot = (end + 0.05 * (end - left), place)
        axes.annotate(column.name, (end, at), spot, color="black", fontsize=8, va="center", arrowprops=arrow)


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
        _name_lines(axes, columns, ends, lines, last_ms)
    panels[0][0].set_ylabel("RSS, MiB (median of the rounds)", fontsize=8)
    figure.tight_layout()
    files = _save(figure, directory, "requests-rss")
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
