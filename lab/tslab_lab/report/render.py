"""What a command found, for readers: on a terminal, as a page of Markdown with its figures and tables beside it, as one HTML page."""

import argparse
import base64
import csv
import io
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from tslab_lab.allocators import sides
from tslab_lab.allocators.catalogue import OURS
from tslab_lab.base import processes
from tslab_lab.base.shapes import Record
from tslab_lab.display import figures, layout
from tslab_lab.display.figures import Canvas
from tslab_lab.display.layout import Part, Table
from tslab_lab.measure import measurement
from tslab_lab.results import marks
from tslab_lab.results.storage import Results

STRONG = re.compile(r"\*{1,2}([^*]+)\*{1,2}")
Setting = Sequence[tuple[str, str]]  # where figures were measured: a name and a text each


@dataclass
class Picture:
    """`name`: of its files, after that of the page; empty where the page has one. `draw`: gives the figure, or None."""

    name: str
    title: str
    told: str  # the figures in words
    draw: Callable[[], Canvas | None]


@dataclass
class Report:
    """`answer`: what a page says first: paragraphs, or a list. `pictures`: the first `leading` of them are in Markdown. `body`: of a
    page of Markdown. `full`: all tables, of the terminal, CSV and HTML. `notes`: what they must be read with."""

    title: str
    answer: list[str]
    pictures: list[Picture]
    body: list[Part]
    full: list[Table]
    notes: list[str]
    leading: int = 1
    keeps_tables: bool = True  # in a file beside a page of Markdown
    setting: Setting = field(default_factory=list)


def show(report: Report) -> None:
    """On the terminal: the answer last, where it is read."""
    console = layout.console()
    width = min(console.width, layout.PAGE_WIDTH)

    def say(*lines: str) -> None:
        console.print(*lines, sep="\n", width=width)

    short = [part for part in report.body if isinstance(part, Table)]
    tables = report.full if all(sum(_widths(table)) <= console.width for table in report.full) else short or report.full
    show_tables(console, tables)
    say("", *report.notes, "", *(f"{name}: {text}" for name, text in report.setting), "")
    say(*(STRONG.sub(r"\1", line) for line in report.answer), "")


def show_tables(console: Any, tables: Iterable[Table]) -> None:
    """Where the terminal is too narrow for one, some of its columns at a time."""
    for table in (part for whole in tables for part in _fitting(whole, console.width)):
        console.print("", table.title, sep="\n", width=min(console.width, layout.PAGE_WIDTH))
        console.print(table.rich())


def _widths(table: Table) -> list[int]:
    """Of the columns, with a blank between them."""
    texts = zip(map(table.head, table.heads), *table.rows)
    return [1 + max(len(line) for text in column for line in text.split("\n")) for column in texts]


def _fitting(table: Table, width: int) -> Iterator[Table]:
    """The table, or several with some of its columns each."""
    widths, start = _widths(table), 1
    while start < len(widths):
        end, room = start + 1, width - widths[0] - widths[start]
        while end < len(widths) and widths[end] <= room:
            room, end = room - widths[end], end + 1
        rows = [[row[0], *row[start:end]] for row in table.rows]
        yield Table(table.title, [table.heads[0], *table.heads[start:end]], rows)
        start = end


def markdown(report: Report, path: Path) -> str:
    """The text of a page that will be at `path`; its pictures and its tables in full go beside it."""
    lines = [f"# {report.title}", *map(layout.filled, report.answer)]
    for picture in report.pictures[: report.leading] if not figures.available() else ():
        if drawn := picture.draw():
            stem = path.with_name("-".join(filter(None, (path.stem, picture.name))))
            figures.save(drawn, stem, picture.told)
            lines.append(f"![{picture.title}]({stem.name}.png)")
    for part in report.body:
        lines += [f"{part.title}:".lstrip(":"), part.markdown()] if isinstance(part, Table) else [layout.filled(part)]
    lines += map(layout.filled, report.notes)
    if report.keeps_tables:
        lines.append(keep_tables(path, report.full))
    measured_on = "\n".join(["| | |", "|---|---|", *(f"| {name} | {text} |" for name, text in report.setting)])
    return "\n\n".join(filter(None, [*lines, "## Measured on", measured_on])) + "\n"


