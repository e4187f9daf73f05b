"""What may be said from a file of results: who wins where, by how much, and how sure that is. Pure functions. Ratios are
taken round by round: two runs of one round had the same machine under them."""

import functools
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from statistics import median
from typing import NamedTuple

from tslab_lab.base.shapes import Record, Run
from tslab_lab.estimates import intervals, medians
from tslab_lab.results import measures
from tslab_lab.results.storage import Results

Rounds = dict[int, Run]  # the runs of one case on one allocator, by round
Grid = dict[str, dict[str, Rounds]]  # by case and allocator
Column = dict[int, float]  # one figure of one case and one allocator, by round
ByAllocator = dict[str, Column]
Cases = dict[str, ByAllocator]
Facts = dict[str, dict[str, float | str]]  # by fact and allocator

WINS, LEVEL, LOSES = "wins", "level", "loses"
HEAD = ("kind", "case", "allocator", "round", "at_seconds", "others_share")
SAMPLING = ("samples", "sampled_every_ms", "pss_every_ms", "looked_every_ms", "sampler_share", "exit_code", "stopped")
MEASURED = ("operations", "seconds", "hash", "peak_kib", "base_kib", "live_kib", "rss_kib", "pss_kib", "private_kib")
BESIDE = ("huge_kib", "system_seconds", "faults")


class Overall(NamedTuple):
    """Over so many cases and rounds."""

    mean: medians.Spread
    cases: int
    rounds: int


def failed(failures: Iterable[Record]) -> set[tuple[str, str]]:
    """Pairs of a case and an allocator that failed in it."""
    return {(failure["case"], failure["allocator"]) for failure in failures}


def grid(runs: Iterable[Run], failures: Iterable[Record] = ()) -> Grid:
    """Whoever failed in a case takes no part in it, not with its earlier runs either."""
    out = failed(failures)
    found: Grid = {}
    for run in runs:
        case, allocator, number = run.get("case"), run.get("allocator"), run.get("round")
        if case is not None and allocator is not None and number is not None and (case, allocator) not in out:
            found.setdefault(case, {}).setdefault(allocator, {})[number] = run
    return found


def ordered(found: Results) -> Grid:
    """The grid of a file of results, cases and allocators in the order of its header."""
    known = grid(found.runs, found.failures)
    cases, names = found.header.get("cases") or {}, list(found.header.get("allocators") or {})
    order = [case for case in cases if case in known] + [case for case in known if case not in cases]
    every = {
        case: [*(n for n in names if n in known[case]), *(n for n in known[case] if n not in names)] for case in order
    }
    return {case: {name: known[case][name] for name in every[case]} for case in order}


def column(runs: Rounds, figure: measures.Figure) -> Column:
    found = {number: figure(run) for number, run in sorted(runs.items())}
    return {number: value for number, value in found.items() if value is not None}


def columns(grid_of_runs: Grid, figure: measures.Figure) -> Cases:
    """Without the empty ones."""
    found: Cases = {}
    for case, allocators in grid_of_runs.items():
        filled = {name: column(runs, figure) for name, runs in allocators.items()}
        filled = {name: values for name, values in filled.items() if values}
        if filled:
            found[case] = filled
    return found


@functools.cache
def _interval(values: tuple[float, ...]) -> medians.Spread:
    """Of a tuple. The same ones are asked for by tables and figures, and drawing them anew takes long."""
    return intervals.interval(values)


def spread(values: Column) -> medians.Spread:
    """The median of a column, with its interval."""
    return _interval(tuple(values.values()))


def rounds_together(*every: Iterable[int]) -> list[int]:
    return sorted(set.intersection(*(set(values) for values in every)))


def ratio(ours: Column, theirs: Column) -> medians.Spread | None:
    """None where they have no round in common."""
    both = rounds_together(ours, theirs)
    return _interval(tuple(medians.ratios([ours[i] for i in both], [theirs[i] for i in both]))) if both else None


def ratios(cases: Cases, baseline: str) -> dict[str, dict[str, medians.Spread]]:
    """By case, the others' to the baseline; without cases that have none."""
    every = {
        case: {name: found for name in of if name != baseline and (found := ratio(of[name], of[baseline]))}
        for case, of in cases.items()
        if baseline in of
    }
    return {case: found for case, found in every.items() if found}


def middle(values: Column) -> float:
    return median(values.values())


def best(named_columns: ByAllocator) -> str | None:
    """The name with the least median; None when there is none."""
    return min(named_columns, key=lambda name: middle(named_columns[name]), default=None)


def verdict(found: medians.Spread, rounds: int) -> str | None:
    """Of ours / theirs, less being better. None: so few rounds can all be on one side by chance."""
    if medians.rounds_to_show(rounds) is None:
        return None
    low, high = found.ends
    return WINS if high < 1 else LOSES if low > 1 else LEVEL


def geometric_mean(values: Collection[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def overall(cases: Cases, name: str, baseline: str) -> Overall | None:
    """The geometric mean of name / baseline over all cases that both have. Its interval comes from the rounds that have them
    all. None where they share no case."""
    pairs = [(found[name], found[baseline]) for found in cases.values() if name in found and baseline in found]
    pairs = [(ours, theirs) for ours, theirs in pairs if rounds_together(ours, theirs)]
    if not pairs:
        return None
    every = rounds_together(*(values for pair in pairs for values in pair))
    if every:
        means = tuple(geometric_mean([ours[i] / theirs[i] for ours, theirs in pairs]) for i in every)
        return Overall(_interval(means), len(pairs), len(every))
    value = geometric_mean([found.middle for ours, theirs in pairs if (found := ratio(ours, theirs))])
    return Overall(medians.Spread(value, None, None), len(pairs), 1)


def leaders(cases: Cases) -> dict[str, int]:
    """By allocator in how many cases it has the least median. Cases with one allocator have no leader."""
    first = (best(allocators) for allocators in cases.values() if len(allocators) > 1)
    return Counter(name for name in first if name)


def rounds_of(grid_of_runs: Grid) -> tuple[int, int]:
    """The least and the greatest number of rounds that an allocator has in a case."""
    counts = [len(runs) for allocators in grid_of_runs.values() for runs in allocators.values()]
    return min(counts, default=0), max(counts, default=0)


def hashes_differ(allocators: Mapping[str, Rounds]) -> bool:
    """Whether the runs of one case did not all do the same work."""
    return len({run["hash"] for runs in allocators.values() for run in runs.values() if run.get("hash")}) > 1


def facts(allocators: Mapping[str, Rounds]) -> Facts:
    """What the runs of one case say beside the figures: the median, or the words."""
    found: Facts = {}
    for name, runs in allocators.items():
        every = list(runs.values())
        for key in (key for key in every[0] if key not in HEAD + MEASURED + BESIDE + SAMPLING):
            values = [run.get(key) for run in every]
            numbers = [number for value in values if (number := measures.number(value)) is not None]
            words = [value for value in values if isinstance(value, str)]
            if len(numbers) == len(values):
                found.setdefault(key, {})[name] = median(numbers)
            elif len(words) == len(values):
                found.setdefault(key, {})[name] = ", ".join(sorted(set(words)))
    live = {
        name: column(runs, lambda run: measures.number(run.get("live_kib")) or None)
        for name, runs in allocators.items()
    }
    if any(live.values()):
        found["live_kib"] = {name: middle(values) for name, values in live.items() if values}
    return found
