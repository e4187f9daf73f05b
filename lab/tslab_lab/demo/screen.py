"""What `lab demo` shows: on a terminal curves that grow while programs run, elsewhere a line for each round; the same lines at
the end of a scene for both."""

import textwrap
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median

from rich.console import Console
from rich.live import Live
from rich.text import Text

from tslab_lab.allocators.catalogue import OURS
from tslab_lab.base.shapes import Point
from tslab_lab.display.layout import three_digits

BLOCKS = " ▁▂▃▄▅▆▇█"
PARTS = " ▏▎▍▌▋▊▉█"
NAME, VALUE = 16, 20  # columns
REDRAW_SECONDS = 0.12
STYLE = "bold dark_orange"
WIDEST = 120
ENDED = "ended"


def curve(points: Iterable[Point], seconds: float, most: int, width: int) -> str:
    """A line of blocks: the most in each part of the time, of `most` KiB; nothing where there is no sample."""
    highest = [0] * width
    for ms, kib in points:
        place = min(width - 1, int(ms / 1000 / seconds * width)) if seconds else 0
        highest[place] = max(highest[place], kib)
    last = max((i for i, kib in enumerate(highest) if kib), default=-1)
    for i in range(1, last):
        highest[i] = highest[i] or highest[i - 1]
    return "".join(BLOCKS[max(1, min(8, -(-kib * 8 // most)))] if kib else " " for kib in highest)


def bar(value: float, most: float, width: int) -> str:
    whole, rest = divmod(round(value / most * width * 8), 8)
    return "█" * whole + (PARTS[rest] if rest else "")


class Screen:
    """`console`: rich's."""

    def __init__(self, console: Console) -> None:
        self._console, self._drawn = console, 0.0
        self._live: Live | None = None
        self._blocks = (console.encoding or "").lower().startswith("utf")
        self._title = ""
        self._width = min(console.width, WIDEST) - NAME - VALUE - 2

    def scene(self, title: str, names: Sequence[str]) -> None:
        """Begins: it is being prepared."""
        self._title, self._names, self._begun = title, names, time.monotonic()
        self._rounds = self._number = 0
        self._together, self._who, self._seconds = True, "", 1.0
        self._curves: dict[str, list[Point]] = {}
        self._values: dict[str, list[float]] = {}
        self._ended: set[str] = set()
        self._over: set[str] = set()
        if self._console.is_terminal:
            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        self._draw()

    def ready(self, title: str, rounds: int, together: bool) -> None:
        """All is there for its rounds."""
        self._title, self._rounds, self._together = title, rounds, together
        if not self._live:
            self.say("", title)

    def heat(self, number: int, names: Sequence[str]) -> None:
        if number != self._number:
            self._curves = {}
        self._number, self._who, self._over = number, names[0] if len(names) == 1 else "", set()
        self._draw()

    def watch(self, curves: Mapping[str, list[Point]], ends: Mapping[str, object]) -> None:
        """Of the heat that runs."""
        if self._together:
            self._curves |= curves
        self._over |= {name for name, end in ends.items() if isinstance(end, Exception)}
        if self._live and time.monotonic() - self._drawn > REDRAW_SECONDS:
            self._draw()

    def measured(self, name: str, value: float | None, points: list[Point]) -> None:
        """`value`: of the figure that the scene is about, in its unit; None: it was ended. `points`: of its curve."""
        if self._together:
            self._curves[name] = points
        if value is None:
            self._ended.add(name)
        else:
            self._values.setdefault(name, []).append(value)

    def round_done(self) -> None:
        if not self._live:
            each = [f"{name} {three_digits(self._values[name][-1])}" for name in self._names if name in self._values]
            each += [f"{name} {ENDED}" for name in self._names if name in self._ended]
            line = f"  round {self._number} of {self._rounds}: {'; '.join(each)}"
            self.say(*textwrap.wrap(line, min(self._console.width, WIDEST), subsequent_indent="    "))

    def end(self, unit: str, sentence: str) -> None:
        """The scene is over: what stays of it."""
        live, self._live = self._live, None
        if live:
            live.stop()
            self.say("", self._title)
        for line in self._rows(unit) if self._blocks and self._number else ():
            self._console.print(line)
        self.say(sentence)

    def interrupted(self) -> None:
        if self._live:
            self._live.stop()
            self._live = None

    def say(self, *lines: str) -> None:
        for line in lines:
            self._console.print(
                Text(line, "bold" if line and line == self._title else ""), width=min(self._console.width, WIDEST)
            )

    def _draw(self) -> None:
        if not self._live:
            return
        self._drawn = time.monotonic()
        who = f", {self._who}" if self._who else ""
        head = Text(self._title, "bold")
        what = f"round {self._number} of {self._rounds}{who}" if self._number else "is prepared"
        state = f"{what}, {self._drawn - self._begun:.0f} s"
        self._live.update(Text("\n").join([head, Text(f"  {state}", "dim"), *(self._rows("") if self._blocks else [])]))
        self._live.refresh()

    def _rows(self, unit: str) -> Iterator[Text]:
        """A line for each allocator. `unit`: of the medians, when the scene is over; nothing while it runs."""
        if self._together:
            every = [point for points in self._curves.values() for point in points]
            self._seconds = max([self._seconds, *(ms / 1000 for ms, _ in every)])
        most_kib = max((kib for points in self._curves.values() for _, kib in points), default=1)
        most = max((median(values) for values in self._values.values()), default=1)
        for name in self._names:
            values, points = self._values.get(name), self._curves.get(name)
            now = points[-1][1] / 1024 if points and not unit else None
            middle = median(values) if values else None
            if self._together:
                drawn = curve(points or [], self._seconds, most_kib, self._width)
            else:
                drawn = bar(middle, most, self._width) if middle is not None else ""
            shown = middle if now is None else now
            gone = not values and name in self._ended if unit else name in self._over
            text = ENDED if gone else f"{three_digits(shown)} {unit}" if shown else ""
            style = STYLE if name.partition(",")[0] == OURS else ""
            yield Text(
                f"  {name:<{NAME - 2}}{drawn:<{self._width}}{text.strip():>{VALUE}}",
                style,
                no_wrap=True,
                overflow="crop",
            )
