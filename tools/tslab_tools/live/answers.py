"""What a process answers (docs/export.md): from JSON to figures, or why they are none. The bytes may be a stranger's:
all that is taken from them is whole numbers of 64 bits and short texts, and the work is linear in the bytes."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tslab_tools.failure import Failure
from tslab_tools.live.figures import PROCESS_FIGURES, TOTAL_FIGURES

BYTES_MOST = 1 << 17  # of figures; those of the library have at most 70 KiB
SCHEMA, VERSION = "tslab-statistics", 2
_TEXT_MOST, _ROWS_MOST = 512, 128
_CLASS = frozenset(["size", "live", "allocations", "frees", "misses", "cached_bytes", "slab_bytes"])
_LABEL = frozenset(["labels", "open", "closing", "draining", "oldest_ms", "live_objects", "live_bytes", "memory_bytes"])
_LIMIT = frozenset(["limit_bytes", "used_bytes", "refusals"])
_PROCESS = frozenset(row[0] for row in PROCESS_FIGURES)
_TOTALS = frozenset(row[0] for row in TOTAL_FIGURES)
# What the tools cannot do without. A library of another version may lack the others.
_REQUIRED = frozenset(["uptime_ms", "rss_bytes", "peak_rss_bytes", "live", "waste", "caches", "retained", "metadata"])
_REQUIRED |= frozenset(["hard_limit_bytes", "soft_limit_bytes", "soft_pressure", "container_pressure", "keeper_looks"])
_REQUIRED |= frozenset(["allocations", "frees", "refills", "flushes", "remote_frees", "threads", "purge_calls"])
_REQUIRED |= frozenset(
    ["purged_bytes", "purge_mistakes", "epochs_opened", "epochs_closed", "epoch_bytes", "work_units"]
)
Row = dict[str, Any]  # numbers by name, and under `label` a text


class Unreadable(Failure):
    """These bytes are no answer that we can read."""


@dataclass(frozen=True)
class Figures:
    """`labels` and `limits` have their text as `label`."""

    taken: float  # seconds of the monotonic clock
    library: str
    process: Row
    accounts: Row  # of each account its bytes, and under NAME_untouched those without pages
    classes: list[Row]
    labels: list[Row]
    limits: list[Row]  # of labels
    options: dict[str, str]


def _is_number(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 64


def _numbers(found: Any, required: Iterable[str] = ()) -> Row:
    if not isinstance(found, dict):
        raise Unreadable("its figures have another form")
    result = {name: value for name, value in found.items() if _is_number(value) and len(name) <= _TEXT_MOST}
    if missing := sorted(set(required) - result.keys()):
        raise Unreadable(f"its figures lack {missing[0]}")
    return result


def _text(found: Any) -> str:
    return found[:_TEXT_MOST].encode(errors="replace").decode() if isinstance(found, str) else ""


def _rows(found: Any, required: Iterable[str], labelled: bool) -> list[Row]:
    if not isinstance(found, list) or len(found) > _ROWS_MOST:
        raise Unreadable("its figures have another form")
    return [_numbers(row, required) | ({"label": _text(row.get("label"))} if labelled else {}) for row in found]


def _accounts(found: Any) -> Row:
    if not isinstance(found, dict) or len(found) > _ROWS_MOST:
        raise Unreadable("its figures have another form")
    flat: Row = {}
    for name, of in found.items():
        if isinstance(of, dict) and _is_number(of.get("bytes")) and _is_number(of.get("untouched_bytes")):
            flat |= {_text(name): of["bytes"], f"{_text(name)}_untouched": of["untouched_bytes"]}
    return flat


def parse(raw: bytes, taken: float) -> Figures:
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError) as problem:
        raise Unreadable("its figures are no JSON") from problem
    if not isinstance(found, dict) or found.get("schema") != SCHEMA or not _is_number(found.get("version")):
        raise Unreadable("its figures have another form")
    if found["version"] > VERSION:
        raise Unreadable(f"its figures have version {found['version']}: update tslab-tools")
    process = _numbers({name: found.get(name) for name in _PROCESS})
    process |= _numbers({name: value for name, value in _numbers(found.get("totals")).items() if name in _TOTALS})
    options = found.get("options")
    if not isinstance(options, dict) or len(options) > _ROWS_MOST:
        raise Unreadable("its figures have another form")
    return Figures(
        taken,
        _text(found.get("library")),
        _numbers(process, _REQUIRED),
        _accounts(found.get("accounts")),
        _rows(found.get("classes"), _CLASS, labelled=False),
        _rows(found.get("labels"), _LABEL, labelled=True),
        _rows(found.get("label_limits"), _LIMIT, labelled=True),
        {_text(name): _text(value) for name, value in options.items()},
    )
