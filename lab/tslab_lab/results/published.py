"""The pages of docs/results: how far the engine may have gone on since each was measured, and whether texts that quote a
page say what it says."""

import re
import subprocess
from pathlib import Path

from tslab_lab.base import places

FOLDER = places.ROOT / "docs/results" if places.ROOT else None
ENGINE = ("src", "include")
# Days from the commit that a page measured to the engine's last change, at most.
DAYS = {
    "matrix": 30, "patterns": 30, "latency": 30, "epochs": 30, "requests": 30, "rss": 30, "boundaries": 30, "demo": 30,
    "checked": 60, "soak": 60,
}  # fmt: skip
_LINK = re.compile(r"\]\(([^)\s]*)\)")
_PAGE = re.compile(rf"(?:^|/)({'|'.join(DAYS)})\.md$")
_NUMBER = re.compile(r"(?<![\w.,/-])(\d[\d,]*(?:\.\d+)?)(?:(?= ?(%|[MKG]iB\b|us\b|µs\b|ns\b|ms\b))|(?![\w,]))")
_RANGE = re.compile(r"(\d[\d,.]*)( (?:to|and) \d[\d,.]* ?(%|[MKG]iB\b|us\b|µs\b|ns\b|ms\b))")  # 1 to 2 MiB
_SCALES = {"us": 1e-3, "µs": 1e-3, "ms": 1e-6, "MiB": 1 / 1024}  # of what a page may tell in the next smaller unit


def _git(*words):
    argv = ["git", "-C", str(places.ROOT), *words]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def ages():
    """(name, days, days at most) of every page; None days where its commit is not known here."""
    changed = _git("log", "-1", "--format=%ct", "--", *ENGINE)
    for name, most in DAYS.items():
        page = FOLDER / f"{name}.md"
        found = re.search(r"\b[0-9a-f]{40}\b", page.read_text(encoding="utf-8")) if page.is_file() else None
        if page.is_file():
            measured = _git("show", "-s", "--format=%ct", found[0]) if found else ""
            yield name, (int(changed) - int(measured)) / 86_400 if measured and changed else None, most


def unsupported(text, pages):
    """Figures in a text, with the line that they are in, that stand in none of the pages beside them. A figure is a number
    with decimals or a unit, and a page is beside it that is linked to in the same row, item or paragraph. `pages`: text by
    name."""
    known = {name: sorted(_numbers(found)) for name, found in pages.items()}
    for block in _blocks(text):
        linked = {match[1] for link in _LINK.findall(block) if (match := _PAGE.search(link)) and match[1] in known}
        if not linked:
            continue
        words = _RANGE.sub(r"\1 \3\2", _LINK.sub("]", block))
        for match in _NUMBER.finditer(words):
            number, unit = match[1].rstrip(","), match[2] or ""
            if (unit or "." in number) and not any(_says(known[name], number, unit) for name in linked):
                yield f"{number} {unit}".strip(), " ".join(block.split())[:90]


def _blocks(text):
    """Rows of tables, items of lists, paragraphs; no code."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^(?=\||[-*] )", "\n", text, flags=re.MULTILINE)
    return [block for block in re.split(r"\n\s*\n", text) if block.strip()]


def _numbers(text):
    return {float(found.replace(",", "")) for found in re.findall(r"\d[\d,]*(?:\.\d+)?", text)}


def _says(known, number, unit):
    """Whether a page has a number that this one is rounded from."""
    digits = len(number.partition(".")[2])
    value, slack = float(number.replace(",", "")), 0.5000001 * 10**-digits
    scales = (1, _SCALES[unit]) if unit in _SCALES else (1,)
    values = (value, 100 - value) if unit == "%" else (value,)  # what is left, or gone
    return any(abs(one * scale - value) <= slack for one in known for scale in scales for value in values)


def pages():
    """dict name -> text."""
    return {name: (FOLDER / f"{name}.md").read_text(encoding="utf-8") for name in DAYS if (FOLDER / f"{name}.md").is_file()}


def quoting():
    """The files whose figures are checked."""
    every = [places.ROOT / "README.md", FOLDER / "README.md", *sorted((places.ROOT / "docs").glob("*.md"))]
    return [Path(path) for path in every if path.is_file()]
