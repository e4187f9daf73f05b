"""The picture of `lab demo`, an SVG that follows the reader's choice of light or dark: RSS over time in the scenes about memory,
bars in those about speed."""

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape

from tslab_lab.allocators.catalogue import OURS, SYSTEM
from tslab_lab.base.shapes import Point
from tslab_lab.display import palette
from tslab_lab.display.figures import spread_labels
from tslab_lab.display.svg import DARKER, style
from tslab_lab.results.demo_findings import Figure, figures
from tslab_lab.results.storage import Results

WIDTH, GAP, TOP, PANEL, HEAD = 760, 36, 62, 168, 38
COLUMN = (WIDTH - 3 * GAP) / 2
LABELS = 104  # for names at the ends of lines
POINTS = 160  # of a line
LETTER_HEIGHT = 0.085  # of the height of a panel
MOVES_FROM, MOVES_SECONDS = 1, 6  # whoever takes only one look at once sees all
STILL = "@media (prefers-reduced-motion: reduce) { .curtain { display: none; } }\n"

Classes = dict[str, str]  # of CSS, by allocator
Lines = dict[str, tuple[list[Point], bool]]  # by allocator, and whether it was ended
Bars = list[tuple[str, Figure]]  # with their titles
Draw = Callable[[Classes, float, float], Iterator[str]]  # a panel, from its left and its top on
Scale = Callable[[float], float]  # from a value to a place


def _classes(names: Iterable[str]) -> Classes:
    return {name: f"c{number}" for number, name in enumerate(names)}


def _colour(name: str) -> str:
    return palette.style(name.partition(",")[0])["color"]


