"""The terminal that a command writes to, tables on it, and texts that others chose: names, labels."""

from dataclasses import dataclass, field

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

WIDTH = 80


def plain_text(text: str) -> str:
    """The text without what steers a terminal or turns the direction of words. Controls (also U+0080 to 9F and those of
    bidi), line separators, bytes that are no UTF-8 and all else that has no picture become escapes, such as \\x1b and
    \\u202e. What rich takes for markup stays: print the result as rich.text.Text, or on console()."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "replace").decode() for c in text)


@dataclass
class Table:
    """The first column is to the left, all others are numbers. Cells are shown as plain text."""

    title: str
    heads: list[str]
    rows: list[list[str]] = field(default_factory=list)

    def rich(self) -> RichTable:
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


def console() -> Console:
    """For what needs so many columns at least; a narrower terminal wraps it. Brackets and colons in a string mean
    nothing to it."""
    result = Console(markup=False, emoji=False, highlight=False)
    result.width = max(result.width, WIDTH)
    return result
