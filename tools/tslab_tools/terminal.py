"""The terminal that a command writes to, and tables on it."""

from dataclasses import dataclass, field

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

WIDTH = 80


@dataclass
class Table:
    """The first column is to the left, all others are numbers."""

    title: str
    heads: list[str]
    rows: list[list[str]] = field(default_factory=list)

    def rich(self) -> RichTable:
        result = RichTable(box=box.SIMPLE_HEAD, padding=0, pad_edge=False, show_edge=False)
        for index, head in enumerate(self.heads):
            result.add_column(self.head(head), justify="right" if index else "left", no_wrap=True)
        for row in self.rows:
            result.add_row(*(Text(cell, self.style(cell)) for cell in row))
        return result

    def head(self, text: str) -> str:
        return text

    def style(self, cell: str) -> str:
        return ""


def console() -> Console:
    """For what needs so many columns at least; a narrower terminal wraps it."""
    result = Console()
    result.width = max(result.width, WIDTH)
    return result
