"""How each allocator looks, the same in every figure. The figures are read in print and by colour-blind readers, too:
colours differ in lightness, and where two are near, marker and dashes tell them apart. Versions of one allocator
have one hue."""

import zlib
from typing import TypedDict

Dashes = str | tuple[int, tuple[int, ...]]
Look = tuple[str, Dashes, str]  # colour (near Okabe and Ito's), dashes, marker


class Style(TypedDict):
    """What matplotlib's plot() takes."""

    color: str
    linestyle: Dashes
    marker: str
    linewidth: float
    markersize: float


_LOOKS: dict[str, Look] = {
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
    # Policies of ours, in the request server.
    "tslab never": ("#C84C00", "-", "o"),
    "tslab per-request": ("#0072B2", (0, (5, 2)), "s"),
    "tslab batch-16": ("#4D4D4D", (0, (1, 1)), "^"),
    "tslab interval-50": ("#009E73", (0, (6, 2, 1, 2)), "v"),
    "tslab manual": ("#CC79A7", (0, (3, 1, 1, 1, 1, 1)), "D"),
    "tslab inside": ("#56B4E9", (0, (2, 1)), "P"),
    "deferred never": ("#7A5200", (0, (1, 2)), "X"),
    # Two sides of a comparison, and the first of them again.
    "base": ("#8C8C8C", "-", "h"),
    "a": ("#5A5A5A", (0, (4, 1)), "*"),
    "a2": ("#B4B4B4", (0, (2, 3)), "8"),
    "b": ("#A0522D", "-", "H"),
}
# Ways in which `lab epochs` serves a request: tslab's, and others.
_KIN = dict.fromkeys(("release", "vouched", "drain", "release, static", "epochs"), "tslab")
_KIN |= dict.fromkeys(("apr", "apr, own", "apr, static"), "base")
_SPARE_COLOURS = ("#3B3B98", "#A63D40", "#5F7C1B", "#2A7F9E", "#8A6FBF", "#9B7653")
_SPARE_DASHES = ((0, (9, 2)), (0, (2, 1)), (0, (7, 2, 2, 2)), (0, (1, 2)))
_SPARE_MARKERS = ("h", "H", "X", "P", "p")
_STRONG = {"tslab": (2.8, 8.0), "tslab never": (2.8, 8.0), "b": (2.4, 7.5)}  # width of the line, size of the marker
_WIDTH, _SIZE = 1.6, 6.5


def _look(name: str) -> Look:
    known = _KIN.get(name, name.lower().removesuffix("+free"))
    if known in _LOOKS:
        return _LOOKS[known]
    number = zlib.crc32(name.encode())  # a name that is not in the list looks the same today and tomorrow
    number, colour = divmod(number, len(_SPARE_COLOURS))
    number, dashes = divmod(number, len(_SPARE_DASHES))
    return _SPARE_COLOURS[colour], _SPARE_DASHES[dashes], _SPARE_MARKERS[number % len(_SPARE_MARKERS)]


def style(name: str) -> Style:
    """What matplotlib's plot() takes to draw this allocator's line."""
    colour, dashes, marker = _look(name)
    width, size = _STRONG.get(name.lower(), (_WIDTH, _SIZE))
    return {"color": colour, "linestyle": dashes, "marker": marker, "linewidth": width, "markersize": size}


def line(name: str) -> Style:
    """The same without the marker: for lines of many points."""
    return style(name) | {"marker": ""}
