"""The picture of README: time and peak RSS of all allocators over all cases, as an SVG, drawn from the page of the matrix. It has
a ground of its own, and follows the reader's choice of light or dark."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from tslab_lab.allocators.catalogue import OURS, SYSTEM
from tslab_lab.display import palette
from tslab_lab.display.svg import DARKER, style

WIDTH, HEIGHT = 760, 400
LEFT, RIGHT, TOP, BOTTOM = 66, 24, 58, 54
LETTER = 7.1  # the width of one, about
TICKS = (0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.4, 1.7, 2, 2.5, 3, 4, 5, 7, 10)
MOST_TICKS = 9
# How the table's names read outside of the lab; all others have their version instead.
KNOWN = {OURS: OURS, SYSTEM: "glibc", "tcmalloc": "tcmalloc, gperftools", "google": "tcmalloc, Google"}
# Where a name may stand: from its point to the right and down, and which end of it is there.
_SIDES = ((11, 4, "start"), (-11, 4, "end"), (0, -12, "middle"), (0, 22, "middle"), (10, -9, "start"), (10, 17, "start"),
          (-10, -9, "end"), (-10, 17, "end"), (16, -22, "start"), (16, 30, "start"), (-16, -22, "end"), (-16, 30, "end"))  # fmt: skip


def of(text: str) -> str | None:
    """Of the page's text; nothing where it has no overview of several allocators."""
    points = dict(_points(text))
    return _drawn(points, _versions(text)) if OURS in points and len(points) > 1 else None


def _points(text: str) -> Iterator[tuple[str, tuple[float, float]]]:
    """(allocator, (time, peak RSS)) of the rows of the overview."""
    head = re.search(r"^\|(.*\btime / .*peak RSS / .*)\|\n\|[-:| ]*\|\n((?:\|.*\n)+)", text, re.M)
    heads = [cell.strip() for cell in head[1].split("|")] if head else []
    found_at = [
        next((n for n, cell in enumerate(heads) if cell.startswith(what)), None) for what in ("time /", "peak RSS /")
    ]
    columns = [column for column in found_at if column is not None]
    for row in head[2].splitlines() if head and len(columns) == 2 else ():
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        numbers = [float(found[0]) for column in columns if (found := re.match(r"\d+(?:\.\d+)?", cells[column]))]
        if len(numbers) == 2:
            yield cells[0], (numbers[0], numbers[1])


def _versions(text: str) -> dict[str, str]:
    """By allocator, of the table of the setting."""
    row = re.search(r"^\| peers \|(.*)\|$", text, re.M)
    found = re.findall(r"(\w+) (\d[^\s,|]*)", row[1]) if row else []
    return {name: re.split(r"[-+]", version)[0] for name, version in found}


def label_of(name: str, versions: Mapping[str, str]) -> str:
    if name in KNOWN:
        return KNOWN[name]
    plain = name.rstrip("0123456789")  # mimalloc2 and mimalloc3 are versions of mimalloc
    return f"{plain} {versions[name]}" if name in versions else name


Points = dict[str, tuple[float, float]]  # time and peak RSS, by allocator
Box = tuple[float, float, float, float]
Side = tuple[int, int, str]


class _Scale:
    """A logarithmic axis: from a value to a place on the picture."""

    def __init__(self, values: Sequence[float], first: float, last: float) -> None:
        self.least, self.most = min(*values, 0.9), max(*values, 1.1)
        room = (self.most / self.least) ** 0.07
        self.least, self.most = self.least / room, self.most * room
        self.first, self.last = first, last

    def __call__(self, value: float) -> float:
        return self.first + (self.last - self.first) * math.log(value / self.least) / math.log(self.most / self.least)

    def ticks(self) -> Sequence[float]:
        inside = [tick for tick in TICKS if self.least <= tick <= self.most]
        return inside if len(inside) <= MOST_TICKS else inside[:: math.ceil(len(inside) / MOST_TICKS)]