def keep_tables(path: Path, tables: Sequence[Table]) -> str:
    """Writes tables in full beside a page that shows a few of their rows: a line for each cell. Returns the sentence that leads
    the reader there."""
    file = path.with_suffix(".csv")
    with file.open("w", encoding="utf-8", newline="") as lines:
        out = csv.writer(lines, lineterminator="\n")
        out.writerow(("table", "row", "column", "value"))
        for table in tables:
            title, heads = table.title.replace("\n", " "), table.plain_heads[1:]
            out.writerows((title, row[0], head, cell) for row in table.rows for head, cell in zip(heads, row[1:]))
    return f"All figures of all allocators, {layout.counted(len(tables), 'table')}: [{file.name}]({file.name})."


def html(found: Results, report: Report, page: Path) -> None:
    """Writes the page, and the figures as PNG and PDF into the folder figures beside it."""
    if problem := figures.available():
        raise processes.Failure(problem)
    folder = page.parent / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    template = jinja2.Environment(loader=jinja2.PackageLoader(__package__, ""), autoescape=True).get_template(
        "page.html"
    )
    lines = [line.removeprefix("- ") for part in report.answer for line in part.split("\n")]
    started = found.header.get("started", "").replace("T", " ").replace("Z", " UTC")
    text = template.render(
        title=f"{report.title}, {started}", command=" ".join(_command(found)), setting=report.setting,
        answer=[Markup(STRONG.sub(r"<b>\1</b>", str(escape(line)))) for line in lines],
        marks=[*marks.of(found), *(f"{one['allocator']} failed in {one['case']}: {one['why']}" for one in found.failures)],
        pictures=list(_pictures(report.pictures, folder)), tables=[*report.full, *_circumstances(found)],
        notes=[note for note in report.notes if not note.startswith("Note: ")], repeat="\n".join(_repeat(found)),
        csv=base64.b64encode(_runs(found.runs).encode()).decode(), count=layout.counted(len(found.runs), "run"),
    )  # fmt: skip
    page.write_text(text, encoding="utf-8")


def _pictures(pictures: Iterable[Picture], folder: Path) -> Iterator[tuple[Picture, str]]:
    """Each with itself as SVG."""
    for picture in pictures:
        if drawn := picture.draw():
            name = re.sub(r"[^\w.-]+", "-", picture.name or "answer")
            figures.save(drawn, folder / name, picture.told)
            svg = io.BytesIO()
            drawn.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
            yield picture, base64.b64encode(svg.getvalue()).decode()


def _circumstances(found: Results) -> Iterator[Table]:
    heads = {
        "title": "title",
        "version": "version",
        "released": "released",
        "source": "from",
        "library": "library",
        "sha256": "SHA-256",
    }
    known = found.header.get("allocators", {})
    yield Table(
        "The allocators",
        ["", *heads.values()],
        [[name, *(str(of.get(key) or "-") for key in heads)] for name, of in known.items()],
    )
    yield Table(
        "The machine", ["", "value"], [[name, str(value)] for name, value in found.header.get("machine", {}).items()]
    )
    cases = found.header.get("cases", {}).items()
    rows = [
        [name, of["title"], ", ".join(f"{key} {value}" for key, value in of["parameters"].items())]
        for name, of in cases
    ]
    yield Table("The cases", ["", "title", "parameters"], rows)


def _command(found: Results) -> Iterator[str]:
    yield f"lab {found.header.get('command', '')}"
    yield shlex.join(map(str, found.header.get("arguments") or ()))


def _repeat(found: Results) -> Iterator[str]:
    commit = found.header.get("machine", {}).get("commit") or ""
    if commit:
        changed = "   # it had changes besides" if " " in commit else ""
        yield f"git checkout {commit.partition(' ')[0]}{changed}\nmake build"
    yield f"lab/lab peers install\nlab/{' '.join(_command(found))}"


def _runs(runs: Sequence[Record]) -> str:
    """As CSV, for a spreadsheet."""
    text = io.StringIO()
    writer = csv.DictWriter(
        text, list(dict.fromkeys(key for run in runs for key in run if key != "kind")), extrasaction="ignore"
    )
    writer.writeheader()
    writer.writerows(runs)
    return text.getvalue()


def finish(arguments: argparse.Namespace, found: Results, report: Report, interrupted: bool, code: int = 0) -> int:
    """Shows what was found, writes the page that --markdown names, and gives the exit code."""
    show(report)
    if arguments.markdown:
        arguments.markdown.write_text(markdown(report, arguments.markdown.absolute()), encoding="utf-8")
    return measurement.end(found, interrupted, code)


def base_of(found: Results) -> str:
    """What others are compared with: ours, else B, else the first."""
    names = list(found.header["allocators"])
    return next((name for name in (OURS, sides.B) if name in names), names[0])
