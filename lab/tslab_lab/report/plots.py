"""The figures of a run. Narrow, so that two stand side by side on a desk and one fills a phone."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from tslab_lab.display import figures
from tslab_lab.display.figures import Array, Axes, Canvas, style
from tslab_lab.display.layout import three_digits, time_text, time_unit
from tslab_lab.estimates.histogram import SHARES, Curve
from tslab_lab.estimates.medians import Spread
from tslab_lab.memory.series import Line
from tslab_lab.results import standings
from tslab_lab.results.standings import ByAllocator

WIDTH = 6.2  # as wide as the page on a desk, and still to be read on a phone
SMALL, TINY = 10, 9
NINES = 4.15  # the top of the percentiles: just above p99.99
STEPS, SHADE = 600, 0.18  # of the time axis of RSS, and of what shows all rounds
# From fine to coarse; each has the 1.
TICKS: tuple[list[float], ...] = (
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
Box = tuple[float, float, float, float]  # left, low, right, high
Curves = dict[str, list[tuple[float, float]]]  # by allocator
Spreads = Mapping[str, Spread]  # by allocator


def _figure(height: float, width: float = WIDTH, **options: Any) -> tuple[Canvas, Any]:
    """Without pyplot: nothing is to be closed, and no window can open."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    return figure, figure.subplots(**options)


