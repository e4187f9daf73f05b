"""`tslab rss`: the memory of any program over time, on several allocators."""

import argparse
import csv
import math
import os
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from tslab_lab.allocators import catalogue, installed, preloading
from tslab_lab.allocators.catalogue import OURS, SYSTEM
from tslab_lab.base import processes
from tslab_lab.display import figures, layout, progress
from tslab_lab.measure import honesty, rounds
from tslab_lab.memory import drawing, family, sampled_run, tables
from tslab_lab.memory.sampler import COLUMNS
from tslab_lab.results import storage

NAME = "rss"
HELP = "the memory of any program over time, on several allocators"
DESCRIPTION = (
    "Runs a program on several allocators, in turns, and samples the memory of the program and all of its descendants: "
    "tables, a CSV file of each run, a figure. A server is measured under a load (--load), or for some time "
    "(--seconds), and ended then by SIGTERM; it must stay in the foreground. Programs get an environment without LD_*, "
    "MALLOC_* and PYTHON* variables; where one is needed, write -- env NAME=VALUE PROGRAM."
)
USAGE = "tslab rss [options] -- PROGRAM [ARGUMENT ...]"
LIBC = "libc.so.6"  # preloaded for the system's malloc: a program may be linked against another one


@dataclass(frozen=True)
class Case:
    name: str


def _seconds(text):
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of seconds")
    return value


def _pattern(text):
    try:
        found = re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"'{text}' is no regular expression: {error}") from None
    if found.groups < 1:
        raise argparse.ArgumentTypeError(f"'{text}' has no group: put the number into parentheses: 'did ([0-9.]+)/s'")
    return found


def add_arguments(parser):
    parser.usage = USAGE
    add = parser.add_argument
    known = ", ".join([*catalogue.ALLOCATORS, *catalogue.GROUPS])
    text = f"some of: {known}; or any library, as PATH or NAME=PATH (default: {OURS},{SYSTEM})"
    add("--allocators", type=installed.words, default=[OURS, SYSTEM], metavar="A,B,...", help=text)
    installed.add_library_option(parser)
    add("--rounds", type=int, default=3, help="each runs the program once on each allocator (default: %(default)s)")
    add("--seconds", type=_seconds, metavar="S", help="end the program after so long, if it still runs")
    add("--load", metavar="COMMAND", help="for a server: a shell command to run beside it, on the system's malloc")
    add("--after", type=_seconds, default=1, metavar="S", help="the load starts so long after the server (default: 1)")
    add("--settle", type=_seconds, default=2, metavar="S", help="the server ends so long after the load (default: 2)")
    add("--main-only", action="store_true", help="sample the process alone, without its descendants")
    text = "how to find operations a second in what is written: its first group; the last match counts"
    add("--ops-from", type=_pattern, metavar="REGEX", help=text)
    add("--output", type=Path, metavar="DIR", help="where the results go (default: a new folder below tslab-runs)")
    honesty.add_option(parser)
    add("program", nargs=argparse.REMAINDER, metavar="PROGRAM", help="the program and its arguments")


def plan_of(arguments):
    words = preloading.program_of(arguments)
    if not words:
        arguments.error("name a program to measure, as in: tslab rss -- python3 job.py")
    if arguments.rounds < 1:
        arguments.error("--rounds must be at least 1")
    if arguments.load and arguments.seconds is not None:
        arguments.error("--seconds and --load exclude each other: with a load, the program ends when the load is over")
    if arguments.seconds == 0:
        arguments.error("--seconds must be more than 0")
    path = preloading.find(words[0])
    return sampled_run.Plan(
        [path, *words[1:]],
        arguments.load,
        arguments.seconds,
        arguments.after,
        arguments.settle,
        arguments.main_only,
        arguments.ops_from,
    )


def environment(library):
    found = installed.environment(library)
    return found if library.path else found | {"LD_PRELOAD": LIBC}


def write_csv(path, columns):
    with open(path, "w", newline="", encoding="ascii") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(zip(*(columns[name] for name in COLUMNS)))


