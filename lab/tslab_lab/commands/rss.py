"""`lab rss`: the memory of any program over time, on several allocators."""

import argparse
import csv
import math
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from tslab_lab.allocators import installed, sides
from tslab_lab.allocators.catalogue import OURS, SYSTEM
from tslab_lab.base import processes
from tslab_lab.base.shapes import CaseFacts, Columns, Environment, Figures
from tslab_lab.display import figures, layout
from tslab_lab.measure import honesty, measurement, rounds
from tslab_lab.memory import family, sampled_run, tables
from tslab_lab.memory.sampler import COLUMNS
from tslab_lab.report import make
from tslab_lab.results.storage import Results
from tslab_lab.workloads import compiled, named
from tslab_tools import preloading

NAME = "rss"
HELP = "the memory of any program over time, on several allocators"
DESCRIPTION = (
    "Runs a program, or a workload of `lab bench --list` by its name, on several allocators, in turns, and samples the "
    "memory of the program and all of its descendants: "
    "tables, a CSV file of each run, a figure. A server is measured under a load (--load), or for some time "
    "(--seconds), and ended then by SIGTERM; it must stay in the foreground. Programs get an environment without LD_*, "
    "MALLOC_* and PYTHON* variables; where one is needed, write -- env NAME=VALUE PROGRAM."
)
USAGE = "lab rss [options] WORKLOAD | -- PROGRAM [ARGUMENT ...]"
ROUNDS = 3
LIBC = "libc.so.6"  # preloaded for the system's malloc: a program may be linked against another one


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of seconds")
    return value


def _pattern(text: str) -> re.Pattern[str]:
    try:
        found = re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"'{text}' is no regular expression: {error}") from None
    if found.groups < 1:
        raise argparse.ArgumentTypeError(f"'{text}' has no group: put the number into parentheses: 'did ([0-9.]+)/s'")
    return found


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = USAGE
    add = parser.add_argument
    sides.add_option(parser, (OURS, SYSTEM))
    add(
        "--rounds", type=int, default=ROUNDS, help="each runs the program once on each allocator (default: %(default)s)"
    )
    add("--seconds", type=_seconds, metavar="S", help="end the program after so long, if it still runs")
    add("--load", metavar="COMMAND", help="for a server: a shell command to run beside it, on the system's malloc")
    add("--after", type=_seconds, default=1, metavar="S", help="the load starts so long after the server (default: 1)")
    add("--settle", type=_seconds, default=2, metavar="S", help="the server ends so long after the load (default: 2)")
    add("--main-only", action="store_true", help="sample the process alone, without its descendants")
    text = "how to find operations a second in what is written: its first group; the last match counts"
    add("--ops-from", type=_pattern, metavar="REGEX", help=text)
    add("--output", type=Path, metavar="DIR", help="where the results go (default: a new folder below tslab-runs)")
    honesty.add_option(parser)
    measurement.add_fleetbench(parser)
    measurement.add_littered(parser)
    measurement.add_page(parser)
    add(
        "program",
        nargs=argparse.REMAINDER,
        metavar="PROGRAM",
        help="a workload, or -- and a program with its arguments",
    )


def plan_of(arguments: argparse.Namespace) -> tuple[str, str, sampled_run.Plan]:
    """Name, title and plan of what is run: a workload by its name, or a program."""
    words = preloading.program_of(arguments)
    if not words:
        arguments.error("name a program to measure, as in: lab rss -- python3 job.py; or a workload: lab rss app")
    if words == arguments.program and len(words) > 1 and named.is_workload(words[0]):
        arguments.error(f"write the options before the workload, as in: lab rss --rounds 1 {words[0]}")
    measurement.rounds_wanted(arguments)
    if arguments.load and arguments.seconds is not None:
        arguments.error("--seconds and --load exclude each other: with a load, the program ends when the load is over")
    if arguments.seconds == 0:
        arguments.error("--seconds must be more than 0")
    found = _workload(words[0]) if words == arguments.program and len(words) == 1 else None
    if not found:
        path = preloading.find(words[0])
        found = os.path.basename(path), shlex.join(words), [path, *words[1:]]
    name, title, argv = found
    options = (arguments.load, arguments.seconds, arguments.after, arguments.settle, arguments.main_only)
    return name, title, sampled_run.Plan(argv, *options, arguments.ops_from)


