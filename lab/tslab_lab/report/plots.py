"""The figures of a report. Narrow, so that two stand side by side on a desk and one fills a phone."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tslab_lab.display import figures, palette
from tslab_lab.display.figures import Axes, Canvas
from tslab_lab.display.layout import three_digits
from tslab_lab.estimates.medians import Spread
from tslab_lab.estimates.randomisation import Judged
from tslab_lab.memory import drawing
from tslab_lab.memory.series import Line
from tslab_lab.results import latencies, standings
from tslab_lab.results.standings import ByAllocator, Cases

WIDTH = 5.6
WIDE = 6.2  # of the figure that answers: as wide as the page on a desk, and still to be read on a phone
SMALL, TINY = 10, 9
NINES = 4.15  # the top of the percentiles: just above p99.99
STRIP = 0.27  # inches for a case in which all allocators share a line
ROW, POINT = 0.3, 0.045  # inches for a case in a dot plot, and for each allocator in it
BAR = 0.33  # inches for an allocator in a bar chart
PALE = 0.4
BAND = "#F3F3F3"
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
UNITS = (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1))
SUPPORTED = "Lines end where fewer than ten values are beyond."


def _figure(height: float, width: float = WIDTH, **options: Any) -> tuple[Canvas, Any]:
    """Without pyplot: nothing is to be closed, and no window can open."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    return figure, figure.subplots(**options)


def _plain(axes: Axes) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.tick_params(labelsize=TINY)
    axes.set_axisbelow(True)


Whisker = list[list[float]] | None
Box = tuple[float, float, float, float]  # left, low, right, high
Curves = dict[str, list[tuple[float, float]]]  # by allocator


def _ratio_axis(
    axis: Any, set_limits: Callable[[float, float], object], lows: Iterable[float], highs: Iterable[float]
) -> None:
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


def _whisker(found: Spread, scale: float = 1.0) -> Whisker:
    """What errorbar() takes: how far the interval reaches to either side; nothing where there is none."""
    if found.low is None:
        return None
    low, high = found.ends
    return [[(found.middle - low) / scale], [(high - found.middle) / scale]]


def _point(
    axes: Axes, name: str, x: float, y: float, xerr: Whisker = None, yerr: Whisker = None, label: str | None = None
) -> None:
    style = palette.style(name)
    axes.errorbar(
        x, y, xerr=xerr, yerr=yerr, fmt=style["marker"], color=style["color"], markersize=style["markersize"],
        markeredgecolor="black", markeredgewidth=0.6, elinewidth=1.3, capsize=2, label=label,
    )  # fmt: skip


def _legend(figure: Canvas, axes: Axes) -> float:
    """Above the axes, so that it covers nothing. Returns where it ends, as a part of the height."""
    handles, labels = axes.get_legend_handles_labels()
    columns = max(1, len(labels)) if len(labels) <= 5 else 4
    rows = math.ceil(len(labels) / columns)
    height = figure.get_figheight()
    figure.legend(handles, labels, loc="upper center", ncol=columns, fontsize=TINY, frameon=False, handletextpad=0.4)
    return 1 - (0.1 + 0.2 * rows) / height


def overview(times: Mapping[str, Spread], peaks: Mapping[str, Spread], baseline: str) -> Canvas:
    """`times`, `peaks`: the geometric means against the baseline. Left below is best."""
    figure, axes = _figure(3.3, WIDE)
    names = [name for name in times if name in peaks]
    axes.axvline(1, color="#808080", linewidth=0.8)
    axes.axhline(1, color="#808080", linewidth=0.8)
    for name in names:
        x, y = times[name], peaks[name]
        _point(axes, name, x.middle, y.middle, _whisker(x), _whisker(y))
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
    figure.tight_layout()
    _name_points(axes, {name: (times[name], peaks[name]) for name in names})
    return figure


# Where a name may stand beside its point: to the right, to the left, above, below, in points; then further away.
_SIDES = [(8, 0, "left"), (-8, 0, "right"), (0, 11, "center"), (0, -11, "center")]
_SIDES += [(9, 10, "left"), (9, -10, "left"), (-9, 10, "right"), (-9, -10, "right")]
_SIDES += [(14, 22, "left"), (14, -22, "left"), (-14, 22, "right"), (-14, -22, "right")]


