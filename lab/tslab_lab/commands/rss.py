"""`lab rss`: the memory of any program over time, on several allocators."""

import argparse
import csv
import math
import os
import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from tslab_lab.allocators import installed, sides
from tslab_lab.allocators.catalogue import OURS, SYSTEM
from tslab_lab.base import processes
from tslab_lab.base.shapes import Columns, Environment, Figures, Record, Run
from tslab_lab.display import figures
from tslab_lab.display.layout import bullets, mib
from tslab_lab.measure import honesty, measurement, rounds
from tslab_lab.memory import family, sampled_run, series
from tslab_lab.memory.sampler import COLUMNS
from tslab_lab.report import plots, render, tables
from tslab_lab.report.render import Picture, Report
from tslab_lab.results import measures, standings
from tslab_lab.results.storage import Results
from tslab_lab.workloads import compiled, named
from tslab_tools import preloading

NAME = "rss"
HELP = "the memory of any program over time, on several allocators"
DESCRIPTION = (
    "Runs a program, or a workload of `lab bench --list` by its name, on several allocators, in turns, and samples the "
    "memory of the program and all of its descendants: "
    "tables, a CSV file of each run, a figure. A server is measured for some time "
    "(--seconds), and ended then by SIGTERM; it must stay in the foreground. Programs get an environment without LD_*, "
    "MALLOC_* and PYTHON* variables; where one is needed, write -- env NAME=VALUE PROGRAM."
)
USAGE = "lab rss [options] WORKLOAD | -- PROGRAM [ARGUMENT ...]"
ROUNDS = 3
LIBC = "libc.so.6"  # preloaded for the system's malloc: a program may be linked against another one


def _scaled(name: str, factor: float) -> measures.Figure:
    def figure(run: Run) -> float | None:
        return None if run.get(name) is None else run[name] / factor  # older results have fewer

    return figure


FIGURES = {
    "mean\nMiB": _scaled("mean_kib", 1024), "p95\nMiB": _scaled("p95_kib", 1024), "max\nMiB": _scaled("peak_kib", 1024),
    "at end\nMiB": _scaled("rss_kib", 1024), "area\nMiB s": _scaled("area_mib_s", 1), "PSS\nmean": _scaled("mean_pss_kib", 1024),
    "USS\nmean": _scaled("mean_uss_kib", 1024), "time\ns": _scaled("run_seconds", 1), "CPU\ns": _scaled("cpu_seconds", 1),
    "ops/s": _scaled("operations_per_second", 1),
}  # fmt: skip


def _seconds(text: str) -> float:
    value = float(text) if re.fullmatch(r"\d*\.?\d+", text) else math.inf
    if value == math.inf:
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
    text = "how to find operations a second in what is written: its first group; the last match counts"
    add("--ops-from", type=_pattern, metavar="REGEX", help=text)
    add("--output", type=Path, metavar="DIR", help="where the results go (default: a new folder below tslab-runs)")
    honesty.add_option(parser)
    measurement.add_fleetbench(parser)
    measurement.add_littered(parser)
    measurement.add_page(parser)
    text = "a workload, or -- and a program with its arguments"
    add("program", nargs=argparse.REMAINDER, metavar="PROGRAM", help=text)


def plan_of(arguments: argparse.Namespace) -> tuple[str, str, sampled_run.Plan]:
    """Name, title and plan of what is run: a workload by its name, or a program."""
    words = preloading.program_of(arguments)
    if not words:
        arguments.error("name a program to measure, as in: lab rss -- python3 job.py; or a workload: lab rss app")
    is_workload = words == arguments.program and named.is_workload(words[0])
    if is_workload and len(words) > 1:
        arguments.error(f"write the options before the workload, as in: lab rss --rounds 1 {words[0]}")
    measurement.rounds_wanted(arguments)
    if arguments.seconds == 0:
        arguments.error("--seconds must be more than 0")
    if is_workload:
        (case,) = named.select(words)
        name, title, argv = case.name, f"{case.name}: {case.title}", case.argv(compiled.build([case]), False)
    else:
        path = preloading.find(words[0])
        name, title, argv = os.path.basename(path), shlex.join(words), [path, *words[1:]]
    return name, title, sampled_run.Plan(argv, arguments.seconds, arguments.ops_from)


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
        files = {"out": folder / f"{stem}.out", "err": folder / f"{stem}.err"}
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
    preloading.require(plan.argv[0])
    family.require_children()
    parameters = {"seconds": plan.seconds} if plan.seconds else {}
    facts: dict[str, Record] = {name: {"group": NAME, "title": title, "parameters": parameters}}
    folder = measurement.folder_of(NAME, arguments)
    measure = measurer(plan, libraries, folder, arguments.littered)
    found, interrupted = measurement.measured(
        NAME, arguments, arguments.rounds, {name: list(libraries)}, measure, libraries, facts, seconds=math.inf
    )
    told = report(found)
    if not figures.available() and (drawn := told.pictures[0].draw()):
        figures.save(drawn, folder / NAME, told.pictures[0].told)
    print(f"In {folder}: {NAME}.png, samples (.csv),\nand what the programs wrote (ALLOCATOR-ROUND.out, .err)")
    return render.finish(arguments, found, told, interrupted)


