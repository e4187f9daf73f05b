"""Tables and the numbers in them: each described once, shown on a terminal of 80 columns or as Markdown."""

from dataclasses import dataclass, field

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

WIDTH = 80
PAGE_WIDTH = 120
MET, MISSED = "met", "OVER"
STYLES = {MET: "green", MISSED: "bold red"}
SHORT = {"jemalloc": "je-\nmalloc", "tcmalloc": "tc-\nmalloc", "mimalloc": "mi-\nmalloc"}


@dataclass
class Table:
    title: str
    heads: list
    rows: list = field(default_factory=list)

    def rich(self):
        result = RichTable(box=box.SIMPLE_HEAD, padding=0, pad_edge=False, show_edge=False)
        for index, head in enumerate(self.heads):
            result.add_column(SHORT.get(head, head), justify="right" if index else "left", no_wrap=True)
        for row in self.rows:
            result.add_row(*(Text(cell, STYLES.get(cell.split(" ")[-1], "")) for cell in row))
        return result

    def markdown(self):
        heads = [head.replace("\n", " ") for head in self.heads]
        lines = [heads, ["---"] + ["---:"] * (len(heads) - 1), *self.rows]
        return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def three_digits(value):
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def interval_text(found):
    if found is None:
        return "-"
    middle, low, high = map(three_digits, (found.middle, found.low, found.high))
    return f"{middle} ({low}-{high})"


def short(value):
    """Three digits, or what is left of them after thousands are cut off."""
    return f"{value / 1000:.0f}k" if value >= 99_950 else three_digits(value)


def verdict(met):
    return "-" if met is None else MET if met else MISSED


def limit_verdict(limit, met):
    return "-" if limit is None else f"{limit:g} {verdict(met)}"


def console():
    """For what needs so many columns at least; a narrower terminal wraps it."""
    result = Console()
    result.width = max(result.width, WIDTH)
    return result


def show(on, tables, paragraphs, setting, width=None):
    """The tables, what they must be read with, and where they were measured: `setting` is pairs of a name and a text.
    `width`: of the words (default: the console's, as far as lines can be read)."""

    def say(*lines):
        on.print(*lines, sep="\n", width=width or min(on.width, PAGE_WIDTH), markup=False, highlight=False)

    for table in tables:
        say("", table.title)
        on.print(table.rich())
    if paragraphs:
        say("", *paragraphs)
    if setting:
        say("", *(f"{name}: {text}" for name, text in setting), "")
