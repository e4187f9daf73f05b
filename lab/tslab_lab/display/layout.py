"""Tables and the numbers in them: each described once, shown on a terminal, as Markdown, as CSV, or as HTML."""

import textwrap
from collections.abc import Iterable

from tslab_lab.estimates.medians import Spread
from tslab_tools import terminal
from tslab_tools.terminal import WIDTH as WIDTH
from tslab_tools.terminal import console as console
from tslab_tools.terminal import counted as counted

PAGE_WIDTH = 120
STYLES = {"better": "green", "met": "green", "WORSE": "bold red", "OVER": "bold red"}  # by how a cell ends
SHORT = {"jemalloc": "je-\nmalloc", "tcmalloc": "tc-\nmalloc", "mimalloc": "mi-\nmalloc"}
_UNITS = (("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0))


class Table(terminal.Table):
    def head(self, text: str) -> str:
        """A name with options has a line for each of them."""
        return SHORT.get(text) or (text.replace("@", "\n@").replace(",", ",\n") if "@" in text else text)

    def style(self, cell: str) -> str:
        return STYLES.get(cell.split(" ")[-1], "")

    @property
    def plain_heads(self) -> list[str]:
        return [head.replace("\n", " ").strip() for head in self.heads]

    def markdown(self) -> str:
        lines = [self.plain_heads, ["---"] + ["---:"] * (len(self.heads) - 1), *self.rows]
        return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


Part = Table | str  # of a page: a table, or a heading, paragraph or list of Markdown


def three_digits(value: float) -> str:
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def interval_text(spread: Spread | None) -> str:
    if spread is None:
        return "-"
    if spread.low is None:
        return three_digits(spread.middle)
    middle, low, high = map(three_digits, (spread.middle, *spread.ends))
    return f"{middle} ({low}-{high})"


def short(value: float | None) -> str:
    """Three digits, or what is left of them after thousands and millions are cut off; a dash for what there is not."""
    if value is None:
        return "-"
    scale, unit = (1e6, "M") if value >= 9.995e6 else (1e3, "k") if value >= 99_950 else (1, "")
    return three_digits(value / scale) + unit


def mib(kib: float | None) -> str:
    return short(None if kib is None else kib / 1024)


def time_unit(nanoseconds: float) -> tuple[str, float]:
    """The unit that leaves a readable number: (its name, how many nanoseconds it has)."""
    return next((unit for unit in _UNITS if nanoseconds >= unit[1]), _UNITS[-1])


def time_text(nanoseconds: float) -> str:
    unit, size = time_unit(nanoseconds)
    return f"{three_digits(nanoseconds / size)} {unit}"


def medians_of(rounds: int) -> str:
    """How figures begin that were taken from so many rounds."""
    return "A single round" if rounds == 1 else f"Medians of {rounds} rounds"


def filled(paragraph: str) -> str:
    """A paragraph of a page; headings and what is in lines already stays."""
    kept = paragraph.startswith(("#", "!", "|", "-"))
    return paragraph if kept else textwrap.fill(paragraph, PAGE_WIDTH, break_long_words=False, break_on_hyphens=False)


def bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
