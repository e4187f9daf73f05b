"""Flame graphs: the callers below, what they call above, each as wide as its bytes."""

import html
import zlib
from dataclasses import dataclass, field

from tslab_tools.profiles import figures, symbols

WIDTH, ROW, NARROWEST, LETTER = 1200, 18, 0.4, 6.6

_STYLE = (
    "text{font:11px ui-monospace,monospace;pointer-events:none}rect{stroke:#fff;stroke-width:.5}"
    "g:hover rect{stroke:#000;stroke-width:1}"
)
_SCRIPT = """
const svg = document.querySelector('svg'), all = [...svg.querySelectorAll('g')];
function show(from, width) {
  for (const g of all) {
    const x = (+g.dataset.x - from) / width * %(width)d, w = +g.dataset.w / width * %(width)d;
    const r = g.querySelector('rect'), t = g.querySelector('text');
    const left = Math.max(x, 0), right = Math.min(x + w, %(width)d);
    g.style.display = right - left < %(narrowest)s ? 'none' : '';
    r.setAttribute('x', left); r.setAttribute('width', Math.max(right - left, 0));
    t.setAttribute('x', left + 3);
    const room = Math.floor((right - left - 6) / %(letter)s), name = g.dataset.n;
    t.textContent = room < 3 ? '' : name.length > room ? name.slice(0, room - 1) + '\\u2026' : name;
  }
}
for (const g of all) g.addEventListener('click', () => show(+g.dataset.x, +g.dataset.w));
"""


@dataclass
class Node:
    name: str
    value: float = 0
    inner: dict = field(default_factory=dict)

    def add(self, names, value):
        node = self
        node.value += value
        for name in names:
            node = node.inner.setdefault(name, Node(name))
            node.value += value

    def depth(self):
        return 1 + max((node.depth() for node in self.inner.values()), default=0)


def size_text(size):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(size) < 1024 or unit == "GiB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return None


def tree(sums, names, title):
    root = Node(title)
    for number, found in sums.items():
        if found.bytes > 0:
            trace = [] if number is None else [place.function for place in reversed(names.trace(number))]
            root.add(trace or [figures.UNSAMPLED if number is None else symbols.describe(None)], found.bytes)
    return root


def _boxes(node, left, depth, height, total, lines):
    width = node.value / total * WIDTH
    if width < NARROWEST:
        return
    hue, light = zlib.crc32(node.name.encode()) % 40 + 15, 62 + zlib.crc32(node.name[::-1].encode()) % 14
    y = height - (depth + 1) * ROW
    room = int((width - 6) / LETTER)
    shown = "" if room < 3 else node.name if len(node.name) <= room else node.name[: room - 1] + "…"
    title = f"{node.name}: {size_text(node.value)}, {node.value / total:.1%}"
    lines.append(
        f'<g data-x="{left:.3f}" data-w="{width:.3f}" data-n="{html.escape(node.name)}"><title>{html.escape(title)}</title>'
        f'<rect x="{left:.2f}" y="{y}" width="{width:.2f}" height="{ROW - 1}" fill="hsl({hue} 85% {light}%)"/>'
        f'<text x="{left + 3:.2f}" y="{y + ROW - 6}">{html.escape(shown)}</text></g>'
    )
    for inner in sorted(node.inner.values(), key=lambda each: each.name):
        _boxes(inner, left, depth + 1, height, total, lines)
        left += inner.value / total * WIDTH


def svg(root):
    height = root.depth() * ROW
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">',
        f"<style>{_STYLE}</style>",
    ]
    if root.value > 0:
        _boxes(root, 0.0, 0, height, root.value, lines)
    return "\n".join(lines) + "\n</svg>\n"


def page(root, heading, rows):
    """A page with the graph, whose boxes can be looked into, and a table of sites."""
    table = "".join(
        f"<tr><td>{size_text(found.bytes)}</td><td>{found.bytes / max(root.value, 1):.1%}</td><td>{found.objects:,.0f}</td>"
        f"<td>{html.escape(site)}</td></tr>"
        for site, found in rows
    )
    script = _SCRIPT % {"width": WIDTH, "narrowest": NARROWEST, "letter": LETTER}
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(heading)}</title><style>'
        "body{font:14px system-ui,sans-serif;margin:24px;max-width:1240px}svg{max-width:100%;cursor:pointer}"
        "td{padding:2px 12px 2px 0}td:nth-child(-n+3){text-align:right;font-variant-numeric:tabular-nums}"
        f"</style><h1>{html.escape(heading)}</h1><p>Callers are below. A click looks into a box; the lowest one shows all.</p>"
        f"{svg(root)}<h2>Sites</h2><table>{table}</table><script>{script}</script></html>\n"
    )
