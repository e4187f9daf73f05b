"""`lab latency`: how long single operations take, to the 99.99th percentile and the longest, on every allocator."""

import argparse
from collections.abc import Iterator, Mapping

from tslab_lab.allocators import sides
from tslab_lab.allocators.catalogue import OURS
from tslab_lab.base import processes
from tslab_lab.base.shapes import Record
from tslab_lab.display import layout
from tslab_lab.display.figures import Canvas
from tslab_lab.display.layout import Table, counted, short, three_digits, time_text
from tslab_lab.estimates.histogram import SHARES, Histogram, pooled
from tslab_lab.estimates.medians import Spread
from tslab_lab.measure import case_runner, measurement
from tslab_lab.real import paced
from tslab_lab.report import plots, render, tables
from tslab_lab.report.render import Picture, Report
from tslab_lab.results import standings
from tslab_lab.results.storage import Results

NAME = "latency"
HELP = "how long single operations take: p50 to p99.99 and the longest"
DESCRIPTION = (
    "Runs workloads in a build that times every malloc, free, calloc and realloc by itself into a histogram with buckets "
    "of 1 %, and shows percentiles for each kind of operation and allocator. What the timer itself takes is measured and "
    "stated, and is part of every figure. A percentile is shown only where at least ten times were beyond it. The servers redis, "
    "nginx and postgres get requests at a fixed rate, and the time of a request counts from when it is due."
)
SHOWN = 0.999  # of the picture, where there are several kinds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="what to run (default: the set latency)")
    measurement.add_options(parser, seconds=1800)
    measurement.add_littered(parser)
    parser.set_defaults(more="workloads")
    measurement.add_page(parser)


def run(arguments: argparse.Namespace) -> int:
    measurement.require_writable(arguments)
    cases = case_runner.select(arguments.workloads or ["latency"])
    libraries = sides.here(arguments.allocators, arguments.library)
    found, interrupted = measurement.run(NAME, arguments, cases, libraries, True)
    if not found.latency:
        raise processes.Failure(f"No operation was timed. The results so far are in {found.path}.")
    return render.finish(arguments, found, report(found), interrupted)


def report(found: Results) -> Report:
    names = list(found.header["allocators"])
    kinds = tables.kinds(found.latency)
    values = {
        f"{case}: {operation}": {name: pooled(map(Histogram.from_line, lines)) for name, lines in by_name.items()}
        for (case, operation), by_name in kinds.items()
    }
    return Report(
        title="How long single operations take",
        answer=[*filter(None, [over_all(values, names)])] or [layout.bullets(rare(values))],
        pictures=list(pictures(values, kinds, names)),
        body=[rare_table(values)],
        full=list(tables.all_percentiles(found.latency, names)),
        notes=[how_to_read(found), *measurement.remarks(found)],
        setting=measurement.setting(found),
    )


Pooled = Mapping[str, Mapping[str, Histogram]]  # by kind of operation and allocator


def against_ours(values: Pooled) -> dict[str, dict[str, float]]:
    """One percentile of each kind as a ratio to ours, as far as it is supported."""
    found = {
        kind: {name: ns for name, one in by_name.items() if (ns := one.percentile_ns(SHOWN))}
        for kind, by_name in values.items()
    }
    return {
        kind: {name: ns / of[OURS] for name, ns in of.items()}
        for kind, of in found.items()
        if OURS in of and len(of) > 1
    }


def over_all(values: Pooled, names: list[str]) -> str:
    """Of many kinds of operations. Who took part in a few alone is not comparable to the others over all."""
    ratios = against_ours(values)
    if len(ratios) < 2:
        return ""
    means = {
        name: standings.geometric_mean(found)
        for name in names
        if name != OURS and len(found := [of[name] for of in ratios.values() if name in of]) * 4 >= len(ratios) * 3
    }
    texts = [f"{name} {means[name]:.2f}" for name in sorted(means, key=means.__getitem__)]
    return f"**p{100 * SHOWN:g}** over {counted(len(ratios), 'kind')} of operations, {OURS} = 1: {', '.join(texts)}."


def rare(values: Pooled) -> Iterator[str]:
    """For each kind of operation the highest percentile that all support."""
    for kind, by_name in values.items():
        for share in reversed(SHARES):
            found = {name: ns for name, one in by_name.items() if (ns := one.percentile_ns(share)) is not None}
            if len(found) == len(by_name):
                texts = [f"{name} {time_text(found[name])}" for name in sorted(found, key=found.__getitem__)]
                yield f"{kind}, **p{100 * share:g}**: {', '.join(texts)}."
                break


def pictures(
    values: Pooled, kinds: Mapping[tuple[str, str], Mapping[str, list[Record]]], names: list[str]
) -> Iterator[Picture]:
    ratios = {
        kind: {name: Spread(ratio, None, None) for name, ratio in of.items()}
        for kind, of in against_ours(values).items()
    }
    what = f"p{100 * SHOWN:g}"
    if len(ratios) > 1:
        told = f"{what} of each kind of operation against {OURS}"
        yield Picture(
            "", "The rare ones of each kind of operation", told, lambda: plots.ratios(ratios, names, OURS, what)
        )
    for case, operation in kinds:
        kind = f"{case}: {operation}"

        def draw(kind: str = kind) -> Canvas | None:
            curves = {name: one.curve() for name, one in values[kind].items()}
            curves = {name: curve for name, curve in curves.items() if curve[0]}
            return plots.latency(curves) if curves else None

        name = "" if len(kinds) == 1 else f"{case}-{operation}"
        yield Picture(name, f"{kind}, all rounds together", f"Percentiles of the times of {operation} in {case}", draw)


def how_to_read(found: Results) -> str:
    timers = sorted({line["timer_ns"] for line in found.latency})
    span = f"{timers[0]:.0f}" if timers[0] == timers[-1] else f"{timers[0]:.0f} to {timers[-1]:.0f}"
    is_paced = any(line["operation"] == paced.OPERATION for line in found.latency)
    pace = "Requests to servers come at a fixed rate, and count from when they are due. " * is_paced
    return (
        f"Nanoseconds, all rounds together. Each figure contains the timer's own {span} ns. {pace}The longest times are "
        "mostly the kernel's: page faults, and other work on the machine. '-': fewer than ten times were beyond it. Ratios of "
        "percentiles are of all rounds together, too, and have no intervals."
    )


def rare_table(values: Pooled) -> Table:
    """A row for each kind of operation: ours, and the allocator whose rare operations take the least time."""
    table = Table("Rare operations, ns", ["", f"{OURS}: p99", "p99.9", "p99.99", "least p99.9 of the others", "ratio"])
    for kind, by_name in values.items():
        found = {name: [one.percentile_ns(share) for share in SHARES[2:]] for name, one in by_name.items()}
        own = found.get(OURS)
        if own is None or own[1] is None:
            continue
        rest = {name: ns[1] for name, ns in found.items() if not sides.is_ours(name) and ns[1] is not None}
        least = min(rest, key=lambda name: rest[name] or 0, default=None)
        best = (
            ["-", "-"]
            if least is None
            else [f"{least} {short(rest[least])}", three_digits(own[1] / (rest[least] or 1))]
        )
        table.rows.append([kind, *map(short, own), *best])
    return table