def _line(points: Sequence[Point], x: Scale, y: Scale) -> str:
    """Thinned out: the most in each part of the time."""
    step = max(1, len(points) // POINTS)
    parts = (points[i : i + step] for i in range(0, len(points), step))
    kept = [max(part, key=lambda point: point[1]) for part in parts]
    if points and kept[-1] != points[-1]:
        kept.append(points[-1])
    return " ".join(f"{x(ms):.1f},{y(kib):.1f}" for ms, kib in kept)


def _curtain(left: float, right: float, top: float) -> str:
    """Before the curves. It opens once from left to right, as time went, and is open where nothing moves."""
    moves = ("x", left, right), ("width", right - left, 0)
    animated = "".join(
        f'<animate attributeName="{name}" from="{start:.1f}" to="{end:.1f}" begin="{MOVES_FROM}s" dur="{MOVES_SECONDS}s"/>'
        for name, start, end in moves
    )
    return (
        f'<rect class="ground curtain" stroke-width="0" x="{right:.1f}" y="{top - 4}" width="0" height="{PANEL + 6}">'
        f"{animated}</rect>"
    )


def _curves(lines: Lines, classes: Classes, left: float, top: float) -> Iterator[str]:
    """A panel of RSS over time. One that was ended has a cross at the end."""
    seconds = max(points[-1][0] for points, _ in lines.values()) / 1000
    most = max(kib for points, _ in lines.values() for _, kib in points) * 1.04
    right, low = left + COLUMN - LABELS, top + PANEL

    def x(ms: float) -> float:
        return left + (right - left) * ms / 1000 / seconds

    def y(kib: float) -> float:
        return low - PANEL * kib / most

    step = next(
        step for step in (10, 20, 50, 100, 200, 500, 1000, 2000, 5000) if most / 1024 / step <= 5 or step == 5000
    )
    for mib in range(0, int(most / 1024) + 1, step):
        yield f'<line class="grid" x1="{left}" y1="{y(mib * 1024):.1f}" x2="{right:.1f}" y2="{y(mib * 1024):.1f}"/>'
        yield f'<text class="quiet" x="{left - 6}" y="{y(mib * 1024) + 4:.1f}" text-anchor="end">{mib}</text>'
    order = sorted(lines, key=lambda name: name == OURS)
    names = []
    heights = spread_labels([lines[name][0][-1][1] / most for name in order], 0, 1, LETTER_HEIGHT)
    for name, height in zip(order, heights):
        points, ended = lines[name]
        end_x, end_y = x(points[-1][0]), y(points[-1][1])
        wide = 3 if name == OURS else 1.8
        dashes = ' stroke-dasharray="5 3"' if "," in name else ""
        yield (
            f'<polyline class="{classes[name]}" fill="none" stroke="{_colour(name)}" stroke-width="{wide}"{dashes} '
            f'points="{_line(points, x, y)}"/>'
        )
        if ended:
            cross = f"M{end_x - 5:.1f},{end_y - 5:.1f} l10,10 m0,-10 l-10,10"
            yield f'<path class="{classes[name]}" stroke="{_colour(name)}" stroke-width="2.5" d="{cross}"/>'
        kind = ' class="ours"' if name == OURS else ""
        told = "ended" if ended else f"{points[-1][1] / 1024:.0f}"
        names.append(f'<text{kind} x="{right + 6:.1f}" y="{low - PANEL * height + 4:.1f}">{escape(name)} {told}</text>')
    yield _curtain(left, right + 5, top)
    yield from names
    yield f'<text class="quiet" x="{right:.1f}" y="{low + 16}" text-anchor="end">{seconds:.0f} s</text>'


def _bars(groups: Bars, classes: Classes, left: float, top: float) -> Iterator[str]:
    """A panel of several figures, one below the other."""
    step = min(22, (PANEL + 18) / sum(len(figure.values) + 1 for _, figure in groups))
    at = top - 18
    for title, figure in groups:
        yield f'<text class="quiet" x="{left - 24}" y="{at + step * 0.6:.1f}">{escape(title)}, {figure.kind.unit}</text>'
        most = max(map(figure.middle, figure.values))
        for name in figure.order:
            at += step
            wide = (COLUMN - 130) * figure.middle(name) / most
            kind = ' class="ours"' if name == OURS else ""
            yield f'<text{kind} x="{left + 44}" y="{at + step / 2 + 4:.1f}" text-anchor="end">{escape(name)}</text>'
            yield (
                f'<rect class="{classes[name]} bar" fill="{_colour(name)}" x="{left + 52}" y="{at + 3:.1f}" '
                f'width="{wide:.1f}" height="{step - 6:.1f}" rx="2"/>'
            )
            yield f'<text x="{left + 58 + wide:.1f}" y="{at + step / 2 + 4:.1f}">{figure.text(name)}</text>'
        at += step


def _lines(found: Results, case: str) -> Lines:
    """Of the last round of each."""
    runs = {(run["allocator"], run["round"]): run for run in found.runs if run["case"] == case}
    lines: Lines = {}
    for record in found.series:
        run = runs.get((record["allocator"], record["round"]))
        points = list(zip(record["t_ms"], record["rss_kb"]))
        if record["case"] == case and run and len(points) > 1:
            lines[record["allocator"]] = points, bool(run.get("ended"))
    return lines


def size_of(text: str) -> tuple[int, int]:
    """Of a picture."""
    found = re.search(r'height="(\d+)"', text)
    assert found is not None
    return WIDTH, int(found[1])


def of(found: Results) -> str | None:
    """The text of the picture; nothing where there is nothing to draw."""
    known = {figure.kind.scene: figure for figure in figures(found) if figure.kind.main}
    panels: list[tuple[str, str, Draw]] = []
    bars: Bars = []
    for case, facts in found.header["cases"].items():
        first, _, second = facts["title"].partition(": ")
        if lines := _lines(found, case):
            panels.append((first, second, functools.partial(_curves, lines)))
        elif case in known:
            bars.append((second, known[case]))
            first_of_bars = first
    if bars:
        panels.append((first_of_bars, "", functools.partial(_bars, bars)))
    if not panels:
        return None
    names = list(found.header["allocators"])
    classes = _classes(names)
    rows = -(-len(panels) // 2)
    height = TOP + rows * (PANEL + HEAD + 32)
    dark = "".join(
        f".{classes[name]} {{ stroke: {DARKER[_colour(name)]}; }}\n.{classes[name]}.bar {{ fill: {DARKER[_colour(name)]}; }}\n"
        for name in names
        if _colour(name) in DARKER
    )
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">',
        f"<title>{escape(OURS)} beside other allocators, measured by make demo</title>",
        f"<style>\n{style(dark)}.bar {{ stroke: none !important; }}\n{STILL}</style>",
        f'<rect class="ground" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
        f'<text class="title" x="{GAP}" y="32">{escape(OURS)} beside {escape(SYSTEM)} and others: RSS in MiB over time, and speed</text>',
    ]
    for number, (title, words, draw) in enumerate(panels):
        left = GAP + 12 + number % 2 * (COLUMN + GAP)
        top = TOP + number // 2 * (PANEL + HEAD + 32)
        out.append(f'<text x="{left - 12}" y="{top}"><tspan font-weight="600">{escape(title)}</tspan></text>')
        out.append(f'<text class="quiet" x="{left - 12}" y="{top + 17}">{escape(words)}</text>')
        out += draw(classes, left + 12, top + HEAD - 8)
    return "\n".join([*out, "</svg>"]) + "\n"