def report(found: Results) -> Report:
    ((case, facts),) = found.header["cases"].items()
    rows = standings.ordered(found)[case]
    lines = series.of(found.series, case)
    full = [tables.of_runs("RSS over time", rows, FIGURES)]
    if SYSTEM in rows and len(rows) > 1:
        ratios = {
            head.replace("\n", " ").partition(" MiB")[0].removesuffix(" s"): figure for head, figure in FIGURES.items()
        }
        heads = [head for head in ratios if any(standings.column(runs, ratios[head]) for runs in rows.values())]
        for some in (heads[at : at + 4] for at in range(0, len(heads), 4)):
            others = {name: runs for name, runs in rows.items() if name != SYSTEM}
            divided = {head: (ratios[head], rows[SYSTEM]) for head in some}
            full.append(tables.against(f"As ratios to {SYSTEM} (95 % interval)", others, divided))
    told = f"{case}: RSS over time (median of the rounds; shade: all of them)"
    return Report(
        title="RSS over time",
        answer=[means(case, rows), facts["title"]],
        pictures=[Picture("", "RSS over time", told, lambda: plots.series(lines))],
        body=[*full],
        full=full,
        notes=[*notes(rows), *measurement.remarks(found)],
        keeps_tables=False,
        setting=measurement.setting(found),
    )


def means(case: str, rows: tables.Rows) -> str:
    middles = {name: standings.middle(standings.column(runs, FIGURES["mean\nMiB"])) for name, runs in rows.items()}
    ours = middles.get(OURS)
    parts = [
        f"{name} {mib(1024 * middles[name])} MiB"
        + (f" ({middles[name] / ours:.2f} of {OURS})" if ours and name != OURS else "")
        for name in sorted(middles, key=middles.__getitem__)
    ]
    return f"**Mean RSS** of {case}: {', '.join(parts)}."


def _span(values: Collection[float]) -> str:
    """5 ms, or 5 to 7 ms."""
    return " to ".join(dict.fromkeys(f"{value:.0f}" for value in (min(values), max(values)))) + " ms"


def notes(rows: tables.Rows) -> Iterator[str]:
    """What the tables must be read with."""
    every = [(name, number, run) for name, by_round in rows.items() for number, run in by_round.items()]
    runs = [run for _, _, run in every]
    rare = [run["pss_every_ms"] for run in runs if run["pss_every_ms"]]
    yield (
        f"RSS was read every {_span([run['sampled_every_ms'] or 0 for run in runs])}"
        f"{f', PSS, USS and LazyFree every {_span(rare)}' if rare else ''}, by {max(run['sampler_share'] for run in runs):.1%} of "
        f"one processor at most. A p95 takes {series.ENOUGH} samples in every run, a mean of PSS {series.ENOUGH_RARE} readings."
    )
    most = max(run["processes"] for run in runs)
    if most > 1:
        yield (
            f"The sum of up to {most} processes. RSS counts what they share once for each; PSS counts it once. "
            f"Processes that lived shorter than {_span([run['looked_every_ms'] for run in runs])} may be missing."
        )
    if remarks := [f"{name}, round {number}: {remark}." for name, number, run in every for remark in run["remarks"]]:
        yield bullets(remarks)
    if others := sorted({file for run in rows.get(SYSTEM, {}).values() for file in run["mapped"]}):
        yield f"The program is linked against {', '.join(others)}: for {SYSTEM}, libc is preloaded before it."
