"""`lab bench`: workloads and real programs on tslab and on the other allocators, in rounds, as ratios with spread."""

import argparse
import functools
from collections.abc import Iterator, Mapping

from rich.console import Console

from tslab_lab.allocators import sides
from tslab_lab.allocators.catalogue import OURS
from tslab_lab.display import layout
from tslab_lab.display.layout import Part, Table, counted, interval_text, mib, time_text
from tslab_lab.measure import case_runner, measurement
from tslab_lab.real import programs
from tslab_lab.report import plots, render, tables
from tslab_lab.report.render import Picture, Report
from tslab_lab.results import marks, measures, standings
from tslab_lab.results.standings import Cases
from tslab_lab.results.storage import Results
from tslab_lab.workloads import named

NAME = "bench"
HELP = "workloads and real programs on every allocator: time and memory, as ratios with spread"
DESCRIPTION = (
    "Runs workloads on all allocators that are here (`lab peers` shows them), in rounds and in random order, and shows "
    "time, memory, and who wins. WORKLOAD is a name, a name with parameters (mixed-remote:threads=8,remote=50), a pattern "
    "(remote*), or a set; --list shows them all."
)
NAMES_SHOWN = 4  # one by one, in a sentence
NEAR = 1.1
TITLES = {"tcmalloc": "tcmalloc, gperftools", "google": "tcmalloc, Google", "glibc": "glibc", OURS: OURS}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("workloads", nargs="*", metavar="WORKLOAD", help="what to run (default: the set standard; with --quick: quick)")
    measurement.add_options(parser, seconds=5400)
    measurement.add_littered(parser)
    parser.set_defaults(more="workloads")
    measurement.add_page(parser)
    add("--list", action="store_true", help="list workloads, programs and sets, and run nothing")


def run(arguments: argparse.Namespace) -> int:
    if arguments.list:
        return show_list()
    measurement.require_writable(arguments)
    cases = case_runner.select(arguments.workloads or ["quick" if arguments.quick else "standard"])
    libraries = sides.here(arguments.allocators, arguments.library)
    found, interrupted = measurement.run(NAME, arguments, cases, libraries)
    return render.finish(arguments, found, report(found), interrupted)


def report(found: Results) -> Report:
    grid, names = standings.ordered(found), list(found.header["allocators"])
    times, peaks, afters = (
        standings.columns(grid, figure) for figure in (measures.time_ns, measures.peak_kib, measures.after_kib)
    )
    full = [tables.medians("Time per operation, ns", times, names), tables.medians("Peak RSS, MiB", peaks, names, 1024)]
    full += [tables.medians("RSS after, MiB", afters, names, 1024)] if afters else []
    full += filter(None, [tables.facts(grid, names)])
    compared: list[Table] = []
    if OURS in names and len(names) > 1:
        compared = [tables.overview(grid, names, True)]
        compared += filter(None, [tables.beside(grid, names, marks.LITTERED in found.header["marks"])])
    body: list[Part] = [*compared, *(["## Each case", tables.compact(times, peaks)] if compared else full)]
    measured = {"time": times, "peak RSS": peaks}
    return Report(
        title=f"{OURS} against other allocators",
        answer=[layout.bullets(answer(measured, names, render.base_of(found)))],
        pictures=list(pictures(found, measured, afters, names)),
        body=body,
        full=[*compared, *full],
        notes=[how_to_read(found), *measurement.remarks(found)],
        setting=measurement.setting(found),
    )


