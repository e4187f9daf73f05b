"""`tslab ab`: A against B, with A against itself for the noise, and a verdict: GO, NO-GO, or no difference shown."""

import sys
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from tslab_lab.allocators import sides
from tslab_lab.allocators.sides import AGAIN, A, B
from tslab_lab.base import processes
from tslab_lab.measure import case_runner, measurement
from tslab_lab.report import ab_page
from tslab_lab.results import measures, standings
from tslab_lab.statistics import randomisation

NAME = "ab"
HELP = "A against B: builds, options or allocators; GO, NO-GO, or no difference shown"
DESCRIPTION = (
    "Compares B with A. Each is an allocator (`tslab peers` shows them), a library by its path, or one with options: "
    f"{sides.EXAMPLE}, PATH@epoch_policy=never,retain_bytes=8M, mimalloc3@MIMALLOC_PURGE_DELAY=0. Each round runs "
    "every workload on A, on B, and on A again, in random order: what A's two runs differ by is noise. B is told to be "
    "better or worse only where chance is no explanation, all rows considered. Worse anywhere is NO-GO."
)
LONG, QUICK = 10, 7
FIGURES = {"time": measures.time_ns, "peak RSS": measures.peak_kib, "RSS after": measures.after_kib}


def add_arguments(parser):
    add = parser.add_argument
    add("a", metavar="A", help="what there is")
    add("b", metavar="B", help="what might take its place")
    add("workloads", nargs="*", metavar="WORKLOAD", help="what to run (default: the set standard; with --quick: quick)")
    add("--least-effect", type=float, default=1.0, metavar="PERCENT", help="what is less does not count (default: 1)")
    measurement.add_options(parser, seconds=3600, rounds=(LONG, QUICK), sides=True)
    add("--markdown", type=Path, metavar="FILE", help="write a page fit for docs/decisions")
    add("--question", metavar="TEXT", help="the question that the page answers")


def run(arguments):
    arguments.rounds = measurement.rounds_wanted(arguments, (LONG, QUICK))
    check(arguments)
    cases = case_runner.select(arguments.workloads or ["quick" if arguments.quick else "standard"])
    a, b = (sides.side(word, arguments.library) for word in (arguments.a, arguments.b))
    three = {A: a, B: b, AGAIN: replace(a, title=f"{a.title}, again")}
    found, interrupted = measurement.run(NAME, arguments, cases, three)
    rows = rows_of(found)
    if not rows:
        for failure in found.failures:
            print(f"tslab: {failure['case']} fails on {failure['allocator']}: {failure['why']}", file=sys.stderr)
        raise processes.Failure(f"No round was complete. What there is, is in {found.path}.")
    judged = randomisation.decide(rows, arguments.least_effect / 100)
    page = ab_page.Page(found, judged, b_fails_alone(found), arguments, sides.same(a, b))
    remarks = list(measurement.remarks(found, interrupted))
    setting = [line for line in measurement.setting(found) if line[0] != "peers"]
    page.show(Console(), remarks, setting)
    if arguments.markdown:
        arguments.markdown.write_text(page.markdown(remarks, setting), encoding="utf-8")
    return measurement.end(found, interrupted)


def check(arguments):
    if not 0 <= arguments.least_effect < 100:
        arguments.error("--least-effect must be a percentage from 0 to 100")
    if arguments.markdown and not arguments.markdown.absolute().parent.is_dir():
        arguments.error(f"cannot write {arguments.markdown}: there is no such directory")
    least = randomisation.fewest_rounds(1)
    if arguments.rounds < least and not arguments.force:
        raise processes.Failure(
            f"No difference, however large, can be shown in {arguments.rounds} rounds: ask for {least} or more with "
            f"--rounds (default: {LONG}), or have it measured all the same with --force."
        )


def rows_of(found):
    """A row for each figure of each workload that all three could run, from the rounds that all three have."""
    grid = standings.grid(found.runs, found.failures)
    rows = []
    for name, figure in FIGURES.items():
        columns = standings.columns(grid, figure)
        for case in found.header["cases"]:
            three = [columns.get(case, {}).get(side) for side in (A, B, AGAIN)]
            both = standings.rounds_together(*three) if all(three) else ()
            if both:
                rows.append(randomisation.Row(case, name, *(tuple(side[i] for i in both) for side in three)))
    return rows


def b_fails_alone(found):
    """The workloads that B cannot run, and A can."""
    failed = {(failure["case"], failure["allocator"]) for failure in found.failures}
    return [case for case in found.header["cases"] if {name for of, name in failed if of == case} == {B}]
