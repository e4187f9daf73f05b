"""`lab bench`: workloads and real programs on tslab and on the other allocators, in rounds, as ratios with spread."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console

from tslab_lab.allocators import sides
from tslab_lab.allocators.catalogue import OURS, SYSTEM
from tslab_lab.allocators.sides import BASE
from tslab_lab.base import processes
from tslab_lab.display import layout
from tslab_lab.measure import accounts, case_runner, instructions, measurement
from tslab_lab.real import programs
from tslab_lab.real.programs import AnyCase
from tslab_lab.report import bench_tables, beside, make
from tslab_lab.results import case_runs
from tslab_lab.results.case_runs import CaseRuns
from tslab_lab.results.storage import Results
from tslab_lab.workloads import named

NAME = "bench"
HELP = "workloads and real programs on every allocator: time and memory, as ratios with spread"
DESCRIPTION = (
    "Runs workloads on all allocators that are here (`lab peers` shows them), in rounds and in random order, and shows "
    "time, memory, and who wins. WORKLOAD is a name, a name with parameters (mixed-remote:threads=8,remote=50), a pattern "
    "(remote*), or a set; --list shows them all."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("workloads", nargs="*", metavar="WORKLOAD", help="what to run (default: the set standard; with --quick: quick)")
    measurement.add_options(parser, seconds=5400)
    add("--baseline", type=Path, metavar="PATH", help=f"another build of tslab, to be compared with it as '{BASE}'")
    add("--instructions", action="store_true", help="count instructions, too, by callgrind: free of noise")
    measurement.add_littered(parser)
    measurement.add_page(parser)
    add("--check", action="store_true", help="exit with 1 where tslab misses a limit that it is held to")
    add("--list", action="store_true", help="list workloads, programs and sets, and run nothing")


def run(arguments: argparse.Namespace) -> int:
    if arguments.list:
        return show_list()
    measurement.require_writable(arguments)
    cases = case_runner.select(arguments.workloads or ["quick" if arguments.quick else "standard"])
    libraries = sides.here(sides.with_base(arguments.allocators, arguments.baseline), arguments.library)
    befores: list[measurement.BeforeCases] = [accounts.take]
    befores += [instructions.count] if arguments.instructions else []
    found, interrupted = measurement.run(NAME, arguments, cases, libraries, befores=befores)
    return show(found, cases, arguments, interrupted)


def show(found: Results, cases: Sequence[AnyCase], arguments: argparse.Namespace, interrupted: bool) -> int:
    listed = case_runs.of(found, cases)
    if not listed:
        for line in case_runs.failures(found):
            print(f"lab: {line}", file=sys.stderr)
        raise processes.Failure(f"No round was complete. The results so far are in {found.path}.")
    names = [name for name in found.header["allocators"] if name != BASE]
    base = BASE if BASE in found.header["allocators"] and OURS in names else None
    paragraphs = [how_to_read(found), *measurement.remarks(found)]
    setting = measurement.setting(found)
    console = layout.console()
    layout.show(console, tables_of(found, listed, names, base, console.width), paragraphs, setting)
    measurement.write_page(arguments, found, page)
    missed = list(bench_tables.misses(listed, OURS))
    for line in missed:
        print(f"missed: {line}")
    return measurement.end(found, interrupted, 1 if missed and arguments.check else 0)


def page(found: Results, path: Path) -> str:
    """Of a file of results, in Markdown; its figure goes beside `path`."""
    listed = case_runs.of(found, case_runner.select(found.header["cases"]))
    names = [name for name in found.header["allocators"] if name != BASE]
    base = BASE if BASE in found.header["allocators"] and OURS in names else None
    overview = bench_tables.overview_table(found, names, OURS, True) if OURS in names and len(names) > 1 else None
    paragraphs: list[layout.Part] = [how_to_read(found), *measurement.remarks(found)]
    sentences, picture = make.answer(found, path, "Time and peak RSS over all")
    paragraphs += filter(None, [beside.table(found, names, OURS)])
    return bench_tables.markdown_page(
        f"{OURS} against other allocators: {path.stem}",
        [*sentences, *picture],
        overview,
        listed,
        names,
        OURS,
        SYSTEM,
        base,
        measurement.setting(found),
        paragraphs,
        path,
    )


def tables_of(
    found: Results, listed: Sequence[CaseRuns], names: Sequence[str], base: str | None, width: int
) -> Iterator[layout.Table]:
    """Those that fit a terminal of this width."""
    if OURS in names and len(names) > 1 and len(listed) > 1:
        yield bench_tables.overview_table(found, names, OURS, width > layout.WIDTH)
    yield from filter(None, [beside.table(found, names, OURS)])
    yield from filter(None, bench_tables.all_tables(listed, names, OURS, SYSTEM, base, width))


def how_to_read(found: Results) -> str:
    return (
        f"{layout.medians_of(found.rounds)}, all in random order. Ratios are taken round by round: median (95 % "
        "bootstrap interval). A limit is met when the better end of the interval reaches it. Time: the processor's for "
        "real programs and where there is one thread, else wall clock, after a warm-up. Peak RSS is all of the process. "
        "All objects are written and checked, and the work was the same on all allocators."
    )


def show_list() -> int:
    console = Console()
    for title, lines in (("Workloads", named.listing()), ("Programs", programs.listing()), ("Sets", named.sets())):
        console.print(f"{title}:", markup=False)
        for name, text in lines:
            console.print(f"  {name:<18} {text}", markup=False, highlight=False, soft_wrap=True)
    return 0
