"""`tslab bench`: workloads and real programs on tslab and on the other allocators, in rounds, as ratios with spread."""

import sys
from pathlib import Path

from rich.console import Console

from tslab_lab import bench_tables, comparison, instructions, outcomes, programs, real, running, workloads
from tslab_lab.allocators import OURS, SYSTEM
from tslab_lab.outcomes import BASE

NAME = "bench"
HELP = "workloads and real programs on every allocator: time and memory, as ratios with spread"
DESCRIPTION = (
    "Runs workloads on all allocators that are here (`tslab peers` shows them), in rounds and in random order, and shows "
    "time, memory, and who wins. WORKLOAD is a name, a name with parameters (mixed-remote:threads=8,remote=50), a pattern "
    "(remote*), or a set; --list shows them all."
)


def add_arguments(parser):
    add = parser.add_argument
    add("workloads", nargs="*", metavar="WORKLOAD", help="what to run (default: the set standard; with --quick: quick)")
    comparison.add_options(parser, seconds=5400)
    add("--baseline", type=Path, metavar="PATH", help=f"another build of tslab, to be compared with it as '{BASE}'")
    add("--instructions", action="store_true", help="count instructions, too, by callgrind: free of noise")
    add("--markdown", type=Path, metavar="FILE", help="write the tables as a page")
    add("--check", action="store_true", help="exit with 1 where tslab misses a limit that it is held to")
    add("--list", action="store_true", help="list workloads, programs and sets, and run nothing")


def run(arguments):
    if arguments.list:
        return show_list()
    if arguments.markdown and not arguments.markdown.absolute().parent.is_dir():
        arguments.error(f"cannot write {arguments.markdown}: there is no such directory")
    cases = running.select(arguments.workloads or ["quick" if arguments.quick else "standard"])
    libraries = comparison.libraries(arguments, [f"{BASE}={arguments.baseline}"] if arguments.baseline else [])
    count = instructions.count if arguments.instructions else None
    found, interrupted = comparison.run(NAME, arguments, cases, libraries, before=count)
    return show(found, cases, arguments, interrupted)


def show(found, cases, arguments, interrupted):
    listed = outcomes.of(found, cases)
    if not listed:
        for line in outcomes.failures(found):
            print(f"tslab: {line}", file=sys.stderr)
        raise programs.Failure(f"No round was complete. What there is, is in {found.path}.")
    names = [name for name in found.header["allocators"] if name != BASE]
    base = BASE if BASE in found.header["allocators"] and OURS in names else None
    paragraphs = [how_to_read(found), *comparison.remarks(found, interrupted)]
    setting = comparison.setting(found)
    show_tables(tables_of(found, listed, names, base), paragraphs, setting)
    if arguments.markdown:
        overview = bench_tables.overview_table(found, names, OURS, True) if OURS in names and len(names) > 1 else None
        page = bench_tables.markdown_page(overview, listed, names, OURS, SYSTEM, base, setting, paragraphs)
        arguments.markdown.write_text(page)
    missed = list(bench_tables.misses(listed, OURS))
    for line in missed:
        print(f"missed: {line}")
    return comparison.end(found, interrupted, 1 if missed and arguments.check else 0)


def show_tables(tables, paragraphs, setting):
    """`tables`: a function of the width of the terminal."""
    console = Console()
    console.width = max(console.width, bench_tables.WIDTH)

    def say(*lines):
        width = min(console.width, bench_tables.PAGE_WIDTH)
        console.print(*lines, sep="\n", width=width, markup=False, highlight=False)

    for table in tables(console.width):
        say("", table.title)
        console.print(table.rich())
    say("", *paragraphs)
    say("", *(f"{name}: {text}" for name, text in setting), "")


def tables_of(found, listed, names, base):
    def tables(width):
        if OURS in names and len(names) > 1 and len(listed) > 1:
            yield bench_tables.overview_table(found, names, OURS, width > bench_tables.WIDTH)
        yield from filter(None, bench_tables.all_tables(listed, names, OURS, SYSTEM, base, width))

    return tables


def how_to_read(found):
    return (
        f"Medians of {found.footer['rounds']} rounds, all in random order. Ratios are taken round by round: median (95 % "
        "bootstrap interval). A limit is met when the better end of the interval reaches it. Time: the processor's for "
        "real programs and where there is one thread, else wall clock, after a warm-up. Peak RSS is all of the process. "
        "All objects are written and checked, and the work was the same on all allocators."
    )


def show_list():
    console = Console()
    for title, lines in (("Workloads", workloads.listing()), ("Programs", real.listing()), ("Sets", workloads.sets())):
        console.print(f"{title}:", markup=False)
        for name, text in lines:
            console.print(f"  {name:<18} {text}", markup=False, highlight=False, soft_wrap=True)
    return 0
