"""The tables of a report that a program has written as JSON: TSLAB_STATS=2, tslab_stats_json (docs/statistics.md)."""

import contextlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

from tslab_tools import files
from tslab_tools.failure import Failure
from tslab_tools.terminal import Table, plain_text

Report = dict[str, Any]
START = '{"schema":"tslab-statistics"'
BYTES_MOST = 1 << 26  # of a file, its end: a report has some 60 KiB
CLASSES_MOST = 12
# Of a size class: what its objects did, and who keeps its pages.
TRAFFIC = (
    *("size", "allocations", "live", "misses", "from_exchange", "refills", "slabs_attached", "slabs_new"),
    *("exchanged", "flushes", "remote_frees", "slabs_recycled"),
)
PAGES = (
    *("size", "waste", "live", "cached_bytes", "slabs_net", "slabs_full", "slabs_partial", "slabs_empty"),
    *("pages", "pages_free", "pages_kept_1", "pages_kept_2", "pages_kept_4"),
)
LABEL = (
    *("label", "epochs", "open", "closing", "draining", "oldest_ms", "live_objects", "live_bytes", "memory_bytes"),
    *("peak_bytes", "resident_bytes", "refused"),
)
LIMIT = ("label", "limit_bytes", "used_bytes", "peak_used_bytes", "refusals")
WRONG = (LookupError, TypeError, ValueError, AttributeError)  # what a report raises that has other things in its places
WANTED = (
    "Name a file that a program has written with TSLAB_STATS=2,FILE, "
    "or the number of a process that runs with TSLAB_EXPORT=1."
)


def _parsed(line: str) -> Report:
    report: Report = json.loads(
        line, parse_int=files.number, parse_float=files.no_number, parse_constant=files.no_number
    )
    return report


def last_two_in(path: str) -> list[Report]:
    """The newest reports of a file, the newest first: there may be several, and lines of the program's own. One that
    was cut off is left out, as when its process was killed."""
    try:
        text = files.text_tail(path, BYTES_MOST)
    except FileNotFoundError as problem:
        raise Failure(f"There is no file {path}. {WANTED}") from problem
    except OSError as problem:
        raise Failure(f"{path}: {problem.strerror}") from problem
    found: list[Report] = []
    end = len(text)
    while end > 0 and len(found) < 2:
        start = text.rfind(f"\n{START}", 0, end) + 1
        with contextlib.suppress(ValueError, RecursionError):
            if text.startswith(START, start):
                found.append(_parsed(text[start:end].partition("\n")[0]))
        end = start
    if not found:
        raise Failure(f"{path} has no whole report of statistics as JSON. {WANTED}")
    return found


def last_in(path: str) -> Report:
    """The newest of them."""
    return last_two_in(path)[0]


def shown(path: str) -> tuple[str, list[Table]]:
    """The newest report of a file, which anybody may have written, for the terminal."""
    report = last_in(path)
    try:
        return title(report), tables(report)
    except WRONG as problem:
        raise Failure(f"{path}: the report lacks what reports have: {problem}") from problem


def title(report: Report) -> str:
    head = f"{report['program']}, process {report['pid']}, tslab {report['library']}"
    head += f", up {report['uptime_ms'] / 1000:.1f} s"
    return plain_text(f"{head}, RSS {report['rss_bytes']:,} bytes, at most {report['peak_rss_bytes']:,}")


def _table(name: str, heads: Sequence[str], rows: Sequence[dict[str, Any]]) -> list[Table]:
    """Columns that no row has are left out: the report may be of another version of the library."""
    known = [head for head in heads if all(head in row for row in rows)]
    texts = [[f"{row[head]:,}" if isinstance(row[head], int) else str(row[head]) for head in known] for row in rows]
    return [Table(name, known, texts)] if rows else []


def _pairs(name: str, heads: Sequence[str], pairs: Iterable[Sequence[Any]]) -> list[Table]:
    return _table(name, heads, [dict(zip(heads, pair)) for pair in pairs])


def waste(row: dict[str, int]) -> int:
    """Bytes that have pages, and that nobody has."""
    return max(0, row["free_bytes"] + row["tail_bytes"] - row["untouched_bytes"])


def tables(report: Report) -> list[Table]:
    accounts = [
        (name, of["bytes"], of["untouched_bytes"]) for name, of in report["accounts"].items() if isinstance(of, dict)
    ]
    accounts = [row for row in accounts if row[1]]
    accounts.append(("committed", report["accounts"]["committed_bytes"], report["accounts"]["untouched_bytes"]))
    classes = [row | {"waste": waste(row)} for row in report["classes"]]
    worst = sorted((row for row in classes if row["waste"]), key=lambda row: -row["waste"])[:CLASSES_MOST]
    labels = [row | {"label": _label(row)} for row in report["labels"]]
    threads = [row | {"thread": f"{row['thread']} {row['name']}"} for row in report["threads"]]
    return [
        *_pairs("totals", ("figure", "value"), report["totals"].items()),
        *_pairs("options", ("option", "value"), report.get("options", {}).items()),
        *_pairs("accounts of memory", ("account", "bytes", "untouched"), accounts),
        *_table("size classes", TRAFFIC, classes),
        *_table("size classes that waste most", PAGES, worst),
        *_table("threads", ("thread", "allocations", "frees", "misses", "refills", "flushes", "cached_bytes"), threads),
        *_table("epochs by label", LABEL, labels),
        *_table("limits by label", LIMIT, report["label_limits"]),
    ]


def _label(row: dict[str, Any]) -> str:
    return f"({row['labels']} more labels)" if row["labels"] > 1 else row["label"] or "(no label)"