def answer(measured: Mapping[str, Cases], names: list[str], ours: str) -> Iterator[str]:
    """In words, less than ours being below 1."""
    for title, cases in measured.items():
        what, words = (
            title[0].upper() + title[1:],
            ("faster", "level", "slower") if title == "time" else ("less", "level", "more"),
        )
        if len(cases) == 1:
            ((case, found),) = cases.items()
            order = sorted(found, key=lambda name: standings.middle(found[name]))
            text = {"time": time_text}.get(title, lambda kib: f"{mib(kib)} MiB")
            yield f"**{what}** of {case}: {', '.join(f'{name} {text(standings.middle(found[name]))}' for name in order)}."
            continue
        over = {name: value for name in names if name != ours and (value := standings.overall(cases, name, ours))}
        parts = []
        for state, word in zip((standings.WINS, standings.LEVEL, standings.LOSES, None), (*words, "")):
            chosen = [name for name, (mean, _, rounds) in over.items() if standings.verdict(mean, rounds) == state]
            texts = [
                f"{name} {interval_text(over[name].mean)}"
                for name in sorted(chosen, key=lambda name: over[name].mean.middle)
            ]
            if len(texts) > NAMES_SHOWN:
                texts = [f"{len(texts)} others, from {texts[0]} to {texts[-1]}"]
            parts += [f"{word}: {', '.join(texts)}".removeprefix(": ")] if texts else []
        yield f"**{what}** over {counted(len(cases), 'workload')}, {ours} = 1: {'; '.join(parts)}."
    for title, cases in measured.items():
        shared = [found for found in cases.values() if ours in found and len(found) > 1]
        if not shared or len(cases) == 1:
            continue
        ratios = [
            standings.ratio(of[ours], of[standings.best({k: v for k, v in of.items() if k != ours}) or ours])
            for of in shared
        ]
        near = sum(ratio.middle <= NEAR for ratio in ratios if ratio)
        first = standings.leaders(cases).get(ours, 0)
        yield f"{ours} has the least {title} in {first} of {counted(len(shared), 'workload')}, and within {NEAR:g} of the least in {near}."


def pictures(found: Results, measured: Mapping[str, Cases], afters: Cases, names: list[str]) -> Iterator[Picture]:
    ours = render.base_of(found)
    times, peaks = measured.values()
    if len(times) == 1 or len(names) == 1:
        for case in times:
            draw = functools.partial(plots.case, times[case], peaks.get(case, {}), afters.get(case, {}), names)
            yield Picture(
                "" if len(times) == 1 else case, f"{case}: medians of the rounds", f"{case}: time and memory", draw
            )
        return
    means = [
        {name: one.mean for name in names if (one := standings.overall(cases, name, ours))}
        for cases in measured.values()
    ]
    told = ", ".join(
        f"{name} {means[0][name].middle:.2f} and {means[1][name].middle:.2f}" for name in means[0] if name in means[1]
    )
    if len(means[0].keys() & means[1].keys()) > 1:
        title = f"All workloads at a glance: geometric means, {ours} = 1, with 95 % intervals"
        text = f"Time and peak RSS over all cases, {ours} = 1: {told}"
        yield Picture("", title, text, lambda: plots.overview(means[0], means[1], ours, titles(found)))
    for title, cases in measured.items():
        rows = standings.ratios(cases, ours)
        draw = functools.partial(plots.ratios, rows, names, ours, title)
        if rows:
            yield Picture(
                title.replace(" ", "-"), f"{title} against {ours}", f"{title} of each allocator against {ours}", draw
            )


def titles(found: Results) -> dict[str, str]:
    """What readers outside of the lab call the allocators: the versions of one by their numbers."""
    plain = {
        name: facts["version"].partition("+")[0].partition("-")[0] for name, facts in found.header["allocators"].items()
    }
    return {
        name: TITLES.get(name, name if "@" in name else f"{name.rstrip('0123456789')} {version}")
        for name, version in plain.items()
    }


def how_to_read(found: Results) -> str:
    return (
        f"{layout.medians_of(found.rounds)}, all in random order. Ratios are taken round by round: median (95 % "
        "bootstrap interval). Time: the processor's for real programs and where there is one thread, else wall clock, after a "
        "warm-up. Peak RSS is all of the process. All objects are written and checked, and the work was the same on all allocators."
    )


def show_list() -> int:
    console = Console()
    for title, lines in (("Workloads", named.listing()), ("Programs", programs.listing()), ("Sets", named.sets())):
        console.print(f"{title}:", markup=False)
        for name, text in lines:
            console.print(f"  {name:<18} {text}", markup=False, highlight=False, soft_wrap=True)
    return 0
