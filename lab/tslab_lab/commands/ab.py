"""`lab ab`: A against B, with A against itself for the noise, and a verdict that is also the exit code."""

import argparse
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from tslab_lab.allocators import sides
from tslab_lab.allocators.sides import AGAIN, A, B
from tslab_lab.base import processes
from tslab_lab.estimates import randomisation
from tslab_lab.measure import case_runner, measurement
from tslab_lab.real.programs import AnyCase
from tslab_lab.report import ab_page
from tslab_lab.results import case_runs, comparison
from tslab_lab.results.storage import Results
from tslab_tools import drop_in

NAME = "ab"
HELP = "A against B: builds, options or allocators; GO, NO-GO, NO DIFFERENCE or UNDECIDED"
DESCRIPTION = (
    "Compares B with A. Each is an allocator (`lab peers` shows them), a library by its path, or one with options: "
    f"{sides.EXAMPLE}, PATH@epoch_policy=never,retain_bytes=8M, mimalloc3@MIMALLOC_PURGE_DELAY=0. Each round runs "
    "every workload on A, on B, and on A again, in random order: what A's two runs differ by is noise. B is reported as "
    "better or worse only where chance is no explanation, all rows considered."
)
VERDICTS = """verdict and exit code:
  0  GO             B is better somewhere, and worse nowhere
  1  NO-GO          B is worse somewhere, or cannot run what A runs
  2                 nothing was measured: wrong arguments, or an error
  3  NO DIFFERENCE  none is shown; the smallest that would have been is told
  4  UNDECIDED      none is shown, and some rows could not have shown any: too
                    few rounds were done, or the noise is too great
"""
TROUBLE = 2
LONG, QUICK = 10, 7


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog, parser.formatter_class = VERDICTS, argparse.RawDescriptionHelpFormatter
    parser.description = textwrap.fill(DESCRIPTION, 78)
    add = parser.add_argument
    add("a", metavar="A", help="what there is")
    add("b", metavar="B", help="the candidate")
    add("workloads", nargs="*", metavar="WORKLOAD", help="what to run (default: the set standard; with --quick: quick)")
    add("--least-effect", type=float, default=1.0, metavar="PERCENT", help="what is less does not count (default: 1)")
    measurement.add_options(parser, seconds=3600, rounds=(LONG, QUICK), allocators=())
    drop_in.add_option(parser)
    measurement.add_littered(parser)
    measurement.add_page(parser)
    add("--question", metavar="TEXT", help="the question that the page answers")


def run(arguments: argparse.Namespace) -> int:
    if not 0 <= arguments.least_effect < 100:
        arguments.error("--least-effect must be a percentage from 0 to 100")
    measurement.require_writable(arguments)
    cases = case_runner.select(arguments.workloads or ["quick" if arguments.quick else "standard"])
    arguments.rounds = rounds_wanted(arguments, cases)
    a, b = (sides.side(word, arguments.library) for word in (arguments.a, arguments.b))
    three = {A: a, B: b, AGAIN: replace(a, title=f"{a.title}, again")}
    settings = {"least_effect": arguments.least_effect / 100}
    found, interrupted = measurement.run(NAME, arguments, cases, three, settings=settings)
    compared = comparison.of(found, settings["least_effect"])
    if not compared.judged:
        for line in case_runs.failures(found):
            print(f"lab: {line}", file=sys.stderr)
        raise processes.Failure(f"No round was complete. The results so far are in {found.path}.")
    ab_page.Page(found, compared, arguments).show(Console(), *told(found))
    measurement.write_page(arguments, found, page)
    return measurement.end(found, interrupted, randomisation.EXIT_CODES[compared.verdict])


def told(found: Results) -> tuple[list[str], list[tuple[str, str]]]:
    """Remarks, and where it was measured."""
    setting = [line for line in measurement.setting(found) if line[0] != "peers"]
    return list(measurement.remarks(found)), setting


def page(found: Results, path: Path) -> str:
    """Of a file of results, in Markdown."""
    del path
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    arguments = parser.parse_args(found.header["arguments"])
    compared = comparison.of(found, found.header["settings"]["least_effect"])
    arguments.rounds = compared.rounds
    return ab_page.Page(found, compared, arguments).markdown(*told(found))


def rounds_wanted(arguments: argparse.Namespace, cases: Sequence[AnyCase]) -> int:
    """Fewer rounds than could ever decide are refused before anything runs."""
    rows = len(comparison.FIGURES) * len(cases)
    fewest = randomisation.fewest_rounds(rows)
    if arguments.rounds is None:
        return max(fewest, QUICK if arguments.quick else LONG)
    wanted = measurement.rounds_wanted(arguments)
    if wanted < fewest:
        arguments.error(
            f"--rounds {wanted} cannot decide: a difference in one of {rows} rows could not be shown, however large it "
            f"is. It takes {fewest} rounds, or fewer workloads."
        )
    return wanted
