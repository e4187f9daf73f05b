"""Tables and the numbers in them: each described once, shown on a terminal of 80 columns or as Markdown."""

import textwrap
from dataclasses import dataclass, field

from rich import box
from rich.table import Table as RichTable
from rich.text import Text

from tslab_tools.terminal import WIDTH as WIDTH
from tslab_tools.terminal import console as console

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
            result.add_column(SHORT.get(head) or _folded(head), justify="right" if index else "left", no_wrap=True)
        for row in self.rows:
            result.add_row(*(Text(cell, STYLES.get(cell.split(" ")[-1], "")) for cell in row))
        return result

    def markdown(self):
        heads = [head.replace("\n", " ") for head in self.heads]
        lines = [heads, ["---"] + ["---:"] * (len(heads) - 1), *self.rows]
        return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _folded(head):
    """A name with options, a line for each of them."""
    return head.replace("@", "\n@").replace(",", ",\n") if "@" in head else head


def three_digits(value):
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def interval_text(found):
    if found is None:
        return "-"
    if found.low is None:
        return three_digits(found.middle)
    middle, low, high = map(three_digits, (found.middle, found.low, found.high))
    return f"{middle} ({low}-{high})"


def short(value):
    """Three digits, or what is left of them after thousands are cut off."""
    return f"{value / 1000:.0f}k" if value >= 99_950 else three_digits(value)


def counted(number, what):
    """1 round, 2 rounds."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def medians_of(rounds):
    """How figures begin that were taken from so many rounds."""
    return "A single round" if rounds == 1 else f"Medians of {rounds} rounds"


def verdict(met):
    return "-" if met is None else MET if met else MISSED


def limit_verdict(limit, met):
    return "-" if limit is None else f"{limit:g} {verdict(met)}"


def filled(paragraph):
    """A paragraph of a page; headings and what is in lines already stays."""
    kept = paragraph.startswith(("#", "!", "|", "-"))
    return paragraph if kept else textwrap.fill(paragraph, PAGE_WIDTH, break_long_words=False, break_on_hyphens=False)


def markdown_page(title, parts, setting):
    """A page for docs/results. `parts`: headings, paragraphs, pictures and tables, with the answer first. `setting`: pairs of
    a name and a text."""
    lines = [f"# {title}"]
    for part in parts:
        lines += [f"{part.title}:", part.markdown()] if isinstance(part, Table) else [filled(part)]
    measured_on = "\n".join(["| | |", "|---|---|", *(f"| {name} | {text} |" for name, text in setting)])
    return "\n\n".join([*lines, "## Measured on", measured_on]) + "\n"


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
