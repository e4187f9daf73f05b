"""Runs cases on allocators in rounds: every round runs all cases in a new random order, and each on all allocators one
after another, in random order, too: so what the machine does meanwhile falls on all alike."""

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from tslab_lab.base import processes
from tslab_lab.base.shapes import Figures
from tslab_lab.display.progress import Bar
from tslab_lab.measure import honesty
from tslab_lab.results import marks
from tslab_lab.results.storage import Writer

Plan = Mapping[str, Sequence[str]]  # by name of a case, the names of the allocators that run it
Measure = Callable[
    [str, str], Figures
]  # a run of a case on an allocator, by name; with lists of `latency` and a `series` where it has them


class Interrupted(Exception):
    """The user has had enough; what was measured until then is in the file."""


def numbers(rounds: int, seconds: float) -> Iterator[int]:
    """The numbers of the rounds, from 1 on. No round is begun that would end after `seconds`."""
    start = time.monotonic()
    for number in range(1, rounds + 1):
        yield number
        spent = time.monotonic() - start
        if spent + spent / number > seconds:
            return


def run(
    plan: Plan, rounds: int, seconds: float, measure: Measure, writer: Writer, bar: Bar, strict: bool = False
) -> int:
    """No round is started that would end after `seconds`. An allocator that fails in a case takes no further part in it.
    `strict`: what others disturb is run again."""
    failed: set[tuple[str, str]] = set()
    hashes: dict[str, str | None] = {}
    complete, others = 0, honesty.Others()
    try:
        for number in numbers(rounds, seconds):
            for case in random.sample(list(plan), len(plan)):
                for name in random.sample(list(plan[case]), len(plan[case])):
                    if (case, name) in failed:
                        continue
                    bar.begin(f"round {number}: {case} on {name}")
                    try:
                        figures = _undisturbed(measure, case, name) if strict else _watched(measure, case, name)
                        _require_same_work(case, name, figures, hashes)
                        _write(writer, case, name, number, figures)
                    except processes.Failure as failure:
                        failed.add((case, name))
                        writer.line("failure", case, name, number, {"why": str(failure)})
                    bar.end()
            complete = number
            bar.round_done(number, rounds)
    except KeyboardInterrupt:
        writer.footer(complete, False, others.share())
        raise Interrupted from None
    writer.footer(complete, complete == rounds, others.share())
    return complete


def _watched(measure: Measure, case: str, name: str) -> Figures:
    """The figures, with what others used meanwhile."""
    others = honesty.Others()
    figures = measure(case, name)
    return figures | {"others_share": round(others.share(), 3)}


def _undisturbed(measure: Measure, case: str, name: str) -> Figures:
    for _ in range(honesty.REPEATS):
        figures = _watched(measure, case, name)
        if not marks.disturbed(figures) or not honesty.wait_until_quiet():
            break
    return figures


def _write(writer: Writer, case: str, name: str, number: int, figures: Figures) -> None:
    for histogram in figures.pop("latency", ()):
        writer.line("latency", case, name, number, histogram)
    if series := figures.pop("series", None):
        writer.line("series", case, name, number, series)
    writer.line("run", case, name, number, figures)


def _require_same_work(case: str, name: str, figures: Figures, hashes: dict[str, str | None]) -> None:
    """The first allocator that ends sets the hash of the case; who differs has damaged something, or cheated."""
    known = hashes.setdefault(case, figures.get("hash"))
    if figures.get("hash") != known:
        raise processes.Failure(f"{case} on {name} did other work: its hash is {figures.get('hash')}, not {known}.")
