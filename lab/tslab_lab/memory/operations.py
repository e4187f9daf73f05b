"""How many operations a second a program did, where it tells: by a last line of JSON, or where a pattern finds it."""

import contextlib
import json
import re
from collections.abc import Iterable
from pathlib import Path

from tslab_lab.base.shapes import Figures

MOST_BYTES = 1 << 20  # of what a program wrote: its last words are looked at, however many came before


def from_json(text: str) -> Figures:
    """The last line, if it is an object with operations and seconds, as this lab's workloads print it; else {}."""
    with contextlib.suppress(ValueError, IndexError, TypeError, AttributeError):
        found = json.loads(text.strip().splitlines()[-1])
        if found.get("operations") > 0 and found.get("seconds") > 0:
            return {name: found[name] for name in ("operations", "seconds", "hash", "rss_kib") if name in found}
    return {}


def from_pattern(pattern: re.Pattern[str], texts: Iterable[str]) -> float | None:
    """Operations a second: the last number that the pattern's first group finds in any of the texts."""
    for text in texts:
        for match in reversed(list(pattern.finditer(text))):
            with contextlib.suppress(ValueError, AttributeError):
                return float(match[1].replace(",", "")) or None
    return None


def told(pattern: re.Pattern[str] | None, files: Iterable[Path]) -> Figures:
    """What one run says, as figures; all None where it says nothing. `files`: what was written, most telling first."""
    texts = [file.read_bytes()[-MOST_BYTES:].decode(errors="replace") for file in files if file.exists()]
    figures: Figures = {"operations": None, "seconds": None, "operations_per_second": None}
    if pattern:
        return figures | {"operations_per_second": from_pattern(pattern, texts)}
    found = next(filter(None, map(from_json, texts)), None)
    return figures | found | {"operations_per_second": found["operations"] / found["seconds"]} if found else figures
