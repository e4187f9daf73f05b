"""The terminal that a command writes to, tables on it, and texts that others chose: names, labels. Only tables and
consoles need rich: a text is made plain without."""

# ruff: noqa: PLC0415
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

WIDTH = 80
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def plain_text(text: str) -> str:
    """The text without what steers a terminal or turns the direction of words. Controls (also U+0080 to 9F and those of
    bidi), line separators, bytes that are no UTF-8 and all else that has no picture become escapes, such as \\x1b and
    \\u202e. What rich takes for markup stays: print the result as rich.text.Text, or on console()."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "replace").decode() for c in text)


def plain_lines(text: str) -> str:
    """The same of a message that may have several lines. Those after the first are indented, so that none of them can
    pass for a message of its own."""
    first, *rest = map(plain_text, text.split("\n"))
    return "\n".join([first, *(line if line.startswith(" ") else f"  {line}" for line in rest)])


def size(count: float) -> str:
    """Of bytes."""
    power = next(power for power in range(len(_UNITS)) if abs(count) < 1024 ** (power + 1) or power == len(_UNITS) - 1)
    return f"{count / 1024**power:,.{0 if power == 0 else 1}f} {_UNITS[power]}"


def counted(number: int, what: str, plural: str = "s") -> str:
    """1 round, 2 rounds."""
    return f"{number:,} {what}{'' if number == 1 else plural}"


@dataclass
class Table:
    """The first column is to the left, all others are numbers. Cells are shown as plain text."""

    title: str
    heads: list[str]
    rows: list[list[str]] = field(default_factory=list)

    def rich(self) -> "RichTable":
        from rich import box
        from rich.table import Table as RichTable
        from rich.text import Text

        result = RichTable(box=box.SIMPLE_HEAD, padding=0, pad_edge=False, show_edge=False)
        for index, head in enumerate(self.heads):
            result.add_column(self.head(head), justify="right" if index else "left", no_wrap=True)
        for row in self.rows:
            result.add_row(*(Text(plain_text(cell), self.style(cell)) for cell in row))
        return result

    def head(self, text: str) -> str:
        return text

    def style(self, cell: str) -> str:
        return ""


def console() -> "Console":
    """For what needs so many columns at least; a narrower terminal wraps it. Brackets and colons in a string mean
    nothing to it."""
    from rich.console import Console

    result = Console(markup=False, emoji=False, highlight=False)
    result.width = max(result.width, WIDTH)
    return result