def _name_points(axes: Axes, places: Mapping[str, tuple[Spread, Spread]]) -> None:
    """Each name where it covers neither a point, nor an interval, nor another name. `places`: spreads, to the right and
    upwards."""
    points = {name: axes.transData.transform((x.middle, y.middle)) for name, (x, y) in places.items()}
    frame = axes.get_window_extent()
    scale = axes.figure.dpi / 72
    taken = [(x - 5 * scale, y - 5 * scale, x + 5 * scale, y + 5 * scale) for x, y in points.values()]
    for right, up in places.values():
        ends = [(end, up.middle) for end in right.ends], [(right.middle, end) for end in up.ends]
        taken += [(*axes.transData.transform(first), *axes.transData.transform(last)) for first, last in ends]
    centre = axes.transData.transform((1, 1))
    taken += [(frame.x0, centre[1], frame.x1, centre[1]), (centre[0], frame.y0, centre[0], frame.y1)]
    for name, (x, y) in points.items():
        width, height = 5.6 * len(name) * scale, 10 * scale

        def box(
            dx: float, dy: float, side: str, x: float = x, y: float = y, width: float = width, height: float = height
        ) -> Box:
            left = x + dx * scale - {"left": 0, "right": width, "center": width / 2}[side]
            middle = y + dy * scale
            return left, middle - height / 2, left + width, middle + height / 2

        def cost(side: tuple[int, int, str]) -> tuple[float, int]:
            one = box(*side)
            outside = one[0] < frame.x0 or one[2] > frame.x1 or one[1] < frame.y0 or one[3] > frame.y1
            return 2 * outside + sum(_overlap(one, other) for other in taken), _SIDES.index(side)

        best = min(_SIDES, key=cost)
        taken.append(box(*best))
        dx, dy, side = best
        style = {"color": palette.style(name)["color"], "fontsize": TINY, "fontweight": "bold"}
        place = [spread.middle for spread in places[name]]
        axes.annotate(name, place, (dx, dy), textcoords="offset points", ha=side, va="center", **style)


def _overlap(one: Box, other: Box) -> bool:
    return one[0] <= other[2] and other[0] <= one[2] and one[1] <= other[3] and other[1] <= one[3]


def ratios(cases: Cases, names: Sequence[str], baseline: str, what: str, width: float = WIDTH) -> Canvas:
    """A row for each case, and in it a point with its interval for each allocator against the baseline."""
    shown = [name for name in names if name != baseline]
    figure, axes = _figure(1.1 + (ROW + POINT * len(shown)) * len(cases), width)
    lows, highs, labelled = list[float](), list[float](), set[str]()
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
    return _rows_of_ratios(figure, axes, list(cases), baseline, what, (lows or [1], highs or [1]))


def strips(cases: Mapping[str, Mapping[str, float]], names: Sequence[str], baseline: str, what: str) -> Canvas:
    """A row for each case, and on it all allocators' ratios to the baseline, without their intervals: many cases at a glance."""
    figure, axes = _figure(1.3 + STRIP * len(cases), WIDE)
    labelled = set[str]()
    for row, found in enumerate(cases.values()):
        if row % 2:
            axes.axhspan(row - 0.5, row + 0.5, color=BAND, zorder=0)
        for name in (name for name in names if name in found and name != baseline):
            _point(axes, name, found[name], row, label=None if name in labelled else name)
            labelled.add(name)
    every = [ratio for found in cases.values() for ratio in found.values()]
    return _rows_of_ratios(figure, axes, list(cases), baseline, what, (every, every))


def _rows_of_ratios(
    figure: Canvas,
    axes: Axes,
    rows: Sequence[str],
    baseline: str,
    what: str,
    ends: tuple[Sequence[float], Sequence[float]],
) -> Canvas:
    style = palette.style(baseline)
    axes.axvline(1, color=style["color"], linewidth=style["linewidth"], zorder=1, label=f"{baseline} = 1")
    axes.set_xscale("log")
    _ratio_axis(axes.xaxis, axes.set_xlim, *ends)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks(range(len(rows)), rows)
    _plain(axes)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=figures.GRID, linewidth=0.6)
    axes.set_xlabel(f"{what}, {baseline} = 1 (right of the line: worse than {baseline})", fontsize=SMALL)
    figure.tight_layout(rect=(0, 0, 1, _legend(figure, axes)))
    return figure


