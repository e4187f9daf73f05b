"""Results of pieces as one: a campaign measures a page in several commands, each with cases of its own. Pure functions."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tslab_lab.base.shapes import Record
from tslab_lab.results import storage

SAME = ("cpu", "cpus", "memory_kib", "kernel", "libc", "compiler", "thp")  # of the machine


def merged(parts: Sequence[storage.Results]) -> storage.Results:
    """Results of parts that have no case in common, in this order."""
    first = parts[0].header
    machines = [part.header["machine"] for part in parts]
    marks = list(dict.fromkeys(mark for part in parts for mark in part.header.get("marks") or ()))
    header = first.copy()
    header["machine"] = machines[0] | {"commit": _commits(machines)}
    header["marks"] = [*marks, *_differences(machines)]
    header["allocators"] = {name: facts for part in parts for name, facts in part.header["allocators"].items()}
    header["cases"] = {name: facts for part in parts for name, facts in part.header["cases"].items()}
    lists = ("runs", "series", "latency", "failures")
    joined: dict[str, list[Any]] = {
        name: [record for part in parts for record in getattr(part, name)] for name in lists
    }
    return storage.Results(
        parts[0].path, header, **joined, footer=_footer([part.footer for part in parts if part.footer])
    )


def _commits(machines: Iterable[Record]) -> str:
    return " and ".join(dict.fromkeys(str(machine["commit"]) for machine in machines))


def _differences(machines: Iterable[Record]) -> Iterator[str]:
    """What was not the same in all parts, in a sentence each."""
    for key in SAME:
        values = list(dict.fromkeys(str(machine.get(key)) for machine in machines))
        if len(values) > 1:
            yield f"The cases were measured in pieces, and {key} was not the same in all: {', '.join(values)}."


def _footer(footers: Sequence[Record]) -> Record:
    seconds = sum(footer["seconds"] for footer in footers)
    shares = [(footer["others_share"], footer["seconds"]) for footer in footers if "others_share" in footer]
    found: Record = {
        "rounds": min(footer["rounds"] for footer in footers),
        "complete": all(footer["complete"] for footer in footers),
        "load_at_end": footers[-1]["load_at_end"],
        "seconds": seconds,
    }
    weight = sum(took for _, took in shares)
    if weight:
        found["others_share"] = sum(share * took for share, took in shares) / weight
    return found
