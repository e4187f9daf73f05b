"""`lab latency`: how long single operations take, to the 99.99th percentile and the longest, on every allocator."""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path

from tslab_lab.allocators import sides, variants
from tslab_lab.allocators.catalogue import OURS
from tslab_lab.base import processes
from tslab_lab.base.shapes import Latency
from tslab_lab.display import layout
from tslab_lab.measure import case_runner, measurement
from tslab_lab.real import paced
from tslab_lab.real.programs import Program
from tslab_lab.report import make
from tslab_lab.results import latencies
from tslab_lab.results.storage import Results
from tslab_lab.workloads.catalogue import SOURCES

NAME = "latency"
HELP = "how long single operations take: p50 to p99.99 and the longest"
DESCRIPTION = (
    "Runs workloads in a build that times every malloc, free, calloc and realloc by itself into a histogram with buckets "
    "of 1 %, and shows percentiles for each kind of operation and allocator. What the timer itself takes is measured and "
    "stated, and is part of every figure. A percentile is shown only where at least ten times were beyond it. The servers redis, "
    "nginx and postgres get requests at a fixed rate, and the time of a request counts from when it is due. With "
    "--slowest, tslab is built with its probes (docs/tracing.md) calling the workload, and what the slowest thousandth of all "
    "calls did is shown instead."
)
PROBED = variants.Variant("probed", probes=SOURCES / "probes")
SHARES = latencies.SHARES
RARE = SHARES[2:]
PERCENTILES = ("p50", "p90", "p99", "p99.9", "p99.99")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("workloads", nargs="*", metavar="WORKLOAD", help="what to run (default: the set latency)")
    measurement.add_options(parser, seconds=1800)
    measurement.add_littered(parser)
    measurement.add_page(parser)
    add("--slowest", action="store_true", help="show what the slowest thousandth did, of tslab as it is here")


def run(arguments: argparse.Namespace) -> int:
    measurement.require_writable(arguments)
    cases = case_runner.select(arguments.workloads or ["latency"])
    if arguments.slowest:
        programs_named = [case.name for case in cases if isinstance(case, Program)]
        if programs_named:
            arguments.error(f"--slowest looks into workloads: it goes not with {', '.join(programs_named)}")
        if arguments.library:
            arguments.error("--slowest builds the library that it measures: it goes with no --library")
        variants.build([PROBED], False)
        arguments.library = PROBED.library
    libraries = sides.here(arguments.allocators, arguments.library)
    found, interrupted = measurement.run(NAME, arguments, cases, libraries, True, causes=arguments.slowest)
    if not found.latency:
        raise processes.Failure(f"No operation was timed. The results so far are in {found.path}.")
    if arguments.slowest:
        layout.show(layout.console(), slowest_of(found), [HOW_TO_READ_CAUSES], measurement.setting(found))
        return measurement.end(found, interrupted)
    paragraphs = [how_to_read(found), *measurement.remarks(found)]
    layout.show(layout.console(), tables_of(found), paragraphs, measurement.setting(found))
    measurement.write_page(arguments, found, page)
    return measurement.end(found, interrupted)


def page(found: Results, path: Path) -> str:
    """Of a file of results, in Markdown; its figure goes beside `path`."""
    sentences, picture = make.answer(found, path, "The rare ones of each kind of operation")
    more = layout.keep_tables(path, tables_of(found))
    parts: list[layout.Part] = [
        *sentences,
        *picture,
        rare_table(found),
        how_to_read(found),
        *measurement.remarks(found),
        more,
    ]
    return layout.markdown_page("How long single operations take", parts, measurement.setting(found))


def how_to_read(found: Results) -> str:
    timers = sorted({line["timer_ns"] for line in found.latency})
    span = f"{timers[0]:.0f}" if timers[0] == timers[-1] else f"{timers[0]:.0f} to {timers[-1]:.0f}"
    return (
        f"Nanoseconds, all rounds together. Each figure contains the timer's own {span} ns. {_paced(found)}The longest times are "
        "mostly the kernel's: page faults, and other work on the machine. '-': fewer than ten times were beyond it. Ratios of "
        "percentiles are of all rounds together, too, and have no intervals."
    )