def _plain(axes: Axes, grid: str = "") -> None:
    """`grid`: both, x or y."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.tick_params(labelsize=TINY)
    axes.set_axisbelow(True)
    if grid:
        axes.grid(axis=grid, color=figures.GRID, linewidth=0.6)


def _ratio_axis(axis: Any, set_limits: Callable[[float, float], object], spreads: Iterable[Spread]) -> None:
    """A logarithmic axis of ratios, with ticks that a reader can multiply by."""
    from matplotlib import ticker

    lows, highs = zip(*(spread.ends for spread in spreads), (1, 1))
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


def _whisker(found: Spread, scale: float = 1.0) -> list[list[float]] | None:
    """What errorbar() takes: how far the interval reaches to either side; nothing where there is none."""
    if found.low is None:
        return None
    low, high = found.ends
    return [[(found.middle - low) / scale], [(high - found.middle) / scale]]


def _point(axes: Axes, name: str, x: Spread, y: Spread, label: str | None = None) -> None:
    look = style(name)
    axes.errorbar(
        x.middle, y.middle, xerr=_whisker(x), yerr=_whisker(y), fmt=look["marker"], color=look["color"],
        markersize=look["markersize"], markeredgecolor="black", markeredgewidth=0.6, elinewidth=1.3, capsize=2, label=label,
    )  # fmt: skip


def overview(times: Spreads, peaks: Spreads, baseline: str, titles: Mapping[str, str]) -> Canvas:
    """`times`, `peaks`: the geometric means against the baseline. Left below is best. `titles`: what the allocators are called."""
    figure, axes = _figure(3.6)
    names = [name for name in times if name in peaks]
    axes.axvline(1, color="#808080", linewidth=0.8)
    axes.axhline(1, color="#808080", linewidth=0.8)
    for name in names:
        _point(axes, name, times[name], peaks[name])
    for axis, limits, found in ((axes.xaxis, axes.set_xlim, times), (axes.yaxis, axes.set_ylim, peaks)):
        getattr(axes, f"set_{axis.axis_name}scale")("log")
        _ratio_axis(axis, limits, [found[name] for name in names])
    _plain(axes, "both")
    axes.set_xlabel(f"time, {baseline} = 1 (to the left: faster)", fontsize=SMALL)
    axes.set_ylabel(f"peak RSS, {baseline} = 1 (below: less)", fontsize=SMALL)
    figure.tight_layout()
    _name_points(axes, {name: (times[name], peaks[name]) for name in names}, titles)
    return figure


# Where a name may stand beside its point: to the right, to the left, above, below, in points; then further away.
_SIDES = [(8, 0, "left"), (-8, 0, "right"), (0, 11, "center"), (0, -11, "center")]
_SIDES += [(9, 10, "left"), (9, -10, "left"), (-9, 10, "right"), (-9, -10, "right")]
_SIDES += [(14, 22, "left"), (14, -22, "left"), (-14, 22, "right"), (-14, -22, "right")]


def _name_points(axes: Axes, places: Mapping[str, tuple[Spread, Spread]], titles: Mapping[str, str]) -> None:
    """Each name where it covers neither a point, nor an interval, nor another name. `places`: spreads, to the right and
    upwards."""
    points = {name: axes.transData.transform((x.middle, y.middle)) for name, (x, y) in places.items()}
    frame, scale = axes.get_window_extent(), axes.figure.dpi / 72
    taken = [(x - 5 * scale, y - 5 * scale, x + 5 * scale, y + 5 * scale) for x, y in points.values()]
    for right, up in places.values():
        ends = [(end, up.middle) for end in right.ends], [(right.middle, end) for end in up.ends]
        taken += [(*axes.transData.transform(first), *axes.transData.transform(last)) for first, last in ends]
    for name, (x, y) in points.items():
        title = titles.get(name, name)
        width, height = 5.6 * len(title) * scale, 10 * scale
        boxes: dict[tuple[int, int, str], Box] = {}
        for dx, dy, side in _SIDES:
            left = x + dx * scale - {"left": 0, "right": width, "center": width / 2}[side]
            middle = y + dy * scale
            boxes[dx, dy, side] = left, middle - height / 2, left + width, middle + height / 2

        def cost(box: Box) -> int:
            outside = box[0] < frame.x0 or box[2] > frame.x1 or box[1] < frame.y0 or box[3] > frame.y1
            return 2 * outside + sum(_overlap(box, other) for other in taken)

        best = min(boxes, key=lambda side: cost(boxes[side]))
        taken.append(boxes[best])
        look = {"color": style(name)["color"], "fontsize": TINY, "fontweight": "bold"}
        place = [spread.middle for spread in places[name]]
        axes.annotate(title, place, best[:2], textcoords="offset points", ha=best[2], va="center", **look)


def _overlap(one: Box, other: Box) -> bool:
    return one[0] <= other[2] and other[0] <= one[2] and one[1] <= other[3] and other[1] <= one[3]


def ratios(rows: Mapping[str, Spreads], names: Iterable[str], baseline: str, what: str) -> Canvas:
    """A row for each case, and on it the ratios of the allocators to the baseline: one above the other where they have intervals."""
    shown = [name for name in names if name != baseline and any(name in found for found in rows.values())]
    apart = any(spread.low is not None for found in rows.values() for spread in found.values())
    figure, axes = _figure(1.3 + (0.27 + 0.05 * len(shown) * apart) * len(rows))
    labelled = set[str]()
    for row, found in enumerate(rows.values()):
        if row % 2:
            axes.axhspan(row - 0.5, row + 0.5, color="#F3F3F3", zorder=0)
        for place, name in enumerate(name for name in shown if name in found):
            height = row + (place - (len(shown) - 1) / 2) * 0.76 / len(shown) * apart
            _point(axes, name, found[name], Spread(height, None, None), None if name in labelled else name)
            labelled.add(name)
    look = style(baseline)
    axes.axvline(1, color=look["color"], linewidth=look["linewidth"], zorder=1, label=f"{baseline} = 1")
    axes.set_xscale("log")
    _ratio_axis(axes.xaxis, axes.set_xlim, [spread for found in rows.values() for spread in found.values()])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks(range(len(rows)), list(rows))
    _plain(axes, "x")
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(f"{what}, {baseline} = 1 (right of the line: more)", fontsize=SMALL)
    handles, labels = axes.get_legend_handles_labels()
    columns = min(4, max(1, len(labels)))
    figure.legend(handles, labels, loc="upper center", ncol=columns, fontsize=TINY, frameon=False, handletextpad=0.4)
    figure.tight_layout(rect=(0, 0, 1, 1 - (0.1 + 0.2 * math.ceil(len(labels) / columns)) / figure.get_figheight()))
    return figure


def case(times: ByAllocator, peaks: ByAllocator, afters: ByAllocator, names: Iterable[str]) -> Canvas:
    """One workload: time and memory of each allocator as bars."""
    names = [name for name in names if name in times or name in peaks]
    figure, panels = _figure(0.75 + 0.33 * len(names), ncols=bool(times) + bool(peaks), sharey=True, squeeze=False)
    if times:
        unit, size = time_unit(max(standings.middle(values) for values in times.values()))
        bars(panels[0][0], times, names, size, f"time, {unit}")
    if peaks:
        bars(panels[0][-1], peaks, names, MIB, "peak RSS, MiB" + (" (pale: RSS after)" if afters else ""), afters)
    figure.tight_layout(w_pad=0.6)
    return figure


def bars(
    axes: Axes, found: ByAllocator, names: Sequence[str], scale: float, what: str, beside: ByAllocator | None = None
) -> None:
    """`beside`: another figure, as a pale bar below the first."""
    beside = beside or {}
    most = max((standings.spread(values).ends[1] / scale for values in found.values()), default=1)
    height, shift = (0.3, 0.17) if beside else (0.5, 0)
    for place, name in enumerate(names):
        colour = style(name)["color"]
        if name in beside:
            after = standings.middle(beside[name]) / scale
            axes.barh(place + shift, after, height=height, color=colour, alpha=0.4, linewidth=0)
        if name not in found:
            continue
        value = standings.spread(found[name])
        axes.barh(place - shift, value.middle / scale, height=height, color=colour, linewidth=0)
        if value.ends[0] != value.ends[1]:
            whisker = {"color": "#808080", "elinewidth": 1.3, "capsize": 2}
            axes.errorbar(value.middle / scale, place - shift, xerr=_whisker(value, scale), **whisker)
        end = value.ends[1] / scale + 0.02 * most
        axes.text(end, place - shift, three_digits(value.middle / scale), va="center", fontsize=TINY)
    axes.set_xlim(0, 1.22 * most)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.45, -0.55)
    _plain(axes)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(what, fontsize=TINY)


def on_grid(runs: Sequence[Line], steps: int = STEPS) -> tuple[Array, Array, Array, Array]:
    """(seconds, middle, low, high), in MiB, of several rounds. Each step has the median over the rounds of their means within
    it, and the least and the most that any sample showed. It ends where half of the rounds have ended; those that ended
    earlier count with their last value."""
    import numpy as np

    edges = np.linspace(0, max(median(times[-1] for times, _ in runs), 1), steps + 1)
    middles = (edges[1:] + edges[:-1]) / 2
    means, lows, highs = list[Array](), list[Array](), list[Array]()
    for run in runs:
        times, values = (np.asarray(column, float) for column in run)
        line = np.interp(middles, times, values)
        low, high, total, count = line.copy(), line.copy(), np.zeros(steps), np.zeros(steps)
        inside = times <= edges[-1]
        step = np.minimum(np.searchsorted(edges, times, side="right") - 1, steps - 1)[inside]
        np.minimum.at(low, step, values[inside])
        np.maximum.at(high, step, values[inside])
        np.add.at(total, step, values[inside])
        np.add.at(count, step, 1)
        line[count > 0] = total[count > 0] / count[count > 0]
        means.append(line)
        lows.append(low)
        highs.append(high)
    middle, low, high = np.median(means, axis=0), np.min(lows, axis=0), np.max(highs, axis=0)
    return middles / 1000, middle / MIB, low / MIB, high / MIB


def series(lines: Mapping[str, Sequence[Line]]) -> Canvas:
    """RSS over time: the median of the rounds, and as a shade all of them."""
    figure, axes = _figure(3.3)
    series_panel(axes, lines)
    figure.tight_layout()
    return figure


def series_panel(axes: Axes, lines: Mapping[str, Sequence[Line]]) -> None:
    drawn, ends = list[Any](), list[tuple[float, float]]()
    for name, runs in lines.items():
        seconds, middle, low, high = on_grid(runs)
        axes.fill_between(seconds, low, high, color=style(name)["color"], alpha=SHADE, linewidth=0)
        drawn += axes.plot(seconds, middle, **figures.line(name))
        ends.append((seconds[-1], middle[-1]))
    axes.set_ylim(bottom=0, top=1.08 * axes.get_ylim()[1])
    _plain(axes, "both")
    axes.set_xlabel("seconds since the start", fontsize=SMALL)
    axes.set_ylabel("RSS, MiB", fontsize=SMALL)
    last = max(at for at, _ in ends)
    axes.set_xlim(0, last)
    figures.name_lines(axes, lines, ends, drawn, last, TINY)


def latency(curves: Mapping[str, Curve]) -> Canvas:
    """Nines to the right, time upwards."""
    figure, axes = _figure(3.6)
    drawn, ends = list[Any](), list[tuple[float, float]]()
    for name, curve in curves.items():
        points = [(-math.log10(share), math.log10(max(time, 1))) for time, share in zip(*curve)]
        shown = [point for point in points if point[0] <= NINES] or points[:1]
        drawn += axes.step(*zip(*shown), where="pre", **figures.line(name))
        ends.append(shown[-1])
    last = max(end[0] for end in ends)
    known = [share for share in SHARES if -math.log10(1 - share) <= last + 0.05]
    axes.set_xticks([0, *(-math.log10(1 - share) for share in known)], ["0", *(f"p{100 * share:g}" for share in known)])
    axes.set_xlim(0, last)
    _time_ticks(axes)
    _plain(axes, "both")
    axes.set_xlabel("percentile (lines end where fewer than ten values are beyond)", fontsize=SMALL)
    axes.set_ylabel("time of one operation", fontsize=SMALL)
    words = [f"{name} {time_text(10 ** end[1])}" for name, end in zip(curves, ends)]
    figures.name_lines(axes, words, ends, drawn, last, TINY)
    figure.tight_layout()
    return figure


def _time_ticks(axes: Axes) -> None:
    """On an axis of log10(ns): at 1, 2 and 5."""
    least, most = axes.get_ylim()
    ticks = [math.log10(digit) + power for power in range(-1, 11) for digit in (1, 2, 5)]
    ticks = [tick for tick in ticks if least <= tick <= most]
    ticks = ticks if len(ticks) <= MOST_TICKS + 2 else [tick for tick in ticks if abs(tick - round(tick)) < 0.01]
    units = [(round(10**tick), *time_unit(round(10**tick))) for tick in ticks]
    axes.set_yticks(ticks, [f"{ns / size:g} {unit}" for ns, unit, size in units])
    axes.set_ylim(least, most)


def curves(groups: Mapping[str, Sequence[Curves]], limits: Mapping[int, str]) -> Canvas:
    """Time and RSS over the size, both logarithmic. `groups`: by title, of bytes and ns, and the same with KiB; `limits`: by
    bytes what ends there."""
    figure, panels = _figure(3.4 * len(groups), 1.15 * WIDTH, nrows=len(groups), ncols=2, squeeze=False)
    for row, (title, both) in zip(panels, groups.items()):
        for axes, lines, what in zip(row, both, ("time of an operation", "peak RSS")):
            _curve_panel(axes, lines, limits)
            axes.set_title(f"{title}: {what}", fontsize=SMALL, loc="left")
            axes.set_xlabel("bytes", fontsize=TINY)
    for axes in panels[:, 0]:
        _time_ticks(axes)
    for axes in panels[:, 1]:
        least, most = axes.get_ylim()
        sizes = [2**power for power in range(-3, 21) if least <= math.log10(MIB * 2**power) <= most]
        axes.set_yticks([math.log10(MIB * size) for size in sizes], [f"{size:g} MiB" for size in sizes])
        axes.set_ylim(least, most)
    figure.tight_layout(w_pad=0.4)
    return figure


def _curve_panel(axes: Axes, lines: Curves, limits: Mapping[int, str]) -> None:
    drawn, ends = list[Any](), list[tuple[float, float]]()
    for name, points in lines.items():
        places = [(math.log2(size), math.log10(value)) for size, value in points]
        drawn += axes.plot(*zip(*places), **style(name) | {"markersize": 3.5})
        ends.append(places[-1])
    first, last = min(line.get_xdata()[0] for line in drawn), max(x for x, _ in ends)
    axes.set_xlim(first, last)
    least, most = axes.get_ylim()
    axes.set_ylim(least, most + 0.16 * (most - least))
    for size, text in limits.items():
        axes.axvline(math.log2(size), color="#808080", linewidth=0.8, linestyle=(0, (2, 2)), zorder=0)
        spot = (math.log2(size), axes.get_ylim()[1])
        look = {"rotation": 90, "fontsize": 6.5, "color": "#606060", "ha": "right", "va": "top"}
        axes.annotate(text, spot, (-2, -3), textcoords="offset points", **look)
    ticks = range(math.ceil(first), int(last) + 1, 2)
    axes.set_xticks(list(ticks), [f"{1 << tick:,}" if tick < 10 else f"{1 << tick - 10:,} K" for tick in ticks])
    _plain(axes, "both")
    figures.name_lines(axes, lines, ends, drawn, last, TINY - 1)


Panel = Mapping[str, Sequence[Line]] | tuple[ByAllocator, str]


def scenes(panels: Mapping[str, Panel]) -> Canvas:
    """By title: RSS over time, or a rate, as bars, and its unit."""
    figure, places = _figure(
        2.6 * math.ceil(len(panels) / 2), 1.6 * WIDTH, nrows=math.ceil(len(panels) / 2), ncols=2, squeeze=False
    )
    for axes, (title, found) in zip(places.flat, panels.items()):
        if isinstance(found, tuple):
            values, unit = found
            names = sorted(values, key=lambda name: -standings.middle(values[name]))
            bars(axes, values, names, 1, unit)
        else:
            series_panel(axes, found)
        axes.set_title(title, fontsize=SMALL, loc="left")
    for axes in places.flat[len(panels) :]:
        axes.set_visible(False)
    figure.tight_layout()
    return figure
