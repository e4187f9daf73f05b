"""What the screen, the text and the JSON tell of a process."""

from typing import Any

from tslab_tools.live.processes import TERMS, Process

RATES = (
    *("allocations", "frees", "refills", "flushes", "remote_frees", "purged_bytes", "purge_calls"),
    *("epochs_opened", "epochs_closed", "epoch_bytes", "work_units"),
)


def epochs(process: Process) -> tuple[int, int, int | None]:
    """How many there are, how many do not drain, and the age of the oldest in seconds (None: there is none)."""
    labels = process.figures.labels
    count = sum(row["open"] + row["closing"] + row["draining"] for row in labels)
    draining = sum(row["draining"] for row in labels)
    return count, draining, max((row["oldest_ms"] for row in labels), default=None if not count else 0)


def oldest(process: Process) -> float | None:
    """Seconds; None: there are no epochs."""
    found = epochs(process)[2]
    return None if found is None else found / 1000


def pressure(process: Process) -> list[str]:
    """The limits that the process is near to."""
    own = process.figures.process
    return [name for name in ("soft", "container") if own[f"{name}_pressure"]]


def share(process: Process, term: str) -> float:
    """Of what the library has in memory."""
    own = process.figures.process
    whole = sum(own[name] for name in TERMS)
    return own[term] / whole if whole else 0.0


def as_json(process: Process) -> dict[str, Any]:
    figures = process.figures
    return {
        "pid": process.pid,
        "program": process.program,
        "library": figures.library,
        "rss_bytes": process.rss,
        "not_ours": process.not_ours,
        "pressure": pressure(process),
        "rates": {name: process.rate(name) for name in RATES},
        "process": figures.process,
        "accounts": figures.accounts,
        "classes": figures.classes,
        "labels": figures.labels,
        "label_limits": figures.limits,
    }