def _paced(found: Results) -> str:
    if any(line["operation"] == paced.OPERATION for line in found.latency):
        return "Requests to servers come at a fixed rate, and count from when they are due. "
    return ""


HOW_TO_READ_CAUSES = (
    "The slowest thousandth of all calls, by the first of these that a call did. What it took part in further down the list "
    "is not shown. The times contain those of finding out, so they are not to be quoted."
)


def slowest_of(found: Results) -> Iterator[layout.Table]:
    """Of each kind of operation, a row for each allocator and cause."""
    kinds = dict.fromkeys((line["case"], line["operation"]) for line in found.latency)
    for case, operation in kinds:
        table = layout.Table(
            f"{case}: {operation}", ["the slowest 0.1 %", "calls", "of them", "of their time", "ns a call", "faults"]
        )
        for name in found.header["allocators"]:
            chosen = [
                x for x in found.latency if (x["case"], x["operation"], x["allocator"]) == (case, operation, name)
            ]
            for one in latencies.slowest(chosen):
                shares = [f"{share:.1%}" for share in (one.share, one.time_share)]
                cells = [_count(round(one.calls)), *shares, layout.short(one.ns), f"{one.faults:.2f}"]
                table.rows.append([f"{name}: {one.cause}", *cells])
        yield table


def tables_of(found: Results) -> Iterator[layout.Table]:
    names = list(found.header["allocators"])
    for case in found.header["cases"]:
        lines = [line for line in found.latency if line["case"] == case]
        for operation in dict.fromkeys(line["operation"] for line in lines):
            chosen = {
                name: [x for x in lines if x["allocator"] == name and x["operation"] == operation] for name in names
            }
            yield table_of(f"{case}: {operation}", chosen)


def rare_table(found: Results) -> layout.Table:
    """A row for each kind of operation: ours, and the allocator whose rare operations take the least time."""
    table = layout.Table(
        "Rare operations, ns", ["", f"{OURS}: p99", "p99.9", "p99.99", "least p99.9 of the others", "ratio"]
    )
    kinds = dict.fromkeys((line["case"], line["operation"]) for line in found.latency)
    for case, operation in kinds:
        rows: dict[str, list[Latency]] = {}
        for line in found.latency:
            if (line["case"], line["operation"]) == (case, operation):
                rows.setdefault(line["allocator"], []).append(line)
        values = {
            name: [latencies.percentile_ns(*latencies.pooled(some), share) for share in RARE]
            for name, some in rows.items()
        }
        own = values.get(OURS)
        if own is None or own[1] is None:
            continue  # fewer operations than have a percentile
        rest = {
            name: rare for name, some in values.items() if not sides.is_ours(name) and (rare := some[1]) is not None
        }
        least = min(rest, key=rest.__getitem__, default=None)
        best, ratio = ("-", "-") if least is None else (f"{least} {layout.short(rest[least])}", "-")
        if least is not None:
            ratio = layout.three_digits(own[1] / rest[least])
        table.rows.append(
            [f"{case}: {operation}", *("-" if one is None else layout.short(one) for one in own), best, ratio]
        )
    return table


def table_of(title: str, chosen: Mapping[str, list[Latency]]) -> layout.Table:
    """`chosen`: by allocator, the histograms of all rounds."""
    table = layout.Table(title, ["ns", "count", *PERCENTILES, "longest"])
    for name, histograms in chosen.items():
        if not histograms:
            continue
        buckets, count, most = latencies.pooled(histograms)
        values = [latencies.percentile_ns(buckets, count, most, share) for share in SHARES]
        cells = ["-" if value is None else layout.short(value) for value in values]
        table.rows.append([name, _count(count), *cells, layout.short(most)])
    return table


def _count(count: int) -> str:
    return f"{layout.three_digits(count / 1e6)} M" if count >= 1e6 else f"{count:,}"
