"""Tables and the numbers in them: each described once, shown on a terminal of 80 columns or as Markdown."""

import csv
import textwrap
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console

from tslab_lab.estimates.medians import Spread
from tslab_tools import terminal
from tslab_tools.terminal import WIDTH as WIDTH
from tslab_tools.terminal import console as console

PAGE_WIDTH = 120
Setting = Iterable[tuple[str, str]]  # where figures were measured: a name and a text each
MET, MISSED = "met", "OVER"
STYLES = {MET: "green", MISSED: "bold red"}
SHORT = {"jemalloc": "je-\nmalloc", "tcmalloc": "tc-\nmalloc", "mimalloc": "mi-\nmalloc"}


class Table(terminal.Table):
    def head(self, text: str) -> str:
        return SHORT.get(text) or _folded(text)

    def style(self, cell: str) -> str:
        return STYLES.get(cell.split(" ")[-1], "")

    def markdown(self) -> str:
        heads = [head.replace("\n", " ") for head in self.heads]
        lines = [heads, ["---"] + ["---:"] * (len(heads) - 1), *self.rows]
        return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


Part = Table | str  # of a page: a table, or a heading, paragraph or picture


def _folded(head: str) -> str:
    """A name with options, a line for each of them."""
    return head.replace("@", "\n@").replace(",", ",\n") if "@" in head else head


def three_digits(value: float) -> str:
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def interval_text(spread: Spread | None) -> str:
    if spread is None:
        return "-"
    if spread.low is None:
        return three_digits(spread.middle)
    middle, low, high = map(three_digits, (spread.middle, *spread.ends))
    return f"{middle} ({low}-{high})"


def short(value: float) -> str:
    """Three digits, or what is left of them after thousands are cut off."""
    return f"{value / 1000:.0f}k" if value >= 99_950 else three_digits(value)


def counted(number: int, what: str) -> str:
    """1 round, 2 rounds."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def medians_of(rounds: int) -> str:
    """How figures begin that were taken from so many rounds."""
    return "A single round" if rounds == 1 else f"Medians of {rounds} rounds"


def verdict(met: bool | None) -> str:
    return "-" if met is None else MET if met else MISSED


def limit_verdict(limit: float | None, met: bool | None) -> str:
    return "-" if limit is None else f"{limit:g} {verdict(met)}"


def filled(paragraph: str) -> str:
    """A paragraph of a page; headings and what is in lines already stays."""
    kept = paragraph.startswith(("#", "!", "|", "-"))
    return paragraph if kept else textwrap.fill(paragraph, PAGE_WIDTH, break_long_words=False, break_on_hyphens=False)


def markdown_page(title: str, parts: Iterable[Part], setting: Setting) -> str:
    """A page for docs/results. `parts`: headings, paragraphs, pictures and tables, with the answer first. `setting`: pairs of
    a name and a text."""
    lines = [f"# {title}"]
    for part in parts:
        lines += [f"{part.title}:", part.markdown()] if isinstance(part, Table) else [filled(part)]
    measured_on = "\n".join(["| | |", "|---|---|", *(f"| {name} | {text} |" for name, text in setting)])
    return "\n\n".join([*lines, "## Measured on", measured_on]) + "\n"


def keep_tables(path: Path, tables: Iterable[Table]) -> str:
    """Writes tables in full beside a page that shows a few of their rows: a line for each cell. Returns the sentence that leads
    the reader there."""
    file, count = path.with_suffix(".csv"), 0
    with file.open("w", encoding="utf-8", newline="") as lines:
        out = csv.writer(lines, lineterminator="\n")
        out.writerow(("table", "row", "column", "value"))
        for table in tables:
            heads = [head.replace("\n", " ").strip() for head in table.heads[1:]]
            title, count = table.title.replace("\n", " "), count + 1
            out.writerows((title, row[0], head, cell) for row in table.rows for head, cell in zip(heads, row[1:]))
    return f"All figures of all allocators, {counted(count, 'table')}: [{file.name}]({file.name})."


def show(
    on: Console, tables: Iterable[Table], paragraphs: Iterable[str], setting: Setting, width: int | None = None
) -> None:
    """The tables, what they must be read with, and where they were measured: `setting` is pairs of a name and a text.
    `width`: of the words (default: the console's, as far as lines can be read)."""

    def say(*lines: str) -> None:
        on.print(*lines, sep="\n", width=width or min(on.width, PAGE_WIDTH), markup=False, highlight=False)

    for table in tables:
        say("", table.title)
        on.print(table.rich())
    if paragraphs:
        say("", *paragraphs)
    if setting:
        say("", *(f"{name}: {text}" for name, text in setting), "")
