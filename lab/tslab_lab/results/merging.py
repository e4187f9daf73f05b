"""Results of pieces as one: a campaign measures a page in several commands, each with cases of its own. Pure functions."""

from tslab_lab.results import storage

SAME = ("cpu", "cpus", "memory_kib", "kernel", "libc", "compiler", "thp")  # of the machine


def merged(parts):
    """Results of parts that have no case in common, in this order."""
    first = parts[0].header
    machines = [part.header["machine"] for part in parts]
    marks = list(dict.fromkeys(mark for part in parts for mark in part.header.get("marks") or ()))
    header = first | {
        "machine": machines[0] | {"commit": _commits(machines)},
        "marks": [*marks, *_differences(machines)],
    }
    for what in ("allocators", "cases"):
        header[what] = {name: facts for part in parts for name, facts in part.header[what].items()}
    lists = ("runs", "series", "latency", "failures", "instructions", "accounts")
    joined = {name: [record for part in parts for record in getattr(part, name)] for name in lists}
    return storage.Results(parts[0].path, header, **joined, footer=_footer([part.footer for part in parts]))


def _commits(machines):
    return " and ".join(dict.fromkeys(str(machine["commit"]) for machine in machines))


def _differences(machines):
    """What was not the same in all parts, in a sentence each."""
    for key in SAME:
        values = list(dict.fromkeys(str(machine.get(key)) for machine in machines))
        if len(values) > 1:
            yield f"The cases were measured in pieces, and {key} was not the same in all: {', '.join(values)}."


def _footer(footers):
    seconds = sum(footer["seconds"] for footer in footers)
    shares = [(footer["others_share"], footer["seconds"]) for footer in footers if "others_share" in footer]
    found = {
        "rounds": min(footer["rounds"] for footer in footers),
        "complete": all(footer["complete"] for footer in footers),
    }
    found |= {"load_at_end": footers[-1]["load_at_end"], "seconds": seconds}
    weight = sum(took for _, took in shares)
    return found | ({"others_share": sum(share * took for share, took in shares) / weight} if weight else {})
