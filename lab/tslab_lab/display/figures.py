"""How figures look: files, names at the ends of lines, and how each allocator is drawn, the same in every figure. The figures are
read in print and by colour-blind readers, too: colours differ in lightness, and where two are near, marker and dashes tell them
apart. Versions of one allocator have one hue."""

import os
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from tslab_lab.base import places

# matplotlib 3.6 and numpy may be missing, and the former has no types.
Axes = Any
Canvas = Any  # matplotlib's Figure
Array = Any
Style = dict[str, Any]  # what matplotlib's plot() takes

# Its cache of fonts is not to be left behind in the user's home.
os.environ.setdefault("MPLCONFIGDIR", str(places.BUILT / "matplotlib"))
DPI = 130
GRID = "#E4E4E4"
LABEL_GAP = 0.055  # of the height, from one name to the next
LABEL_ROOM = 0.3  # of the width of a panel, for the names at the lines' ends
_LOOKS: dict[str, tuple[str, Any, str]] = {  # colour (near Okabe and Ito's), dashes, marker
    "tslab": ("#C84C00", "-", "o"),
    "glibc": ("#000000", "-", "s"),
    "jemalloc": ("#00508F", (0, (5, 2)), "^"),
    "jemalloc5": ("#4FA8DC", (0, (5, 2, 5, 2, 1, 2)), "v"),
    "tcmalloc": ("#EBA91E", (0, (1, 1)), "D"),
    "google": ("#7A5200", (0, (1, 3)), "d"),
    "mimalloc": ("#0FA37A", (0, (6, 2, 1, 2)), "P"),
    "mimalloc2": ("#004733", (0, (6, 2, 1, 2, 1, 2)), "X"),
    "mimalloc3": ("#8ADBC0", (0, (3, 2, 1, 2)), "p"),
    "mimalloc-pprof": ("#3F8F3F", (0, (2, 1, 6, 1)), "+"),
    "snmalloc": ("#D487B1", (0, (8, 3)), "<"),
    "rpmalloc": ("#6A2C70", (0, (2, 2)), ">"),
    # Policies of ours in the request server, and an epoch for each request of the survivors.
    "tslab never": ("#C84C00", "-", "o"),
    "tslab per-request": ("#0072B2", (0, (5, 2)), "s"),
    "tslab batch-16": ("#4D4D4D", (0, (1, 1)), "^"),
    "tslab interval-50": ("#009E73", (0, (6, 2, 1, 2)), "v"),
    "tslab manual": ("#CC79A7", (0, (3, 1, 1, 1, 1, 1)), "D"),
    "tslab inside": ("#56B4E9", (0, (2, 1)), "P"),
    "tslab, epochs": ("#C84C00", (0, (5, 3)), "D"),
    # Two sides of a comparison, and the first of them again.
    "a": ("#5A5A5A", (0, (4, 1)), "*"),
    "a2": ("#B4B4B4", (0, (2, 3)), "8"),
    "b": ("#A0522D", "-", "H"),
}
# Ways in which `lab epochs` serves a request: tslab's, and others.
_KIN = dict.fromkeys(("release", "vouched", "drain", "release, static", "epochs"), "tslab")
_SPARE = ("#3B3B98", "#A63D40", "#5F7C1B", "#2A7F9E", "#8A6FBF", "#9B7653")
_SPARE_DASHES = ((0, (9, 2)), (0, (2, 1)), (0, (7, 2, 2, 2)), (0, (1, 2)))
_STRONG = {"tslab": (2.8, 8.0), "tslab never": (2.8, 8.0), "b": (2.4, 7.5)}  # width of the line, size of the marker


def style(name: str) -> Style:
    """Of this allocator's line."""
    known = _KIN.get(name, name.lower().removesuffix("+free"))
    number = zlib.crc32(name.encode())  # a name that is not in the list looks the same today and tomorrow
    spare = _SPARE[number % 6], _SPARE_DASHES[number // 6 % 4], "hHXPp"[number // 24 % 5]
    colour, dashes, marker = _LOOKS.get(known, spare)
    width, size = _STRONG.get(name.lower(), (1.6, 6.5))
    return {"color": colour, "linestyle": dashes, "marker": marker, "linewidth": width, "markersize": size}


def line(name: str) -> Style:
    """The same without the marker: for lines of many points."""
    return style(name) | {"marker": ""}


def available() -> str:
    """Whether the libraries are there; if not, what to do, in words."""
    try:
        import matplotlib
        import numpy
    except ImportError as error:
        return f"{error.name} is not installed: there are no figures (apt-get install python3-matplotlib python3-numpy)"
    del numpy
    Path(os.environ["MPLCONFIGDIR"]).mkdir(parents=True, exist_ok=True)
    matplotlib.use("Agg")
    matplotlib.rcParams |= {"svg.hashsalt": "tslab", "svg.fonttype": "none"}
    return ""


def save(figure: Canvas, stem: Path, told: str) -> None:
    """As PNG and PDF. `told`: the figures in words; they are in the file. Without the date, the same figures give the same file."""
    figure.savefig(f"{stem}.png", dpi=DPI, metadata={"Description": told})
    figure.savefig(f"{stem}.pdf", metadata={"CreationDate": None})


def told_in(png: Path) -> bytes:
    """The figures in words that the file has."""
    before, _, after = png.read_bytes().partition(b"tEXtDescription\0")
    return after[: int.from_bytes(before[-4:], "big") - len("Description") - 1]


def spread_labels(places_wanted: Sequence[float], least: float, most: float, share: float = LABEL_GAP) -> list[float]:
    """Moves labels apart, each as little as can be, so that none covers another; keeps their order."""
    gap = share * (most - least)
    order = sorted(range(len(places_wanted)), key=places_wanted.__getitem__)
    # Less the gaps below, neighbours that are too close are out of order: they share the mean of their places.
    groups: list[list[float]] = []
    for rank, index in enumerate(order):
        groups.append([places_wanted[index] - rank * gap])
        while len(groups) > 1 and mean(groups[-2]) > mean(groups[-1]):
            groups[-2:] = [groups[-2] + groups[-1]]
    shared = [mean(group) for group in groups for _ in group]
    highest = most - (len(places_wanted) - 1) * gap
    moved = [0.0] * len(places_wanted)
    for rank, (index, place) in enumerate(zip(order, shared)):
        moved[index] = max(least, min(place, highest)) + rank * gap
    return moved


def name_lines(
    axes: Axes,
    names: Iterable[str],
    ends: Sequence[tuple[float, float]],
    lines: Iterable[Any],
    last: float,
    size: float = 8,
) -> None:
    """Writes each line's name beside its end, a pair (x, y), and makes room for it right of `last`."""
    least, most = axes.get_ylim()
    left, _ = axes.get_xlim()
    axes.set_xticks([tick for tick in axes.get_xticks() if left <= tick <= last])
    axes.set_xlim(left, last + LABEL_ROOM / (1 - LABEL_ROOM) * (last - left))
    heights = spread_labels([y for _, y in ends], least, most)
    for name, end, height, line in zip(names, ends, heights, lines):
        arrow = {
            "arrowstyle": "-",
            "color": line.get_color(),
            "linewidth": 0.7,
            "shrinkA": 0,
            "shrinkB": 0,
            "relpos": (0, 0.5),
        }
        spot = (last + 0.05 * (last - left), height)
        axes.annotate(name, end, spot, color="black", fontsize=size, va="center", arrowprops=arrow)
