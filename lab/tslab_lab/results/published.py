"""The pages of docs/results: how far the engine has gone on since each was measured, and whether a page says so that is older than
it may be."""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

from tslab_lab.base import machine
from tslab_lab.results import quoted

FOLDER = quoted.ROOT / "docs/results"
# Changes of the engine (commits to src and include) since a page was measured, at most.
CHANGES = {
    "matrix": 60, "patterns": 60, "latency": 60, "epochs": 60, "requests": 60, "rss": 60, "boundaries": 60, "demo": 60,
    "neighbours": 60, "fleetbench": 60, "littered": 60, "profile": 60, "checked": 120, "soak": 120, "rust": 120,
}  # fmt: skip
BEFORE = "**Of an earlier engine.**"  # how the words begin by which a page says that it is older


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
    """Pages that the overview does not lead to, or that are older than they may be and do not say so: a line each."""
    overview = (FOLDER / "README.md").read_text(encoding="utf-8")
    for name in pages():
        if f"({name}.md)" not in overview:
            yield f"docs/results/README.md does not lead to {name}.md"
    for age in ages():
        if not age.well:
            yield f"docs/results/{age.page}.md: {age}: measure it anew, or let it say '{BEFORE}'"


def pages() -> dict[str, str]:
    """Their texts by name."""
    return {
        name: (FOLDER / f"{name}.md").read_text(encoding="utf-8")
        for name in CHANGES
        if (FOLDER / f"{name}.md").is_file()
    }
