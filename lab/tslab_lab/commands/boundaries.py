"""`lab boundaries`: the same work at largest sizes around every internal limit, to show that none is a cliff."""

import argparse
from collections.abc import Iterator

from tslab_lab.allocators import sides
from tslab_lab.allocators.catalogue import OURS
from tslab_lab.display import layout
from tslab_lab.display.layout import Table, counted, interval_text, mib, short, three_digits
from tslab_lab.estimates.medians import Spread
from tslab_lab.measure import case_runner, measurement
from tslab_lab.report import plots, render, tables
from tslab_lab.report.render import Picture, Report
from tslab_lab.results import measures, standings
from tslab_lab.results.standings import Grid
from tslab_lab.results.storage import Results
from tslab_lab.workloads import held

NAME = "boundaries"
HELP = "the same work at sizes around every internal limit: no cliff in time or memory"
DESCRIPTION = (
    "Replaces random objects whose largest size steps over the limits between classes, slabs, runs and mappings: all "
    "sizes up to it, and that size alone. Shows the time and the memory of each step to the next size, and names the "
    "steps that are more than half as much again as the size tells."
)
STEP_LIMIT = 1.5  # times the neighbour's, either way
Groups = dict[str, dict[int, str]]  # by group, the cases by their largest size


def add_arguments(parser: argparse.ArgumentParser) -> None:
    measurement.add_options(parser, seconds=1800)
    measurement.add_page(parser)
    parser.add_argument("--check", action="store_true", help="exit with 1 where a step of tslab is a cliff")


def run(arguments: argparse.Namespace) -> int:
    measurement.require_writable(arguments)
    cases = case_runner.select(["boundaries"])
    found, interrupted = measurement.run(NAME, arguments, cases, sides.here(arguments.allocators, arguments.library))
    is_cliff = arguments.check and any(cliffs(standings.ordered(found)))
    return render.finish(arguments, found, report(found), interrupted, int(is_cliff))


def groups_of(grid: Grid) -> Groups:
    found: Groups = {}
    for case in grid:
        group, _, size = case.rpartition("-")
        found.setdefault(group, {})[int(size)] = case
    return found


def met(size: int, before: int, ratio: Spread) -> bool | None:
    """Whether a step in time is none: anything from level to in proportion to the size, and half as much again in either
    direction. None: there is no interval."""
    low, high = ratio.ends
    return None if ratio.low is None else low <= STEP_LIMIT * size / before and high >= 1 / STEP_LIMIT


def steps(grid: Grid, sizes: dict[int, str]) -> Iterator[tuple[int, int, Spread]]:
    """Of ours: a size, the one before, and how the time grows."""
    order = [size for size in sorted(sizes) if OURS in grid[sizes[size]]]
    for before, size in zip(order, order[1:]):
        if ratio := tables.ratio_of(grid[sizes[size]][OURS], grid[sizes[before]][OURS], measures.time_ns):
            yield size, before, ratio


def cliffs(grid: Grid) -> Iterator[str]:
    """Steps of ours in time, either way, and in memory beyond what the larger objects weigh."""
    for group, sizes in groups_of(grid).items():
        for size, before, ratio in steps(grid, sizes):
            where = f"{group}-{size}, from {before:,} bytes"
            if met(size, before, ratio) is False:
                yield f"{where}: time {interval_text(ratio)}"
            now, then = (
                standings.middle(standings.column(grid[sizes[at]][OURS], measures.over_live)) for at in (size, before)
            )
            if now / then > STEP_LIMIT:
                yield f"{where}: memory for each live byte {now / then:.2f}"


def report(found: Results) -> Report:
    grid, names = standings.ordered(found), list(found.header["allocators"])
    groups, found_cliffs = groups_of(grid), list(cliffs(grid))
    times, peaks = (standings.columns(grid, figure) for figure in (measures.time_ns, measures.peak_kib))
    curves: dict[str, tuple[plots.Curves, ...]] = {
        group: tuple(
            {
                name: [
                    (float(size), standings.middle(of[case][name]))
                    for size, case in sizes.items()
                    if name in of.get(case, {})
                ]
                for name in names
            }
            for of in (times, peaks)
        )
        for group, sizes in groups.items()
    }
    judged = OURS in names and found.rounds > 1
    sentence = (
        f"**{OURS} has {counted(len(found_cliffs), 'cliff')}:**"
        if found_cliffs
        else f"**No step of {OURS} is a cliff.**"
    )
    full = [tables.medians("Time per operation, ns", times, names), tables.medians("Peak RSS, MiB", peaks, names, 1024)]
    rule = (
        f"{layout.medians_of(found.rounds)}; in brackets: how the time grew from the size before, divided by how "
        "the size grew. A step is a cliff where the time grows more than the size, or shrinks, by more than half as much again. "
        "boundaries: sizes from 16 bytes to this one; edges: this size alone. Dashed: where something ends inside of the engine."
    )
    told = "Time of an operation and peak RSS over the size of objects"
    return Report(
        title="Time and memory over the size of objects",
        answer=[sentence, layout.bullets(found_cliffs)] if judged else [],
        pictures=[Picture("", "Time and RSS over the size", told, lambda: plots.curves(curves, held.ENGINE_LIMITS))],
        body=[steps_table(grid, group, sizes) for group, sizes in groups.items()],
        full=full,
        notes=[rule, *measurement.remarks(found)],
        setting=measurement.setting(found),
    )


def steps_table(grid: Grid, group: str, sizes: dict[int, str]) -> Table:
    """Ours, and the best of the others at each size."""
    heads = ["up to", OURS, "step", "best other", f"{OURS}, MiB", "leanest other"]
    table = Table(f"{group}: time of an operation, ns; peak RSS, MiB", heads)
    grown = {size: (before, ratio) for size, before, ratio in steps(grid, sizes)}
    for size, case in sizes.items():
        time, peak = (
            standings.columns({case: grid[case]}, figure).get(case, {})
            for figure in (measures.time_ns, measures.peak_kib)
        )
        cell, verdict = short(standings.middle(time[OURS])) if OURS in time else "-", None
        if size in grown:
            before, ratio = grown[size]
            cell, verdict = f"{cell} ({three_digits(ratio.middle * before / size)})", met(size, before, ratio)
        best, lean = tables.rival(time), tables.rival(peak)
        table.rows.append([
            f"{size:,}", cell, "-" if verdict is None else "met" if verdict else "OVER",
            f"{best} {short(standings.middle(time[best]))}" if best else "-",
            mib(standings.middle(peak[OURS])) if OURS in peak else "-", f"{lean} {mib(standings.middle(peak[lean]))}" if lean else "-",
        ])  # fmt: skip
    return table
