"""`lab boundaries`: the same work at largest sizes around every internal limit, to show that none is a cliff."""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tslab_lab.allocators import sides
from tslab_lab.allocators.catalogue import OURS
from tslab_lab.base import processes
from tslab_lab.display import layout
from tslab_lab.measure import case_runner, measurement
from tslab_lab.report import bench_tables, make
from tslab_lab.results import case_runs, measures
from tslab_lab.results.case_runs import CaseRuns
from tslab_lab.results.storage import Results

NAME = "boundaries"
HELP = "the same work at sizes around every internal limit: no cliff in time or memory"
DESCRIPTION = (
    "Replaces random objects whose largest size steps over the limits between classes, slabs, runs and mappings: all "
    "sizes up to it, and that size alone. Shows the time and the memory of each step to the next size, and names the "
    "steps that are more than half as much again as the size tells."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    measurement.add_options(parser, seconds=1800)
    measurement.add_page(parser)
    parser.add_argument("--check", action="store_true", help="exit with 1 where a step of tslab is a cliff")
    parser.add_argument("--no-figures", action="store_true", help="draw nothing")


def run(arguments: argparse.Namespace) -> int:
    measurement.require_writable(arguments)
    cases = case_runner.select(["boundaries"])
    found, interrupted = measurement.run(NAME, arguments, cases, sides.here(arguments.allocators, arguments.library))
    listed = case_runs.of(found, cases)
    if not listed:
        raise processes.Failure(f"No round was complete. The results so far are in {found.path}.")
    names = list(found.header["allocators"])
    paragraphs = paragraphs_of(found)
    layout.show(layout.console(), tables_of(listed, names), paragraphs, measurement.setting(found))
    cliffs = list(case_runs.cliffs(listed)) if OURS in names else []
    for line in cliffs:
        print(f"cliff: {line}")
    if not cliffs and OURS in names and found.rounds > 1:
        print(f"No step of {OURS} is a cliff.")
    measurement.write_page(arguments, found, page)
    if not arguments.no_figures:
        make.make(found)
    return measurement.end(found, interrupted, 1 if cliffs and arguments.check else 0)


def paragraphs_of(found: Results) -> list[str]:
    """What the tables must be read with."""
    return [
        f"{layout.medians_of(found.rounds)}; in brackets: how the time grew from the size before, divided by how "
        "the size grew. A step is a cliff where the time grows more than the size, or shrinks, by more than half as much again.",
        *measurement.remarks(found),
    ]


def page(found: Results, path: Path) -> str:
    """Of a file of results, in Markdown; its figure goes beside `path`."""
    listed = case_runs.of(found, case_runner.select(found.header["cases"]))
    cliffs = list(case_runs.cliffs(listed))
    sentences, picture = make.answer(found, path, "Time and RSS over the size")
    parts: list[layout.Part] = [*sentences, *(["\n".join(f"- {line}" for line in cliffs)] if cliffs else [])]
    names = list(found.header["allocators"])
    more = layout.keep_tables(path, tables_of(listed, names))
    parts += [*picture, *short_tables(listed), *paragraphs_of(found), more]
    return layout.markdown_page("Time and memory over the size of objects", parts, measurement.setting(found))


def tables_of(listed: Sequence[CaseRuns], names: Sequence[str]) -> Iterator[layout.Table]:
    for group, chosen in case_runs.stepping(listed):
        for some in (names[at : at + COLUMNS] for at in range(0, len(names), COLUMNS)):
            yield bench_tables.steps_table(group, chosen, some, OURS)
            yield memory_table(group, chosen, some)


def short_tables(listed: Sequence[CaseRuns]) -> Iterator[layout.Table]:
    """Ours, and the best of the others at each size."""
    for group, chosen in case_runs.stepping(listed):
        steps = bench_tables.steps_table(group, chosen, [OURS], OURS)
        table = layout.Table(
            f"{group}: time of an operation, ns; peak RSS, MiB",
            ["up to", OURS, "step", "best other", f"{OURS}, MiB", "leanest other"],
        )
        for (size, time, met), outcome in zip(steps.rows, chosen):
            best = outcome.best(measures.time_ns)
            lean = outcome.best(measures.peak_kib)
            fast = f"{best} {layout.short(outcome.median(best, measures.time_ns))}" if best else "-"
            small = f"{lean} {layout.short(outcome.median(lean, measures.peak_kib) / 1024)}" if lean else "-"
            weight = layout.short(outcome.median(OURS, measures.peak_kib) / 1024) if OURS in outcome.runs else "-"
            table.rows.append([size, time, met, fast, weight, small])
        yield table


COLUMNS = 4  # allocators that fit a terminal of 80 columns


def memory_table(group: str, chosen: Iterable[CaseRuns], names: Sequence[str]) -> layout.Table:
    table = layout.Table(f"{group}: peak RSS, MiB", ["up to", *names])
    for outcome in chosen:
        cells = bench_tables.marked(outcome, names, measures.peak_kib, 1024)
        table.rows.append([f"{outcome.case.largest:,}", *cells])
    return table
