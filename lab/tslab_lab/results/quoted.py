"""Figures that README and docs quote, between marks that say where each comes from: <!--PAGE; ROW; COLUMN-->1.90<!---->.

The value is a cell of the first table of the page (docs/results/PAGE.csv, then PAGE.md) that has the row and the column; a
column may be shortened to how it begins. TITLE/ROW is of a table whose title begins so. ROW `others` is all allocators but tslab
and glibc, from the least to the most, and ROW `worst` the row with the most, and its name. A fourth word, `us`, makes microseconds of nanoseconds. <!--PAGE; /REGULAR EXPRESSION/--> is what the expression's group finds in
the page. The page `facts` is made of the sources: see facts()."""

import csv
import re
from collections.abc import Iterator
from pathlib import Path

from tslab_lab.base import places
from tslab_lab.display import layout

MARK = re.compile(r"<!--([a-z]+; [^\n]*?)-->(.*?)<!---->")
FIRST = re.compile(r"^\s*(<!--[a-z]+; .{,40})", re.MULTILINE)
CELL = re.compile(r"(?<!\\)\|")
ROOT = places.ROOT or Path()  # nobody asks for anything here without a checkout
OURS, SYSTEM, OTHERS, WORST = "tslab", "glibc", "others", "worst"
SOURCES = (".c", ".h", ".hpp", ".cpp", ".py", ".rs", ".sh")


class Missing(Exception):
    """A mark asks for what is not there."""


Rows = dict[str, dict[str, str]]  # the cells of a table, by row and column
Tables = dict[str, Rows]  # by title


def of_csv(text: str) -> Tables:
    tables: Tables = {}
    for line in csv.DictReader(text.splitlines()):
        tables.setdefault(line["table"], {}).setdefault(line["row"], {})[line["column"]] = line["value"]
    return tables


def of_markdown(text: str) -> Tables:
    """The tables of a page, by their number."""
    tables: Tables = {}
    rows: list[list[str]] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in CELL.split(line.strip().strip("|"))])
            continue
        if len(rows) > 2:
            heads = rows[0]
            tables[str(len(tables))] = {row[0]: dict(zip(heads[1:], row[1:])) for row in rows[2:]}
        rows = []
    return tables


def facts(root: Path) -> Tables:
    """What README says of the tests: lines of them for a line of the engine, in halves; what the last long runs did."""

    def lines(folder: str) -> int:
        return sum(len(path.read_bytes().splitlines()) for path in (root / folder).rglob("*") if path.suffix in SOURCES)

    budgets = (root / "tests/house/budgets.txt").read_text(encoding="utf-8")
    assertions = budgets.partition("density of assertions")[2].split()[0]
    return {
        "facts": {
            "tests": {"lines": f"{int(2 * lines('tests') / lines('src')) / 2:g}"},
            "assertions": {"per": f"{float(assertions):.0f}"},
        }
    }


class Pages:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.known: dict[str, Tables] = {}

    def text(self, page: str) -> str:
        """Of a page of results, else of another page of docs."""
        for folder in ("docs/results", "docs"):
            if (file := self.root / folder / f"{page}.md").is_file():
                return file.read_text(encoding="utf-8")
        raise Missing(f"there is no page {page}")

    def tables(self, page: str) -> Tables:
        if page not in self.known:
            full = self.root / f"docs/results/{page}.csv"
            if page == "facts":
                self.known[page] = facts(self.root)
            else:
                own = of_csv(full.read_text(encoding="utf-8")) if full.is_file() else {}
                self.known[page] = own | of_markdown(self.text(page))
        return self.known[page]

    def value(self, mark: str) -> str:
        page, *words = (word.strip() for word in mark.split(";"))
        if words[0].startswith("/"):
            found = re.search(words[0].strip("/"), " ".join(self.text(page).split()))
            if not found:
                raise Missing(f"{page}.md does not say {words[0]}")
            return found[1]
        where, column, *unit = words
        title, _, row = where.rpartition("/")
        for name, table in self.tables(page).items():
            if not name.startswith(title):
                continue
            heads = [head for cells in table.values() for head in cells if head.startswith(column)]
            if heads and (row in (OTHERS, WORST) or row in table):
                return self._cell(table, row, heads[0], unit)
        raise Missing(f"{page} has no table with the row {row} and the column {column}")

    def _cell(self, table: Rows, row: str, head: str, unit: list[str]) -> str:
        if row == WORST:
            most, name = max((float(cells[head].split()[0]), name) for name, cells in table.items())
            return f"{most:.2f} (`{name}`)"
        names = [name for name in table if name != SYSTEM and not name.startswith(OURS)] if row == OTHERS else [row]
        cells = [table[name][head].partition(" (")[0].rstrip("*") for name in names]
        if unit == ["us"]:
            cells = [layout.three_digits(float(cell) / 1000) for cell in cells]
        if row != OTHERS:
            return cells[0]
        cells.sort(key=lambda cell: float(cell.replace("k", "e3")))
        return f"{cells[0]} to {cells[-1]}"


def filled(text: str, pages: Pages) -> str:
    """The text with its figures as the pages have them. One that no page has stays, and wrong() tells of it."""

    def figure(match: re.Match[str]) -> str:
        try:
            return f"<!--{match[1]}-->{pages.value(match[1])}<!---->"
        except Missing:
            return match[0]

    return MARK.sub(figure, text)


def unmarked(text: str) -> str:
    """The text without the figures that are between marks."""
    return MARK.sub("", text)


def quoting(root: Path) -> list[Path]:
    return [
        path
        for path in (root / "README.md", *sorted((root / "docs").glob("*.md")), root / "docs/results/README.md")
        if path.is_file()
    ]


def fill(root: Path = ROOT) -> list[Path]:
    """Writes the figures into README and docs. Returns the files that have changed."""
    pages, changed = Pages(root), list[Path]()
    for path in quoting(root):
        text = path.read_text(encoding="utf-8")
        if (new := filled(text, pages)) != text:
            path.write_text(new, encoding="utf-8")
            changed.append(path)
    return changed


def wrong(root: Path = ROOT) -> Iterator[str]:
    """Figures between marks that are not those of the pages: a line each."""
    pages = Pages(root)
    for path in quoting(root):
        for line in FIRST.findall(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(root)}: a mark begins a line, which ends the paragraph before it: {line}"
        for mark, told in MARK.findall(path.read_text(encoding="utf-8")):
            try:
                value = pages.value(mark)
            except Missing as missing:
                yield f"{path.relative_to(root)}: {mark}: {missing}"
                continue
            if value != told:
                yield f"{path.relative_to(root)}: {mark} is {value}, not {told}: lab campaign --only-pages"
