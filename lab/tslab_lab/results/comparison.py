"""What the results of `lab ab` say of B against A: its rows, judged together, and one verdict. Pure functions."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from tslab_lab.allocators.sides import AGAIN, A, B
from tslab_lab.estimates import randomisation
from tslab_lab.results import measures, standings
from tslab_lab.results.storage import Results

FIGURES: dict[str, measures.Figure] = {
    "time": measures.time_ns,
    "peak RSS": measures.peak_kib,
    "RSS after": measures.after_kib,
}


@dataclass(frozen=True)
class Comparison:
    """`failed`: the workloads that B alone could not run."""

    judged: list[randomisation.Judged]
    failed: list[str]

    @property
    def verdict(self) -> str:
        return randomisation.overall(self.judged, self.failed)

    @property
    def rounds(self) -> int:
        return max((len(one.row.a) for one in self.judged), default=0)

    @property
    def workloads(self) -> int:
        return len({one.row.case for one in self.judged} | set(self.failed))

    def all_of(self, verdict: str) -> list[randomisation.Judged]:
        return [one for one in self.judged if one.verdict == verdict]

    @property
    def deciding(self) -> list[randomisation.Judged]:
        """The rows that the verdict rests on."""
        return self.all_of(randomisation.WORSE) + self.all_of(randomisation.BETTER)

    def shown_from(self) -> Iterator[tuple[str, float, randomisation.Judged]]:
        """(figure, the usual least factor that would have been told, the row with the greatest), as far as there are any."""
        for figure in FIGURES:
            found = [one for one in self.judged if one.row.figure == figure and one.shown_from is not None]
            if found:
                factors = [one.shown_from for one in found if one.shown_from is not None]
                yield figure, median(factors), found[factors.index(max(factors))]


def of(found: Results, least_effect: float) -> Comparison:
    """`least_effect`: a share, as 0.01."""
    return Comparison(randomisation.decide(rows_of(found), least_effect), b_fails_alone(found))


def rows_of(found: Results) -> list[randomisation.Row]:
    """A row for each figure of each workload that all three could run, from the rounds that all three have."""
    grid = standings.grid(found.runs, found.failures)
    rows = []
    for name, figure in FIGURES.items():
        columns = standings.columns(grid, figure)
        for case in found.header["cases"]:
            three = [found_column for side in (A, B, AGAIN) if (found_column := columns.get(case, {}).get(side))]
            both = standings.rounds_together(*three) if len(three) == 3 else []
            if both:
                rows.append(randomisation.Row(case, name, *(tuple(side[i] for i in both) for side in three)))
    return rows


def b_fails_alone(found: Results) -> list[str]:
    """The workloads that B cannot run, and A can."""
    failed = {(failure["case"], failure["allocator"]) for failure in found.failures}
    return [case for case in found.header["cases"] if {name for of, name in failed if of == case} == {B}]
