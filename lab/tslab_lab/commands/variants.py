"""`lab variants`: a question of the engine's design, measured anew: builds that answer it in other ways, side by side."""

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tslab_lab.allocators import installed, variants
from tslab_lab.allocators.catalogue import OURS
from tslab_lab.allocators.variants import BYPASS, REMOTE, Cost, Variant
from tslab_lab.display import layout
from tslab_lab.display.layout import Table, interval_text
from tslab_lab.measure import measurement
from tslab_lab.report import plots, render, tables
from tslab_lab.report.render import Picture, Report
from tslab_lab.results import measures, standings
from tslab_lab.results.storage import Results
from tslab_lab.workloads import named

NAME = "variants"
HELP = "builds of tslab that decide a question of its design in other ways"
DESCRIPTION = (
    "Builds tslab in several ways, below build/lab/variants, each from a copy of the sources with a patch of "
    f"lab/variants, runs them interleaved, and shows time against {OURS} as it is, round by round, as the median with its 95 % "
    "interval; locked instructions and locks for each operation; with --timed, percentiles of single operations instead. "
    "QUESTION is one of: remote (docs/decisions/remote-frees.md), bypass (docs/decisions/magazines.md)."
)


@dataclass(frozen=True)
class Question:
    """`workloads`: what is run. `counted`: how the operations begin whose locks are shown."""

    variants: tuple[Variant, ...]
    workloads: tuple[str, ...]
    counted: tuple[str, ...]


SIZES = ((16, 48), (16, 2048), (16, 32768))
SHARED = [
    f"mixed-remote:threads={threads},remote={share},min={least},max={most}"
    for least, most in SIZES
    for threads in (2, 4, 8, 16, 32)
    for share in (0, 50, 90)
]
HANDED = [f"{name}:min={least},max={most}" for least, most in SIZES[:2] for name in ("producer-consumer", "free-only")]
BULK = [f"bulk{parameters}" for parameters in (":min=64,max=64", ":min=64,max=64,order=2", "", ":order=2")]
QUESTIONS = {
    "remote": Question(
        (Variant(OURS), *REMOTE), (*SHARED, *HANDED, "cache-scratch:size=48", "larson"), ("two replace", "producer of")
    ),
    "bypass": Question(
        (Variant(OURS), *BYPASS, Variant("magazines=0", environment={"TSLAB_MAGAZINES": "0"})),
        (*BULK, "replace", "churn-fixed", "phase-shift", "producer-consumer", "free-only"),
        ("malloc and free in", "replace among", "bulk of", "producer of"),
    ),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("question", metavar="QUESTION", choices=QUESTIONS, help=" or ".join(QUESTIONS))
    add("workloads", nargs="*", metavar="WORKLOAD", help="what to run, as for bench (default: what it is about)")
    add("--variants", type=installed.words, metavar="A,B,...", help=f"some of them (default: all); {OURS} always")
    add("--no-counts", action="store_true", help="count no locks: that needs the packages of the tests")
    add("--timed", action="store_true", help="time every operation by itself")
    measurement.add_options(parser, seconds=7200, allocators=())
    parser.set_defaults(more="workloads")
    measurement.add_page(parser)


def run(arguments: argparse.Namespace) -> int:
    question = QUESTIONS[arguments.question]
    known = [variant.name for variant in question.variants]
    if unknown := [name for name in arguments.variants or () if name not in known]:
        arguments.error(f"--variants: there is no {', '.join(unknown)}; there are {', '.join(known)}")
    chosen = [variant for variant in question.variants if variant.name in (OURS, *(arguments.variants or known))]
    measurement.require_writable(arguments)
    cases = named.select(arguments.workloads or question.workloads)
    print(f"Building {', '.join(variant.name for variant in chosen)} ...", flush=True)
    variants.build(chosen, not arguments.no_counts)
    counts = {} if arguments.no_counts else {variant.name: variants.counts(variant) for variant in chosen}
    settings = {
        "counts": {
            name: {of: cost for of, cost in found.items() if of.startswith(question.counted)}
            for name, found in counts.items()
        }
    }
    libraries = variants.libraries(chosen)
    found, interrupted = measurement.run(NAME, arguments, cases, libraries, arguments.timed, settings=settings)
    return render.finish(arguments, found, report(found), interrupted)


def report(found: Results) -> Report:
    grid, names = standings.ordered(found), list(found.header["allocators"])
    times = standings.columns(grid, measures.time_ns)
    full = list(tables.all_percentiles(found.latency, names)) if found.latency else [time_table(times, names)]
    full += counts_table(found.header["settings"]["counts"])
    rows = standings.ratios(times, OURS)
    how = (
        f"{layout.medians_of(found.rounds)}, interleaved in random order. {OURS} in nanoseconds for each "
        f"operation; the others as ratios to {OURS}, round by round, with 95 % bootstrap intervals: less is better."
    )
    return Report(
        title="Ways to decide a question",
        answer=[layout.bullets(answer(times, names))],
        pictures=[Picture("", f"Time against {OURS}", "Time of each variant", lambda: plots.ratios(rows, names, OURS, "time"))],
        body=[*full], full=full, notes=[how, *measurement.remarks(found)], leading=0, keeps_tables=False,
        setting=measurement.setting(found),
    )  # fmt: skip


def answer(times: standings.Cases, names: list[str]) -> Iterator[str]:
    for name in names:
        if name != OURS and (over := standings.overall(times, name, OURS)):
            yield f"**{name}** takes {interval_text(over.mean)} times as long as {OURS} over {layout.counted(over.cases, 'case')}."


def time_table(times: standings.Cases, names: list[str]) -> Table:
    table = Table("Time", ["", *(f"{name}, ns" if name == OURS else name for name in names)])
    for case, of in times.items():
        own = interval_text(standings.spread(of[OURS])) if OURS in of else "-"
        ratios = (
            interval_text(standings.ratio(of[name], of[OURS])) if {name, OURS} <= of.keys() else "-"
            for name in names[1:]
        )
        table.rows.append([case, own, *ratios])
    return table


def counts_table(counted: Mapping[str, Mapping[str, Cost]]) -> Iterator[Table]:
    """`counted`: by variant and operation."""
    operations = next(iter(counted.values()), {})
    table = Table("Locked instructions (locks of others) for each operation", ["", *counted])
    for operation in operations:
        costs = (found.get(operation) for found in counted.values())
        table.rows.append([operation, *("-" if cost is None else f"{cost[0]:.3f} ({cost[1]:.3f})" for cost in costs)])
    if table.rows:
        yield table