def time_unit(nanoseconds: float) -> tuple[str, float]:
    """The unit that leaves a readable number: (its name, how many nanoseconds it has)."""
    return next((unit, size) for unit, size in UNITS if nanoseconds >= size or size == 1)


def case(
    times: ByAllocator, peaks: ByAllocator, afters: ByAllocator, names: Sequence[str], width: float = WIDTH
) -> Canvas:
    """One workload: time and memory of each allocator as bars."""
    names = [name for name in names if name in times or name in peaks]
    count = bool(times) + bool(peaks)
    figure, panels = _figure(0.75 + BAR * len(names), width, ncols=count, sharey=True, squeeze=False)
    panels = panels[0]
    if times:
        unit, size = time_unit(max(standings.middle(values) for values in times.values()))
        _bars(panels[0], times, names, size, f"time, {unit}")
    if peaks:
        _bars(panels[-1], peaks, names, MIB, "peak RSS, MiB" + (" (pale: RSS after)" if afters else ""), afters)
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylim(len(names) - 0.45, -0.55)
    figure.tight_layout(w_pad=0.6)
    return figure


def _bars(
    axes: Axes, found: ByAllocator, names: Sequence[str], scale: float, what: str, beside: ByAllocator | None = None
) -> None:
    """`beside`: another figure, as a pale bar below the first."""
    beside = beside or {}
    most = max((standings.spread(values).ends[1] / scale for values in found.values()), default=1)
    height, shift = (0.3, 0.17) if beside else (0.5, 0)
    for place, name in enumerate(names):
        colour = palette.style(name)["color"]
        if name in beside:
            after = standings.middle(beside[name]) / scale
            axes.barh(place + shift, after, height=height, color=colour, alpha=PALE, linewidth=0)
        if name not in found:
            continue
        value = standings.spread(found[name])
        middle, high = value.middle / scale, value.ends[1] / scale
        axes.barh(place - shift, middle, height=height, color=colour, linewidth=0)
        if value.ends[0] != value.ends[1]:
            axes.errorbar(
                middle, place - shift, xerr=_whisker(value, scale), color="#808080", elinewidth=1.3, capsize=2
            )
        axes.text(high + 0.02 * most, place - shift, three_digits(middle), va="center", fontsize=TINY)
    axes.set_xlim(0, 1.22 * most)
    _plain(axes)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(what, fontsize=TINY)


def series(lines: Mapping[str, Sequence[Line]], names: Sequence[str], width: float = WIDTH) -> Canvas:
    """RSS over time: the median of the rounds, and as a shade all of them."""
    figure, axes = _figure(3.3, width)
    drawn, ends = list[Any](), list[tuple[float, float]]()
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


def latency(curves: Mapping[str, latencies.Curve], names: Sequence[str], width: float = WIDTH) -> Canvas:
    """Nines to the right, time upwards."""
    figure, axes = _figure(3.6, width)
    names = [name for name in names if name in curves]
    drawn, ends = list[Any](), list[tuple[float, float]]()
    for name in names:
        points = [(-math.log10(share), math.log10(max(time, 1))) for time, share in zip(*curves[name])]
        shown = [point for point in points if point[0] <= NINES] or points[:1]
        drawn += axes.step(*zip(*shown), where="pre", **palette.line(name))
        ends.append(shown[-1])
    last = max(end[0] for end in ends)
    known = [share for share in latencies.SHARES if -math.log10(1 - share) <= last + 0.05]
    axes.set_xticks([0, *(-math.log10(1 - share) for share in known)], ["0", *map(percentile_name, known)])
    axes.set_xlim(0, last)
    _time_ticks(axes)
    _plain(axes)
    axes.grid(color=figures.GRID, linewidth=0.6)
    axes.set_xlabel("percentile", fontsize=SMALL)
    axes.set_ylabel("time of one operation", fontsize=SMALL)
    words = [f"{name} {time_text(10 ** end[1])}" for name, end in zip(names, ends)]
    figures.name_lines(axes, words, ends, drawn, last, TINY)
    figure.tight_layout()
    return figure


