"""How many operations a second a program did, where it tells: by a last line of JSON, or where a pattern finds it."""

import json
import math
import os
import re
from collections.abc import Iterable
from pathlib import Path

from tslab_lab.base.shapes import Figures

MOST_BYTES = 1 << 20  # of what a program wrote: its last words are looked at, however many came before


def _positive(value: object) -> float | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value > 0:
        return value
    return None


def from_json(text: str) -> Figures:
    """The last line, if it is an object with operations and seconds, as this lab's workloads print it; else {}."""
    lines = text.strip().splitlines()
    try:
        found = json.loads(lines[-1]) if lines else None
    except ValueError:
        return {}
    if not isinstance(found, dict) or not _positive(found.get("operations")) or not _positive(found.get("seconds")):
        return {}
    return {name: found[name] for name in ("operations", "seconds", "hash", "rss_kib") if name in found}


def from_pattern(pattern: re.Pattern[str], texts: Iterable[str]) -> float | None:
    """Operations a second: the last number that the pattern's first group finds in any of the texts."""
    for text in texts:
        matches = list(pattern.finditer(text))
        if matches:
            try:
                return _positive(float(matches[-1][1].replace(",", "")))
            except (ValueError, AttributeError):
                return None
    return None


def _end_of(path: Path) -> str:
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - MOST_BYTES))
        return file.read().decode(errors="replace")


def told(pattern: re.Pattern[str] | None, files: Iterable[Path]) -> Figures:
    """What one run says, as figures; all None where it says nothing. `files`: what was written, most telling first."""
    texts = [_end_of(file) for file in files if os.path.exists(file)]
    figures: Figures = {"operations": None, "seconds": None, "operations_per_second": None}
    if pattern:
        return figures | {"operations_per_second": from_pattern(pattern, texts)}
    for text in texts:
        found = from_json(text)
        if found:
            return figures | found | {"operations_per_second": found["operations"] / found["seconds"]}
    return figures
