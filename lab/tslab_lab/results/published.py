"""The pages of docs/results: how far the engine has gone on since each was measured, whether a page says so that is older than
it may be, and whether texts that quote a page say what it says."""

import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tslab_lab.base import machine
from tslab_lab.results import quoted

FOLDER = quoted.ROOT / "docs/results"
# Changes of the engine (commits to src and include) since a page was measured, at most.
CHANGES = {
    "matrix": 60, "patterns": 60, "latency": 60, "epochs": 60, "requests": 60, "rss": 60, "boundaries": 60, "demo": 60,
    "fleetbench": 60, "littered": 60, "profile": 60, "checked": 120, "soak": 120, "rust": 120,
}  # fmt: skip
BEFORE = "**Of an earlier engine.**"  # how the words begin by which a page says that it is older
_LINK = re.compile(r"\]\(([^)\s]*)\)")
_PAGE = re.compile(rf"(?:^|/)({'|'.join(CHANGES)})\.md(?:#[\w-]*)?$")
_OVERVIEW = re.compile(r"results/README\.md(?:#[\w-]*)?$")
_NUMBER = re.compile(r"(?<![\w.,/-])(\d[\d,]*(?:\.\d+)?)(?:(?= ?(%|[MKG]iB\b|us\b|µs\b|ns\b|ms\b))|(?![\w,]))")
_RANGE = re.compile(r"(\d[\d,.]*)( (?:to|and) \d[\d,.]* ?(%|[MKG]iB\b|us\b|µs\b|ns\b|ms\b))")  # 1 to 2 MiB
_SCALES = {"us": 1e-3, "µs": 1e-3, "ms": 1e-6, "MiB": 1 / 1024}  # of what a page may tell in the next smaller unit


def _git(*words: str) -> str:
    argv = ["git", "-C", str(quoted.ROOT), *words]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


@dataclass(frozen=True)
class Age:
    """`changes`: of the engine since the page was measured; None where that cannot be told. `told`: the page says that it is
    of an earlier engine."""

    page: str
    changes: int | None
    most: int
    told: bool

    @property
    def well(self) -> bool:
        return self.told or (self.changes is not None and self.changes <= self.most)

    def __str__(self) -> str:
        far = "an unknown engine" if self.changes is None else f"{self.changes} changes of the engine ago"
        return f"measured {far}, at most {self.most}{'; it says so' if self.told and not self._young else ''}"

    @property
    def _young(self) -> bool:
        return self.changes is not None and self.changes <= self.most


def as_measured(text: str) -> str:
    """The text of a page without the line by which it says that it is older: nothing measured that."""
    return re.sub(rf"\n{re.escape(BEFORE)}[^\n]*\n", "", text)


def with_age(text: str, before: str) -> str:
    """The text of a page that was written anew from the same results, with the line that it had."""
    found = re.search(rf"\n{re.escape(BEFORE)}[^\n]*\n", before)
    head, _, rest = text.partition("\n")
    return f"{head}\n{found[0]}{rest}" if found else text


def ages() -> Iterator[Age]:
    """Of every page; none where there is no history to tell it from."""
    if not _git("rev-parse", "HEAD"):
        return
    for name, text in pages().items():
        yield Age(name, _changes_since(text), CHANGES[name], BEFORE in text)


def _changes_since(text: str) -> int | None:
    if f"engine {machine.engine()}" in text:
        return 0
    found = re.search(r"\b[0-9a-f]{40}\b", text)
    count = _git("rev-list", "--count", f"{found[0]}..HEAD", "--", *machine.ENGINE) if found else ""
    return int(count) if count else None


def wrong() -> Iterator[str]:
    """Texts that quote what no page says, and pages that are older than they may be and do not say so: a line each."""
    known = {name: text + tables(name) for name, text in pages().items()}
    for file in quoted.quoting(quoted.ROOT):
        everything = file.parent == FOLDER
        for figure, where in unsupported(quoted.unmarked(file.read_text(encoding="utf-8")), known, everything):
            yield f"{file.relative_to(quoted.ROOT)}: {figure} is in no page that is named beside it: {where}"
    overview = (FOLDER / "README.md").read_text(encoding="utf-8")
    for name in pages():
        if f"({name}.md)" not in overview:
            yield f"docs/results/README.md does not lead to {name}.md"
    for age in ages():
        if not age.well:
            yield f"docs/results/{age.page}.md: {age}: measure it anew, or let it say '{BEFORE}'"


def unsupported(text: str, pages: Mapping[str, str], everything: bool = False) -> Iterator[tuple[str, str]]:
    """Figures in a text, with the line that they are in, that stand in none of the pages beside them. A figure is a number
    with decimals or a unit, and a page is beside it that is linked to in the same row, item or paragraph. A row without a
    link has those of the text right before its table. A link to the overview is one to all pages. `pages`: text by name.
    `everything`: figures with a unit must also be in a page where none is named."""
    known = {name: sorted(_numbers(found)) for name, found in pages.items()}
    above: list[str] = []
    for block in _blocks(text):
        own = _LINK.findall(block)
        is_row = block.lstrip().startswith("|")
        links = own or (above if is_row else [])
        above = above if is_row else own
        linked = {match[1] for link in links if (match := _PAGE.search(link)) and match[1] in known}
        overview = any(map(_OVERVIEW.search, links))
        if not linked and not overview and not everything:
            continue
        needs_unit, linked = not linked and not overview, linked or set(known)
        words = _RANGE.sub(r"\1 \3\2", _LINK.sub("]", block))
        for match in _NUMBER.finditer(words):
            number, unit = match[1].rstrip(","), match[2] or ""
            told = unit or ("." in number and not needs_unit)
            if told and not any(_says(known[name], number, unit) for name in linked):
                yield f"{number} {unit}".strip(), " ".join(block.split())[:90]


def _blocks(text: str) -> list[str]:
    """Rows of tables, items of lists, paragraphs; no code."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^(?=\||[-*] )", "\n", text, flags=re.MULTILINE)
    return [block for block in re.split(r"\n\s*\n", text) if block.strip()]


def _numbers(text: str) -> set[float]:
    return {float(found.replace(",", "")) for found in re.findall(r"\d[\d,]*(?:\.\d+)?", text)}


def _says(known: Iterable[float], number: str, unit: str) -> bool:
    """Whether a page has a number that this one is rounded from."""
    digits = len(number.partition(".")[2])
    value, slack = float(number.replace(",", "")), 0.5000001 * 10**-digits
    scales = (1, _SCALES[unit]) if unit in _SCALES else (1,)
    values = (value, 100 - value) if unit == "%" else (value,)  # what is left, or gone
    return any(abs(one * scale - value) <= slack for one in known for scale in scales for value in values)


def pages() -> dict[str, str]:
    """Their texts by name."""
    return {
        name: (FOLDER / f"{name}.md").read_text(encoding="utf-8")
        for name in CHANGES
        if (FOLDER / f"{name}.md").is_file()
    }


def tables(name: str) -> str:
    """The tables in full that lie beside a page."""
    file = FOLDER / f"{name}.csv"
    return file.read_text(encoding="utf-8") if file.is_file() else ""