def _drawn(points: Points, versions: Mapping[str, str]) -> str:
    x = _Scale([time for time, _ in points.values()], LEFT, WIDTH - RIGHT)
    y = _Scale([peak for _, peak in points.values()], HEIGHT - BOTTOM, TOP)
    names = sorted(points, key=lambda name: name == OURS)  # ours is drawn last, above all
    classes = {name: f"c{number}" for number, name in enumerate(names)}
    colours = {name: palette.style(name)["color"] for name in names}
    dark = "".join(
        f".{classes[name]} {{ fill: {DARKER[colours[name]]}; }}\n" for name in names if colours[name] in DARKER
    )
    words = ", ".join(f"{label_of(name, versions)} {time:g} and {peak:g}" for name, (time, peak) in points.items())
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img">',
        f"<title>Time and peak RSS of {len(points)} allocators</title>",
        f"<desc>Geometric means over all cases, {OURS} = 1, time and peak RSS: {escape(words)}.</desc>",
        f"<style>\n{style(dark)}</style>",
        f'<rect class="ground" x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="8"/>',
        f'<text class="title" x="{LEFT}" y="28">Time and memory over all workloads and programs</text>',
        f'<text class="quiet" x="{LEFT}" y="46">geometric means, {OURS} = 1; left is faster, below is less memory</text>',
        *_axes(x, y),
        *_marks(points, names, classes, colours, x, y, versions),
        "</svg>",
    ]
    return "\n".join(out) + "\n"


def _axes(x: _Scale, y: _Scale) -> Iterator[str]:
    right, low = WIDTH - RIGHT, HEIGHT - BOTTOM
    for tick in x.ticks():
        kind = "one" if tick == 1 else "grid"
        yield f'<line class="{kind}" x1="{x(tick):.1f}" y1="{TOP}" x2="{x(tick):.1f}" y2="{low}"/>'
        yield f'<text class="quiet" x="{x(tick):.1f}" y="{low + 18}" text-anchor="middle">{tick:g}</text>'
    for tick in y.ticks():
        kind = "one" if tick == 1 else "grid"
        yield f'<line class="{kind}" x1="{LEFT}" y1="{y(tick):.1f}" x2="{right}" y2="{y(tick):.1f}"/>'
        yield f'<text class="quiet" x="{LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>'
    yield f'<text x="{(LEFT + right) / 2:.0f}" y="{HEIGHT - 14}" text-anchor="middle">time</text>'
    middle = (TOP + low) / 2
    yield f'<text x="20" y="{middle:.0f}" text-anchor="middle" transform="rotate(-90 20 {middle:.0f})">peak RSS</text>'


def _marks(
    points: Points,
    names: Sequence[str],
    classes: Mapping[str, str],
    colours: Mapping[str, str],
    x: _Scale,
    y: _Scale,
    versions: Mapping[str, str],
) -> Iterator[str]:
    places = {name: (x(time), y(peak)) for name, (time, peak) in points.items()}
    taken = [(px - 7, py - 7, px + 7, py + 7) for px, py in places.values()]
    taken += [(x(1), TOP, x(1), HEIGHT - BOTTOM), (LEFT, y(1), WIDTH - RIGHT, y(1))]
    for name in reversed(names):
        px, py = places[name]
        label, kind, size = (
            label_of(name, versions),
            ' class="ours"' if name == OURS else "",
            8 if name == OURS else 5.5,
        )
        side = min(_SIDES, key=lambda side: _cost(_box(px, py, side, label), taken, _SIDES.index(side)))
        taken.append(_box(px, py, side, label))
        yield f'<circle class="{classes[name]}" fill="{colours[name]}" cx="{px:.1f}" cy="{py:.1f}" r="{size}"/>'
        yield f'<text{kind} x="{px + side[0]:.1f}" y="{py + side[1]:.1f}" text-anchor="{side[2]}">{escape(label)}</text>'


def _box(px: float, py: float, side: Side, label: str) -> Box:
    width = LETTER * len(label)
    left = px + side[0] - {"start": 0, "end": width, "middle": width / 2}[side[2]]
    return left, py + side[1] - 11, left + width, py + side[1] + 4


def _cost(box: Box, taken: Sequence[Box], rank: int) -> tuple[int, int]:
    outside = box[0] < LEFT or box[2] > WIDTH - RIGHT or box[1] < TOP or box[3] > HEIGHT - BOTTOM
    hits = sum(box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3] for other in taken)
    return 2 * outside + hits, rank
