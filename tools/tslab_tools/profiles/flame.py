"""Flame graphs: the callers below, what they call above, each as wide as its bytes."""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import jinja2

from tslab_tools.profiles import figures, symbols

WIDTH, ROW, NARROWEST, LETTER = 1200, 18, 0.4, 6.6


@dataclass
class Node:
    name: str
    value: float = 0
    inner: dict[str, "Node"] = field(default_factory=dict)

    def add(self, names: list[str], value: float) -> None:
        node = self
        node.value += value
        for name in names:
            node = node.inner.setdefault(name, Node(name))
            node.value += value

    def depth(self) -> int:
        return 1 + max((node.depth() for node in self.inner.values()), default=0)


@dataclass(frozen=True)
class Box:
    name: str
    text: str  # as far as it fits in
    title: str
    left: float
    top: float
    width: float
    colour: str


def size_text(size: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if abs(size) < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


def tree(sums: figures.Sums, names: symbols.Symbols, title: str) -> Node:
    root = Node(title)
    for number, found in sums.items():
        if found.bytes > 0:
            trace = [] if number is None else [place.function for place in reversed(names.trace(number))]
            root.add(trace or [figures.UNSAMPLED if number is None else symbols.describe(None)], found.bytes)
    return root


def _boxes(node: Node, left: float, top: float, total: float) -> Iterator[Box]:
    width = node.value / total * WIDTH
    if width < NARROWEST:
        return
    hue, light = zlib.crc32(node.name.encode()) % 40 + 15, 62 + zlib.crc32(node.name[::-1].encode()) % 14
    room = int((width - 6) / LETTER)
    text = "" if room < 3 else node.name if len(node.name) <= room else node.name[: room - 1] + "…"
    title = f"{node.name}: {size_text(node.value)}, {node.value / total:.1%}"
    yield Box(node.name, text, title, left, top, width, f"hsl({hue} 85% {light}%)")
    for inner in sorted(node.inner.values(), key=lambda each: each.name):
        yield from _boxes(inner, left, top - ROW, total)
        left += inner.value / total * WIDTH


def _rendered(template: str, root: Node, **more: object) -> str:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__package__, ""), autoescape=True, keep_trailing_newline=True
    )
    environment.filters["size"] = size_text
    height = root.depth() * ROW
    boxes = list(_boxes(root, 0.0, height - ROW, root.value)) if root.value > 0 else []
    shape = {"WIDTH": WIDTH, "ROW": ROW, "NARROWEST": NARROWEST, "LETTER": LETTER, "height": height}
    return environment.get_template(template).render(shape, root=root, boxes=boxes, **more)


def svg(root: Node) -> str:
    return _rendered("flame.svg", root)


def page(root: Node, heading: str, rows: Sequence[tuple[str, figures.Sum]]) -> str:
    """A page with the graph, whose boxes can be looked into, and a table of sites."""
    return _rendered("flame.html", root, heading=heading, rows=rows)