def measurer(plan, libraries, folder, writer):
    """The function that runs the program once, and keeps its series."""
    numbers = dict.fromkeys(libraries, 0)  # of rounds begun

    def measure(case, name):
        numbers[name] += 1
        stem = f"{name}-{numbers[name]}"
        files = {"out": folder / f"{stem}.out", "err": folder / f"{stem}.err", "load": folder / f"{stem}-load.out"}
        library = libraries[name]
        found, columns = sampled_run.measure(plan, environment(library), library.path, files, f"{case.name} on {name}")
        write_csv(folder / f"{stem}.csv", columns)
        writer.series(case.name, name, numbers[name], columns)
        return found

    return measure


def run(arguments):
    plan = plan_of(arguments)
    libraries = installed.here(arguments.allocators, arguments.library)
    if not libraries:
        raise processes.Failure("None of these allocators is here: there is nothing to measure on.")
    for library in libraries.values():
        preloading.require(plan.argv[0], library.path)
    if not plan.alone:
        family.require_children()
    marks = honesty.check(arguments.rounds, OURS in libraries, arguments.force)

    console = Console()
    console.width = max(console.width, layout.WIDTH)
    folder = storage.new_folder(NAME, arguments.output)
    case = Case(os.path.basename(plan.argv[0]))
    command = shlex.join(preloading.program_of(arguments))
    parameters = {"load": plan.load, "seconds": plan.seconds, "after": plan.after, "settle": plan.settle}
    facts = {case.name: {"group": NAME, "title": command, "parameters": parameters | {"main_only": plan.alone}}}
    writer = storage.Writer(folder, NAME, sys.argv[2:], marks, installed.as_facts(libraries), facts)
    interrupted = False
    try:
        with progress.of(arguments.rounds * len(libraries), console) as bar:
            measure = measurer(plan, libraries, folder, writer)
            rounds.run([case], list(libraries), arguments.rounds, math.inf, measure, writer, bar)
    except rounds.Interrupted:
        interrupted = True
    found = storage.read(folder)
    outcome = outcome_of(found)
    if outcome:
        show(console, found, outcome, folder, command, plan.load)
    elif not interrupted:
        raise processes.Failure(found.failures[0]["why"])
    if interrupted:
        what = "what was complete is shown" if outcome else f"no run was complete; what there is, is in {folder}"
        print(f"tslab: interrupted; {what}", file=sys.stderr)
        return 130
    return 0


def outcome_of(found):
    """dict allocator -> dict round -> run, of those that never failed, in the order of the header."""
    failed = {failure["allocator"] for failure in found.failures}
    outcome = {name: {} for name in found.header["allocators"] if name not in failed}
    for record in found.runs:
        if record["allocator"] in outcome:
            outcome[record["allocator"]][record["round"]] = record
    return {name: runs for name, runs in outcome.items() if runs}


def linked_notes(outcome):
    """What the program maps although nobody asked for it."""
    others = sorted({file for run in outcome.get(SYSTEM, {}).values() for file in run["mapped"]})
    if others:
        yield f"The program is linked against {', '.join(others)}: for {SYSTEM}, libc is preloaded before it."


def show(console, found, outcome, folder, command, load):
    width = min(console.width, layout.PAGE_WIDTH)

    def say(*lines):
        console.print(*lines, sep="\n", width=width, markup=False, highlight=False)

    for table in tables.tables(outcome, SYSTEM):
        say("", table.title)
        console.print(table.rich())
    say("", *tables.notes(outcome, folder, load), *linked_notes(outcome))
    if SYSTEM not in outcome:
        say(f"No ratios: {SYSTEM} did not take part.")
    for failure in found.failures:
        say(f"{failure['allocator']} takes no part: {failure['why']}")
    for mark in found.header["marks"]:
        say(f"Note: {mark}")
    complaint = figures.available()
    if complaint:
        say(complaint)
    else:
        series = {name: [] for name in outcome}
        for record in found.series:
            if record["round"] in outcome.get(record["allocator"], {}):
                series[record["allocator"]].append((record["t_ms"], record["rss_kb"]))
        most = max(run["processes"] for runs in outcome.values() for run in runs.values())
        drawing.draw(series, command, most, folder)
        say(f"Figure: {folder / 'rss.png'} and .pdf")
    print(f"Results: {found.path}. A page of them: tslab report {folder}", flush=True)