def _workload(word: str) -> tuple[str, str, list[str]] | None:
    """Name, title and words; nothing where it is none."""
    if not named.is_workload(word):
        return None
    (case,) = named.select([word])
    return case.name, f"{case.name}: {case.title}", case.argv(compiled.build([case]), False)


def environment(library: installed.Library) -> Environment:
    found = installed.environment(library)
    return found if library.path else found | {"LD_PRELOAD": LIBC}


def write_csv(path: Path, columns: Columns) -> None:
    with open(path, "w", newline="", encoding="ascii") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(zip(*(columns[name] for name in COLUMNS)))


def measurer(
    plan: sampled_run.Plan, libraries: Mapping[str, installed.Library], folder: Path, littered: bool
) -> rounds.Measure:
    """The function that runs the program once, and keeps what it wrote."""
    numbers = dict.fromkeys(libraries, 0)  # of rounds begun

    def measure(case: str, name: str) -> Figures:
        numbers[name] += 1
        stem = f"{name}-{numbers[name]}"
        files = {"out": folder / f"{stem}.out", "err": folder / f"{stem}.err", "load": folder / f"{stem}-load.out"}
        library = libraries[name]
        env = compiled.littered(environment(library)) if littered else environment(library)
        found, columns = sampled_run.measure(plan, env, library.path, files, f"{case} on {name}")
        write_csv(folder / f"{stem}.csv", columns)
        return found | {"series": columns}

    return measure


def run(arguments: argparse.Namespace) -> int:
    measurement.require_writable(arguments)
    name, title, plan = plan_of(arguments)
    libraries = sides.here(arguments.allocators, arguments.library)
    if not libraries:
        raise processes.Failure("None of these allocators is here: there is nothing to measure on.")
    for library in libraries.values():
        preloading.require(plan.argv[0], library.path)
    if not plan.alone:
        family.require_children()
    given = {"load": plan.load, "seconds": plan.seconds}
    given |= {"after": plan.after, "settle": plan.settle} if plan.load else {}
    given |= {"main_only": True} if plan.alone else {}
    facts: dict[str, CaseFacts] = {
        name: {"group": NAME, "title": title, "parameters": {key: v for key, v in given.items() if v is not None}}
    }
    folder = measurement.folder_of(NAME, arguments)
    measure = measurer(plan, libraries, folder, arguments.littered)
    cases = {name: list(libraries)}
    found, interrupted = measurement.measured(
        NAME, arguments, arguments.rounds, cases, measure, libraries, facts, seconds=math.inf
    )
    outcome = tables.outcome_of(found)
    if not outcome:
        raise processes.Failure(found.failures[0]["why"])
    show(found, outcome, folder, plan.load)
    measurement.write_page(arguments, found, page)
    return measurement.end(found, interrupted)


def page(found: Results, path: Path) -> str:
    """Of a file of results, in Markdown; its figure goes beside `path`."""
    outcome = tables.outcome_of(found)
    (case,) = found.header["cases"].values()
    sentences, picture = make.answer(found, path, "RSS over time")
    parts: list[layout.Part] = [*sentences, *picture, case["title"]]
    parts += [*tables.notes(outcome, None, case["parameters"].get("load")), *linked_notes(outcome)]
    parts += [*measurement.remarks(found), *tables.tables(outcome, SYSTEM)]
    return layout.markdown_page("RSS over time", parts, measurement.setting(found))


def linked_notes(outcome: tables.Outcome) -> Iterator[str]:
    """What the program maps although nobody asked for it."""
    others = sorted({file for run in outcome.get(SYSTEM, {}).values() for file in run["mapped"]})
    if others:
        yield f"The program is linked against {', '.join(others)}: for {SYSTEM}, libc is preloaded before it."


def show(found: Results, outcome: tables.Outcome, folder: Path, load: str | None) -> None:
    paragraphs = [*tables.notes(outcome, folder, load), *linked_notes(outcome)]
    if SYSTEM not in outcome:
        paragraphs.append(f"No ratios: {SYSTEM} did not take part.")
    paragraphs += measurement.remarks(found)
    _, picture = make.answer(found, folder / NAME, "RSS over time")
    paragraphs.append(f"Figure: {folder / NAME}.png and .pdf" if picture else figures.available())
    layout.show(layout.console(), tables.tables(outcome, SYSTEM), paragraphs, measurement.setting(found))
