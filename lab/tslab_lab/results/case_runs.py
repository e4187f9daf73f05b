"""The runs of one case on all allocators, round by round, and whether they meet the limits that the case is held to."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from statistics import median

from tslab_lab.allocators import sides
from tslab_lab.allocators.catalogue import OURS, SYSTEM
from tslab_lab.allocators.sides import BASE
from tslab_lab.base.shapes import Run
from tslab_lab.display.layout import interval_text
from tslab_lab.estimates import intervals
from tslab_lab.estimates.medians import Spread
from tslab_lab.real.programs import AnyCase
from tslab_lab.results import measures, standings
from tslab_lab.results.storage import Results
from tslab_lab.workloads import held


def meets_step(found: Spread, growth: float = 1.0) -> bool | None:
    """Whether a step in time to a size so many times larger is none: anything from level to in proportion to the size, and
    half as much again in either direction. None: there is no interval."""
    if found.low is None:
        return None
    low, high = found.ends
    return low <= held.STEP_LIMIT * growth and high >= 1 / held.STEP_LIMIT


def growth(outcome: "CaseRuns", before: "CaseRuns") -> float:
    """How many times larger the sizes are."""
    return outcome.case.largest / before.case.largest


def meets_glibc(ours_kib: Sequence[float], glibc_kib: Sequence[float]) -> bool | None:
    slack = median(ours_kib) - median(glibc_kib) <= held.GLIBC_SLACK_KIB
    return slack or intervals.meets(intervals.ratio(ours_kib, glibc_kib), held.GLIBC_LIMIT)


class CaseRuns:
    """For each allocator a list, of which the i-th belongs to round i."""

    def __init__(self, case: AnyCase, ours: str, base: str | None, system: str) -> None:
        self.case, self.ours, self.base, self.system = case, ours, base, system
        self.runs: dict[str, list[Run]] = {}
        self.instructions: dict[str, float] = {}  # by allocator, of one operation

    def add(self, allocator: str, run: Run) -> None:
        self.runs.setdefault(allocator, []).append(run)

    def column(self, allocator: str, figure: measures.Figure) -> list[float]:
        """Of a figure that all of its runs have."""
        return [measures.told(run, figure) for run in self.runs[allocator]]

    def median(self, allocator: str, figure: measures.Figure) -> float:
        return median(self.column(allocator, figure))

    @property
    def peers(self) -> list[str]:
        return [name for name in self.runs if not sides.is_ours(name)]

    def best(self, figure: measures.Figure, but: Collection[str] = ()) -> str | None:
        """The peer with the least of it, if there is any."""
        columns = {name: self.column(name, figure) for name in self.peers if name not in but}
        return intervals.best(columns) if columns else None

    def against(self, other: str | None, figure: measures.Figure) -> Spread | None:
        """The interval of ours / other's, if both ran."""
        if other is None or self.ours not in self.runs or other not in self.runs:
            return None
        return intervals.ratio(self.column(self.ours, figure), self.column(other, figure))

    def time(self) -> Spread | None:
        return self.against(self.best(measures.time_ns), measures.time_ns)

    def leanest(self) -> str | None:
        return self.best(measures.peak_kib, but=(self.system,))

    def time_met(self) -> bool | None:
        found = self.time()
        return None if found is None or self.case.limit is None else intervals.meets(found, self.case.limit)

    def memory_met(self) -> bool | None:
        """None: the case is not held to it, or one of the two peers is missing."""
        leanest = self.against(self.leanest(), measures.peak_kib) if self.case.held else None
        if leanest is None or self.system not in self.runs:
            return None
        lean = intervals.meets(leanest, held.LEANEST_LIMIT)
        if lean is None:
            return None
        return lean and meets_glibc(
            self.column(self.ours, measures.peak_kib), self.column(self.system, measures.peak_kib)
        )

    def live_met(self) -> bool | None:
        if self.case.live_limit is None or self.ours not in self.runs:
            return None
        return intervals.meets(intervals.interval(self.column(self.ours, measures.over_live)), self.case.live_limit)


def step(outcome: CaseRuns, before: CaseRuns, allocator: str) -> Spread:
    """How the time per operation changes from one largest size to the next."""
    return intervals.ratio(outcome.column(allocator, measures.time_ns), before.column(allocator, measures.time_ns))


def stepping(listed: Sequence[CaseRuns]) -> Iterator[tuple[str, list[CaseRuns]]]:
    """Pairs of a group whose cases are sizes, and those that ran."""
    for group in held.STEPPING:
        chosen = [outcome for outcome in listed if outcome.case.group == group]
        if chosen:
            yield group, chosen


def cliffs(listed: Sequence[CaseRuns]) -> Iterator[str]:
    """Steps of ours in time, either way, and in memory beyond what the larger objects weigh."""
    for _, chosen in stepping(listed):
        for before, outcome in zip(chosen, chosen[1:]):
            if OURS not in outcome.runs or OURS not in before.runs:
                continue
            found = step(outcome, before, OURS)
            where = f"{outcome.case.name}, from {before.case.largest:,} bytes"
            if meets_step(found, growth(outcome, before)) is False:
                yield f"{where}: time {interval_text(found)}"
            grown = outcome.median(OURS, measures.over_live) / before.median(OURS, measures.over_live)
            if grown > held.STEP_LIMIT:
                yield f"{where}: memory for each live byte {grown:.2f}"


def of(found: Results, cases: Iterable[AnyCase]) -> list[CaseRuns]:
    """From a file of results. Only rounds count that are complete for a case; who failed in it takes no part in it."""
    grid, failed = standings.grid(found.runs, found.failures), standings.failed(found.failures)
    base = BASE if BASE in found.header["allocators"] else None
    result = []
    for case in cases:
        there = [name for name in found.header["allocators"] if (case.name, name) not in failed]
        runs = {name: grid.get(case.name, {}).get(name, {}) for name in there}
        common = set.intersection(*(set(by_round) for by_round in runs.values())) if runs else set[int]()
        if not common:
            continue
        one = CaseRuns(case, OURS, base, SYSTEM)
        one.instructions = {
            record["allocator"]: record["value"] for record in found.instructions if record["case"] == case.name
        }
        for name, by_round in runs.items():
            for number in sorted(common):
                one.add(name, by_round[number])
        result.append(one)
    return result


def failures(found: Results) -> Iterator[str]:
    """Sentences on who failed in what, with the last of its last words."""
    for failure in found.failures:
        first, *words = failure["why"].splitlines()
        last = f" ({words[-1].strip(' |')})" if words else ""
        first = first.removesuffix(" Its last words:")
        yield f"{failure['allocator']} takes no part in {failure['case']}: {first}{last}"
