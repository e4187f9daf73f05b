"""What all figures share: the libraries, files that are the same for the same figures, names at the ends of lines."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from tslab_lab.base import places

# matplotlib 3.6 and numpy may be missing, and the former has no types.
Axes = Any
Canvas = Any  # matplotlib's Figure
Array = Any

# Its cache of fonts is not to be left behind in the user's home.
os.environ.setdefault("MPLCONFIGDIR", str(places.BUILT / "matplotlib"))
DPI = 130
GRID = "#E4E4E4"
LABEL_GAP = 0.055  # of the height, from one name to the next
LABEL_ROOM = 0.3  # of the width of a panel, for the names at the lines' ends


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


def save(figure: Canvas, directory: Path, name: str, suffixes: Iterable[str] = ("png", "pdf")) -> list[Path]:
    files: list[Path] = []
    for suffix in suffixes:
        files.append(directory / f"{name}.{suffix}")
        # Without the date, the same figures give the same file.
        metadata = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(suffix, {})
        figure.savefig(files[-1], dpi=DPI, metadata=metadata)
    return files


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
        arrow: dict[str, Any] = {
            "arrowstyle": "-",
            "color": line.get_color(),
            "linewidth": 0.7,
            "shrinkA": 0,
            "shrinkB": 0,
        }
        arrow["relpos"] = (0, 0.5)
        spot = (last + 0.05 * (last - left), height)
        axes.annotate(name, end, spot, color="black", fontsize=size, va="center", arrowprops=arrow)
