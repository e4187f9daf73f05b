"""What the memory of a process did over the last minutes, drawn in characters."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from rich.text import Text

WINDOWS = (60, 120, 300, 600)  # seconds: the shortest that has room for all
AXIS = 6  # columns
BANDS = (("live", "█", "green"), ("waste", "▒", "yellow"), ("the rest of RSS", "░", "blue"))


class Point(NamedTuple):
    """At a time, bytes: each with those before it."""

    time: float
    live: int
    waste: int
    rss: int


@dataclass
class Past:
    """Of one process."""

    points: deque[Point] = field(default_factory=deque)

    def add(self, time: float, live: int, waste: int, rss: int) -> None:
        """Objects that were not touched count as live, but are not resident."""
        self.points.append(Point(time, min(live, rss), min(live + waste, rss), rss))
        while self.points[0].time < time - WINDOWS[-1]:
            self.points.popleft()


def _columns(points: deque[Point], columns: int) -> tuple[int, list[Point | None]]:
    """Seconds that are shown, and the point that each column shows: the newest that is not behind its end."""
    end = points[-1].time
    window = next(each for each in WINDOWS if end - points[0].time <= each or each == WINDOWS[-1])
    shown: list[Point | None] = []
    at = 0
    for column in range(1, columns + 1):
        until = end - window + window * column / columns
        while at < len(points) and points[at].time <= until + 1e-6:
            at += 1
        shown.append(points[at - 1] if at else None)
    return window, shown


def _cell(point: Point | None, height: float) -> int | None:
    """The band that a point has at a height. None: it does not reach so high."""
    if point is None or height >= point.rss:
        return None
    return 0 if height < point.live else 1 if height < point.waste else 2


def draw(past: Past, width: int, height: int, size: Callable[[float], str], hint: str = "") -> list[Text]:
    """A graph of so many rows, with two rows of words below it; the hint is on the first of them."""
    window, shown = _columns(past.points, width - AXIS)
    most = max(point.rss for point in past.points) or 1
    lines = []
    for row in range(height):
        label = size(most) if row == 0 else size(most / 2) if row == height // 2 else ""
        line = Text(f"{label:>{AXIS - 1}} ")
        for point in shown:
            band = _cell(point, most * (height - row - 0.5) / height)
            line.append(*(BANDS[band][1:] if band is not None else (" ",)))
        lines.append(line)
    ago = f"{window // 60} min ago"
    lines.append(Text(f"{'':{AXIS}}{ago}{hint.center(width - AXIS - len(ago) - 3)}now", "dim"))
    last = past.points[-1]
    legend = Text(" " * AXIS)
    for (name, sign, style), held in zip(BANDS, (last.live, last.waste - last.live, last.rss - last.waste)):
        legend.append(sign, style).append(f" {name} {size(held)}   ")
    return [*lines, legend]
