"""What a reader must know before the figures of a file of results: sentences. Pure functions."""

from collections.abc import Iterator, Sequence

from tslab_lab.base.shapes import Run
from tslab_lab.display.layout import counted
from tslab_lab.estimates import intervals
from tslab_lab.results import standings
from tslab_lab.results.storage import Results

BUSY_SHARE = 0.1  # of all processors' time, used by others

LITTERED = "Each process began on a heap littered before: many objects made, and 19 of 20 freed in random order."


def of(found: Results, shown: bool = True) -> Iterator[str]:
    """What was marked before the measurement, and what the file shows. `shown`: intervals are."""
    yield from found.header.get("marks") or ()
    grid = standings.grid(found.runs, found.failures)
    least, most = standings.rounds_of(grid)
    if found.footer is None:
        yield "The file has no end: the measurement was killed, or is not over. Here is what there is until now."
    elif not found.footer.get("complete", True):
        rounds = counted(found.footer.get("rounds", 0), "complete round")
        yield f"The measurement ended early, after {rounds}."
    if most == 1:
        yield "There is a single round: no interval, and no verdict. Another round may give another order."
    elif shown and 0 < least < intervals.FEW_ROUNDS:
        yield f"There are only {least} rounds: the intervals are narrower than the truth."
    yield from _busy(found.runs, (found.footer or {}).get("others_share", 0))
    for case, allocators in grid.items():
        if standings.hashes_differ(allocators):
            yield f"{case}: the runs did not all do the same work (their hashes differ). Do not compare them."


def disturbed(run: Run) -> bool:
    return (run.get("others_share") or 0) > BUSY_SHARE


def _busy(runs: Sequence[Run], mean: float) -> Iterator[str]:
    """`mean`: of the whole measurement; a short run alone may not tell."""
    count = sum(map(disturbed, runs))
    if count or mean > BUSY_SHARE:
        yield (
            f"The machine was busy: others used {mean:.0%} of its processors on average, and more than {BUSY_SHARE:.0%} "
            f"in {count} of {counted(len(runs), 'run')}. Times say little; memory is not affected."
        )
