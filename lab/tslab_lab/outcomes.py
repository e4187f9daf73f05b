"""A file of results as outcomes: for each case the runs of all allocators, round by round."""

from tslab_lab import intervals
from tslab_lab.allocators import OURS, SYSTEM

BASE = "base"  # another build of ours, to be compared with it


def of(found, cases):
    """Only rounds count that are complete for a case; who failed in it takes no part in it."""
    failed = {(failure["case"], failure["allocator"]) for failure in found.failures}
    base = BASE if BASE in found.header["allocators"] else None
    result = []
    for case in cases:
        name = case.name
        runs = {}
        for allocator in found.header["allocators"]:
            if (name, allocator) not in failed:
                runs[allocator] = {run["round"]: run for run in found.runs_of(name, allocator)}
        common = set.intersection(*(set(by_round) for by_round in runs.values())) if runs else set()
        if not common:
            continue
        outcome = intervals.Outcome(case, OURS, base, SYSTEM)
        outcome.instructions = {
            record["allocator"]: record["value"] for record in found.instructions if record["case"] == name
        }
        for allocator, by_round in runs.items():
            for number in sorted(common):
                outcome.add(allocator, by_round[number])
        result.append(outcome)
    return result


def failures(found):
    """Sentences on who failed in what."""
    for failure in found.failures:
        yield f"{failure['allocator']} takes no part in {failure['case']}: {failure['why'].splitlines()[0]}"