def _time_ticks(axes: Axes) -> None:
    """On an axis of log10(ns): at 1, 2 and 5."""
    least, most = axes.get_ylim()
    ticks = [math.log10(digit) + power for power in range(-1, 11) for digit in (1, 2, 5)]
    ticks = [tick for tick in ticks if least <= tick <= most]
    ticks = ticks if len(ticks) <= MOST_TICKS + 2 else [tick for tick in ticks if abs(tick - round(tick)) < 0.01]
    axes.set_yticks(ticks, [_short_time(round(10**tick)) for tick in ticks])
    axes.set_ylim(least, most)


def curves(groups: Mapping[str, Sequence[Curves]], names: Sequence[str], limits: Mapping[int, str]) -> Canvas:
    """Time and RSS over the size, both logarithmic. `groups`: by title, of bytes and ns, and the same with KiB; `limits`: by
    bytes what ends there."""
    figure, panels = _figure(3.4 * len(groups), 1.15 * WIDE, nrows=len(groups), ncols=2, squeeze=False)
    for row, (title, both) in zip(panels, groups.items()):
        for axes, lines, what in zip(row, both, ("time of an operation", "peak RSS")):
            _curve_panel(axes, {name: lines[name] for name in names if name in lines}, limits)
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
        drawn += axes.plot(*zip(*places), **palette.style(name) | {"markersize": 3.5})
        ends.append(places[-1])
    first = min(line.get_xdata()[0] for line in drawn)
    last = max(x for x, _ in ends)
    axes.set_xlim(first, last)
    least, most = axes.get_ylim()
    axes.set_ylim(least, most + 0.16 * (most - least))
    for size, text in limits.items():
        axes.axvline(math.log2(size), color="#808080", linewidth=0.8, linestyle=(0, (2, 2)), zorder=0)
        spot = (math.log2(size), axes.get_ylim()[1])
        axes.annotate(text, spot, (-2, -3), textcoords="offset points", rotation=90, fontsize=6.5, color="#606060",
                      ha="right", va="top")  # fmt: skip
    ticks = range(math.ceil(first), int(last) + 1, 2)
    axes.set_xticks(list(ticks), [_short_size(1 << tick) for tick in ticks])
    _plain(axes)
    axes.grid(color=figures.GRID, linewidth=0.6)
    figures.name_lines(axes, list(lines), ends, drawn, last, TINY - 1)


def _short_size(size: int) -> str:
    return f"{size >> 20} M" if size >= 1 << 20 else f"{size >> 10} K" if size >= 1 << 10 else str(size)


def effects(judged: Sequence[Judged]) -> Canvas:
    """A row for each that `lab ab` judged: B / A with its interval, and A against itself in grey."""
    figure, axes = _figure(1.0 + 0.34 * len(judged), WIDE)
    lows, highs = list[float](), list[float]()
    for place, found in enumerate(judged):
        row = found.row
        for name, spread, shift in (("A2", row.noise, 0.16), ("b", row.interval, -0.1)):
            _point(axes, name, spread.middle, place + shift, _whisker(spread))
            lows.append(spread.ends[0])
            highs.append(spread.ends[1])
    axes.axvline(1, color="#808080", linewidth=1)
    axes.set_xscale("log")
    _ratio_axis(axes.xaxis, axes.set_xlim, lows, highs)
    axes.set_ylim(len(judged) - 0.5, -0.6)
    axes.set_yticks(range(len(judged)), [f"{found.row.case}: {found.row.figure}" for found in judged])
    _plain(axes)
    axes.grid(axis="x", color=figures.GRID, linewidth=0.6)
    axes.set_xlabel("B / A (grey: A / A); right of 1: B is worse", fontsize=SMALL)
    figure.tight_layout()
    return figure


def percentile_name(share: float) -> str:
    return f"p{100 * share:g}"


def time_text(nanoseconds: float) -> str:
    unit, size = time_unit(nanoseconds)
    return f"{three_digits(nanoseconds / size)} {unit}"


def _short_time(nanoseconds: float) -> str:
    unit, size = time_unit(nanoseconds)
    return f"{nanoseconds / size:g} {unit}"
