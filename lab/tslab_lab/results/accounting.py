"""What the library's own statistics say of where its memory is."""

import json
from collections.abc import Mapping
from typing import Any

from tslab_lab.base.shapes import Record, SizeClass

SCHEMA = "tslab-statistics"
CLASSES_KEPT = 8
TRAFFIC = ("allocations", "frees", "refills", "flushes", "remote_frees")


def waste(entry: SizeClass) -> int:
    """The bytes of a size class that have pages and that nobody has."""
    return max(entry["free_bytes"] + entry["tail_bytes"] - entry["untouched_bytes"], 0)


def found_in(text: str) -> Record | None:
    """The accounts, the classes that waste most and the traffic, from a program's words. None: they are not in there, or an
    older library said them."""
    for line in reversed(text.splitlines()):
        if SCHEMA in line:
            try:
                report = json.loads(line)
            except ValueError:
                continue
            if "accounts" in report:
                most = sorted(report["classes"], key=waste, reverse=True)[:CLASSES_KEPT]
                traffic = {name: report["totals"][name] for name in TRAFFIC if name in report.get("totals", {})}
                classes = [entry for entry in most if waste(entry) > 0]
                return {"accounts": report["accounts"], "classes": classes, "traffic": traffic}
    return None


def parts(accounts: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """By name the bytes with pages, and all bytes; the largest first, without empty ones."""
    told = {name: entry for name, entry in accounts.items() if isinstance(entry, dict) and entry["bytes"] > 0}
    sizes = {name: (entry["bytes"] - entry["untouched_bytes"], entry["bytes"]) for name, entry in told.items()}
    return dict(sorted(sizes.items(), key=lambda item: item[1], reverse=True))


def add_up(accounts: Mapping[str, Any]) -> bool:
    """Whether each committed byte is in one account."""
    return sum(size for _, size in parts(accounts).values()) == accounts["committed_bytes"]
