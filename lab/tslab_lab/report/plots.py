"""The figures of a report. Narrow, so that two stand side by side on a desk and one fills a phone."""

import math

from tslab_lab.display import figures, palette
from tslab_lab.display.layout import three_digits
from tslab_lab.memory import drawing
from tslab_lab.results import latencies, standings

WIDTH = 5.6
SMALL, TINY = 10, 9
NINES = 4.15  # the top of the percentiles: just above p99.99
ROW, POINT = 0.3, 0.045  # inches for a case in a dot plot, and for each allocator in it
BAR = 0.29  # inches for an allocator in a bar chart
BAND = "#F3F3F3"
# From fine to coarse; each has the 1.
TICKS = (
    [round(0.02 * i, 2) for i in range(25, 101)],
    [round(0.05 * i, 2) for i in range(10, 61)],
    [round(0.1 * i, 1) for i in range(5, 31)],
    [0.4, 0.5, 0.6, 0.8, 1, 1.2, 1.5, 2, 2.5, 3, 4, 5],
    [0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10],
    [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100],
    [10.0**i for i in range(-6, 7)],
)
MOST_TICKS = 8
MIB = 1024
UNITS = (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1))
SUPPORTED = "Lines end where fewer than ten values are beyond."


def _figure(height, width=WIDTH, **options):
    """Without pyplot: nothing is to be closed, and no window can open."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    return figure, figure.subplots(**options)


def _plain(axes):
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.tick_params(labelsize=TINY)
    axes.set_axisbelow(True)


def _ratio_axis(axis, set_limits, lows, highs):
    """A logarithmic axis of ratios, with ticks that a reader can multiply by."""
    from matplotlib import ticker

    least, most = min(*lows, 0.9), max(*highs, 1.1)
    room = (most / least) ** 0.06
    set_limits(least / room, most * room)
    shown = ([tick for tick in ticks if least / room <= tick <= most * room] for ticks in TICKS)
    reach = [ticks for ticks in shown if len(ticks) <= MOST_TICKS and ticks]
    # The finest that is not crowded; but a list that stops short of the range's ends is not for it.
    ticks = min(reach, key=lambda ticks: max(ticks[0] / least, most / ticks[-1])) if reach else [1]
    axis.set_major_locator(ticker.FixedLocator(ticks))
    axis.set_minor_locator(ticker.NullLocator())
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))


def _whisker(found, scale=1.0):
    """What errorbar() takes: how far the interval reaches to either side; nothing where there is none."""
    if found.low is None:
        return None
    return [[(found.middle - found.low) / scale], [(found.high - found.middle) / scale]]


def _point(axes, name, x, y, xerr=None, yerr=None, label=None):
    style = palette.style(name)
    axes.errorbar(
        x, y, xerr=xerr, yerr=yerr, fmt=style["marker"], color=style["color"], markersize=style["markersize"],
        markeredgecolor="black", markeredgewidth=0.6, elinewidth=1.3, capsize=2, label=label,
    )  # fmt: skip


def _legend(figure, axes):
    """Above the axes, so that it covers nothing. Returns where it ends, as a part of the height."""
    handles, labels = axes.get_legend_handles_labels()
    columns = max(1, len(labels)) if len(labels) <= 5 else 4
    rows = math.ceil(len(labels) / columns)
    height = figure.get_figheight()
    figure.legend(handles, labels, loc="upper center", ncol=columns, fontsize=TINY, frameon=False, handletextpad=0.4)
    return 1 - (0.1 + 0.2 * rows) / height


def overview(times, peaks, baseline):
    """`times`, `peaks`: dict allocator -> spread, the geometric means against the baseline. Left below is best."""
    figure, axes = _figure(3.9)
    names = [name for name in times if name in peaks]
    axes.axvline(1, color="#808080", linewidth=0.8)
    axes.axhline(1, color="#808080", linewidth=0.8)
    for name in names:
        x, y = times[name], peaks[name]
        _point(axes, name, x.middle, y.middle, _whisker(x), _whisker(y), name)
    for axis, limits, found in (
        (axes.xaxis, axes.set_xlim, times),
        (axes.yaxis, axes.set_ylim, peaks),
    ):
        getattr(axes, f"set_{axis.axis_name}scale")("log")
        _ratio_axis(axis, limits, *zip(*(found[name].ends for name in names)))
    _plain(axes)
    axes.grid(color=figures.GRID, linewidth=0.6)
    axes.set_xlabel(f"time, {baseline} = 1 (to the left: faster)", fontsize=SMALL)
    axes.set_ylabel(f"peak RSS, {baseline} = 1 (below: less)", fontsize=SMALL)
    axes.annotate("better", (0.02, 0.02), (0.12, 0.1), xycoords="axes fraction", fontsize=TINY, color="#555555",
                  arrowprops={"arrowstyle": "->", "color": "#555555"})  # fmt: skip
    top = _legend(figure, axes)
    figure.tight_layout(rect=(0, 0, 1, top))
    return figure


def ratios(cases, names, baseline, what):
    """A row for each case, and in it a point with its interval for each allocator against the baseline."""
    shown = [name for name in names if name != baseline]
    figure, axes = _figure(1.1 + (ROW + POINT * len(shown)) * len(cases))
    lows, highs, labelled = [], [], set()
    step = 0.76 / max(1, len(shown))
    for row, found in enumerate(cases.values()):
        if row % 2:
            axes.axhspan(row - 0.5, row + 0.5, color=BAND, zorder=0)
        for place, name in enumerate(shown):
            if name not in found or baseline not in found:
                continue
            ratio = standings.ratio(found[name], found[baseline])
            if ratio is None:
                continue
            height = row + (place - (len(shown) - 1) / 2) * step
            _point(axes, name, ratio.middle, height, _whisker(ratio), None, None if name in labelled else name)
            labelled.add(name)
            lows.append(ratio.ends[0])
            highs.append(ratio.ends[1])
    style = palette.style(baseline)
    axes.axvline(1, color=style["color"], linewidth=style["linewidth"], zorder=1, label=f"{baseline} = 1")
    axes.set_xscale("log")
    _ratio_axis(axes.xaxis, axes.set_xlim, lows or [1], highs or [1])
    axes.set_ylim(len(cases) - 0.5, -0.5)
    axes.set_yticks(range(len(cases)), list(cases))
    _plain(axes)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=figures.GRID, linewidth=0.6)
    axes.set_xlabel(f"{what}, {baseline} = 1 (right of the line: worse than {baseline})", fontsize=SMALL)
    top = _legend(figure, axes)
    figure.tight_layout(rect=(0, 0, 1, top))
    return figure


def time_unit(nanoseconds):
    """The unit that leaves a readable number: (its name, how many nanoseconds it has)."""
    return next((unit, size) for unit, size in UNITS if nanoseconds >= size or size == 1)


def case(times, peaks, afters, names):
    """One workload: time and memory of each allocator as bars."""
    names = [name for name in names if name in times or name in peaks]
    count = bool(times) + bool(peaks)
    figure, panels = _figure(0.75 + BAR * len(names), ncols=count, sharey=True, squeeze=False)
    panels = panels[0]
    if times:
        unit, size = time_unit(max(standings.middle(values) for values in times.values()))
        _bars(panels[0], times, names, size, f"time, {unit}")
    if peaks:
        _bars(panels[-1], peaks, names, MIB, "peak RSS, MiB (line: RSS after)")
        _marks_after(panels[-1], afters, names)
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylim(len(names) - 0.45, -0.55)
    figure.tight_layout(w_pad=0.6)
    return figure


def _marks_after(axes, afters, names):
    """A line across the bar, white in black so that it shows on all of them."""
    for place, name in enumerate(names):
        if name in afters:
            after = standings.middle(afters[name]) / MIB
            for colour, width in (("black", 2.2), ("white", 0.8)):
                axes.plot([after, after], [place - 0.42, place + 0.42], color=colour, linewidth=width)


def _bars(axes, found, names, scale, what):
    most = max((standings.spread(values).ends[1] / scale for values in found.values()), default=1)
    for place, name in enumerate(names):
        if name not in found:
            axes.text(0, place, " -", va="center", fontsize=TINY)
            continue
        value = standings.spread(found[name])
        middle, high = value.middle / scale, value.ends[1] / scale
        options = {"color": palette.style(name)["color"], "edgecolor": "white", "hatch": palette.hatch(name)}
        axes.barh(place, middle, height=0.74, linewidth=0, **options)
        if value.low != value.high:
            axes.errorbar(middle, place, xerr=_whisker(value, scale), color="black", elinewidth=1.3, capsize=2)
        axes.text(high + 0.02 * most, place, three_digits(middle), va="center", fontsize=TINY)
    axes.set_xlim(0, 1.22 * most)
    _plain(axes)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(what, fontsize=TINY)


def series(lines, names):
    """RSS over time: the median of the rounds, and as a shade all of them. `lines`: dict allocator -> list of (times in
    ms, KiB), a pair of lists for each round."""
    figure, axes = _figure(3.3)
    drawn, ends = [], []
    for name in names:
        seconds, middle, low, high = drawing.on_grid(lines[name])
        axes.fill_between(seconds, low, high, color=palette.style(name)["color"], alpha=drawing.SHADE, linewidth=0)
        drawn += axes.plot(seconds, middle, **palette.line(name))
        ends.append((seconds[-1], middle[-1]))
    axes.set_ylim(bottom=0, top=1.08 * axes.get_ylim()[1])
    _plain(axes)
    axes.grid(color=figures.GRID, linewidth=0.6)
    axes.set_xlabel("seconds since the start", fontsize=SMALL)
    axes.set_ylabel("RSS, MiB", fontsize=SMALL)
    last = max(at for at, _ in ends)
    axes.set_xlim(0, last)
    figures.name_lines(axes, names, ends, drawn, last, TINY)
    figure.tight_layout()
    return figure


def latency(curves, names):
    """Time to the right, nines upwards. `curves`: dict allocator -> (nanoseconds, share of what takes longer)."""
    from matplotlib import ticker

    figure, axes = _figure(3.6)
    for name in (name for name in names if name in curves):
        points = [(time, -math.log10(share)) for time, share in zip(*curves[name])]
        shown = [(time, height) for time, height in points if height <= NINES]
        times, heights = zip(*(shown or points[:1]))
        style = palette.style(name)
        axes.step(times, heights, where="post", label=name, markevery=_spaced(heights), **style)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5), numticks=20))
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: _short_time(value)))
    axes.xaxis.set_minor_locator(ticker.NullLocator())
    axes.tick_params(axis="x", rotation=45)
    shares = (0, *latencies.SHARES)
    axes.set_yticks(
        [-math.log10(1 - share) for share in shares], ["0", *(percentile_name(s) for s in latencies.SHARES)]
    )
    axes.set_ylim(0, NINES)
    _plain(axes)
    axes.grid(color=figures.GRID, linewidth=0.6)
    axes.set_xlabel("time of one operation", fontsize=SMALL)
    axes.set_ylabel("percentile", fontsize=SMALL)
    top = _legend(figure, axes)
    figure.tight_layout(rect=(0, 0, 1, top))
    return figure


def percentile_name(share):
    return f"p{100 * share:g}"


def _short_time(nanoseconds):
    unit, size = time_unit(nanoseconds)
    return f"{nanoseconds / size:g} {unit}"


def _spaced(heights):
    """The points that get a marker: about eight, at equal heights."""
    wanted = [0.3 + 0.5 * i for i in range(8)]
    return sorted({next((i for i, h in enumerate(heights) if h >= height), 0) for height in wanted} - {0})
