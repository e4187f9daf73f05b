"""`lab epochs`: measures what epochs cost and weigh, against pools, and against allocators without epochs."""

import argparse
import dataclasses
import sys
from collections.abc import Iterator, Mapping

from tslab_lab.allocators import installed, sides
from tslab_lab.allocators.catalogue import OURS, SYSTEM
from tslab_lab.base import processes
from tslab_lab.base.shapes import Environment, Figures, Record, Run
from tslab_lab.display import layout
from tslab_lab.display.layout import Part, Table, interval_text, short, three_digits, time_text
from tslab_lab.epoch_cost import ways
from tslab_lab.measure import measurement
from tslab_lab.report import plots, render, tables
from tslab_lab.report.render import Picture, Report
from tslab_lab.results import standings
from tslab_lab.results.storage import Results

NAME = "epochs"
HELP = "what epochs cost and weigh, against pools and other allocators"
DESCRIPTION = "Measures what epochs cost and weigh, against APR's pools, and against allocators without epochs."
ROUNDS = (10, 2)


def nanoseconds(run: Run) -> float | None:
    return run["seconds"] / run["operations"] * 1e9 if "operations" in run else None


def left_percent(run: Run) -> float:
    return 100 * run["left_kib"] / run["grown_kib"]


def page_microseconds(run: Run) -> float:
    return run["seconds"] * 1e6 / run["pages"]


FIGURES: dict[str, tables.Figures] = {
    "request": {"ns": nanoseconds},
    "sizes": {"ns an object": nanoseconds},
    "steps": {"ns (95 % interval)": nanoseconds},
    "crowd": {
        "RSS / asked": lambda run: run["grown_kib"] * 1024 / run["asked_bytes"],
        "RSS, MiB": lambda run: run["grown_kib"] / 1024,
        "left, MiB": lambda run: run["left_kib"] / 1024,
    },
    "reclaim": {
        "MiB": lambda run: run["grown_kib"] / 1024,
        "at close": lambda run: run["at_close_kib"] / 1024,
        "left, %": left_percent,
        "us a page": page_microseconds,
    },
    "many": {
        "growth, KiB": lambda run: run["grown_kib"],
        "bytes each": lambda run: run["grown_kib"] * 1024 / run["epochs"],
    },
    "tenants": {
        "us a request": lambda run: run["seconds"] / run["operations"] * 1e6,
        "misplaced, %": lambda run: 100 * run["misplaced"] / run["kept"] if "kept" in run else None,
        "off, %": lambda run: 100 * run["off_bytes"] / run["live_bytes"] if "live_bytes" in run else None,
        "left, %": left_percent,
    },
}
TITLES = {
    "request": "A request of 225 objects, processor's time (95 % intervals)",
    "sizes": "Requests of 5 KB to 5 MB, processor's time for an object (95 % intervals)",
    "steps": "The steps around a request, processor's time",
    "crowd": "Many requests at once (95 % intervals)",
    "reclaim": "Close with reclaim (95 % intervals)",
    "many": "Many epochs",
    "tenants": "Tenants in turns (95 % intervals)",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    groups = list(ways.GROUPS)
    add = parser.add_argument
    add("--groups", type=installed.words, default=groups, metavar="A,B", help=f"some of: {','.join(groups)}")
    measurement.add_options(parser, seconds=900, rounds=ROUNDS, allocators=("debian", OURS))
    measurement.add_page(parser)


def run(arguments: argparse.Namespace) -> int:
    unknown = [name for name in arguments.groups if name not in ways.GROUPS]
    if unknown or not arguments.groups:
        arguments.error(f"--groups: there is no {', '.join(unknown) or 'name'}; there are {', '.join(ways.GROUPS)}")
    wanted = measurement.rounds_wanted(arguments, ROUNDS)
    measurement.require_writable(arguments)
    libraries = sides.here(arguments.allocators, arguments.library)
    built = ways.build(libraries[OURS].path if OURS in libraries else None)
    if "pool" not in built:
        print("epochs: APR's pools take no part: libapr1-dev and pkg-config are not installed.", file=sys.stderr)
    environments = environments_of(libraries)
    chosen = {
        (way.group, way.name): way
        for way in ways.every(list(libraries))
        if way.group in arguments.groups and way.program in built and way.allocator in environments
    }
    if not chosen:
        raise processes.Failure("Nothing of this can be measured on these allocators: name others with --allocators.")
    plan = {group: [name for of, name in chosen if of == group] for group in arguments.groups}
    facts: dict[str, Record] = {group: {"group": NAME, "title": ways.GROUPS[group], "parameters": {}} for group in plan}

    def measure(group: str, name: str) -> Figures:
        way = chosen[group, name]
        return processes.figures(
            way.argv(arguments.quick), environments[way.allocator], f"{group}: {name} on {way.allocator}"
        )

    named = {
        way.name: dataclasses.replace(libraries[way.allocator], title=f"{way.name} on {way.allocator}")
        for way in chosen.values()
        if way.allocator in libraries
    }
    settings = {"pools": ways.version_of_apr() if "pool" in built else ""}
    found, interrupted = measurement.measured(NAME, arguments, wanted, plan, measure, named, facts, settings=settings)
    return render.finish(arguments, found, report(found), interrupted)


def environments_of(libraries: Mapping[str, installed.Library]) -> dict[str, Environment]:
    """The environment for each allocator, proven to give the programs the malloc that is wanted, and ours to have epochs."""
    request = ways.BUILT / "request"
    proven = {
        name: installed.proven_environment(found, [request, "malloc", "1"], "the program")
        for name, found in libraries.items()
    }
    if OURS in libraries and not processes.ends_well([request, "empty", "1"], proven[OURS]):
        raise processes.Failure(f"{libraries[OURS].path} has no epochs that work: build it anew by `make build`.")
    return {SYSTEM: processes.environment()} | proven


def report(found: Results) -> Report:
    grid = standings.ordered(found)
    body: list[Part] = []
    full: list[Table] = []
    for group, rows in grid.items():
        text = tables.spread_text if group != "request" else tables.median_text
        table = tables.of_runs(TITLES[group], rows, FIGURES[group], text)
        if group == "request":
            add_ratios(table, rows)
        elif group == "sizes":
            add_ratios_to_malloc(table, rows)
        full.append(table)
        body += [f"## {table.title}", ways.GROUPS[group], table.markdown()]
    rows = next(iter(grid.values()))
    times = {name: values for name, runs in rows.items() if (values := standings.column(runs, nanoseconds))}
    order = sorted(times, key=lambda name: standings.middle(times[name]))
    told = ", ".join(f"{name} {time_text(standings.middle(times[name]))}" for name in order)
    pools = found.header["settings"]["pools"]
    return Report(
        title="Epochs: what they cost, and what they weigh",
        answer=list(answer(grid)),
        pictures=[Picture("", "Time of a request, by how it is served", told, lambda: plots.case(times, {}, {}, order))]
        if times
        else [],
        body=body,
        full=full,
        notes=[how_to_read(found), *measurement.remarks(found)],
        keeps_tables=False,
        setting=[
            (name, f"{text}, {pools}" if name == "peers" and pools else text)
            for name, text in measurement.setting(found)
        ],
    )


def fastest_malloc(rows: tables.Rows) -> str | None:
    return tables.best_of({name: runs for name, runs in rows.items() if name.endswith("+free")}, nanoseconds)


def add_ratios(table: Table, rows: tables.Rows) -> None:
    """To the pools, and to the fastest malloc and free."""
    peers = [name for name in (*ways.POOLS, fastest_malloc(rows)) if name in rows]
    divided = tables.against("", rows, {f"/ {name}": (nanoseconds, rows[name]) for name in peers if name})
    table.heads += divided.heads[1:]
    for row, more in zip(table.rows, divided.rows):
        row += more[1:]


def add_ratios_to_malloc(table: Table, rows: tables.Rows) -> None:
    table.heads.append("/ malloc")
    for row, (name, runs) in zip(table.rows, rows.items()):
        size, way = name.split(", ")
        peer = rows.get(f"{size}, malloc")
        row.append("-" if way == "malloc" or not peer else interval_text(tables.ratio_of(runs, peer, nanoseconds)))


def answer(grid: standings.Grid) -> Iterator[str]:
    """What the page says first: paragraphs."""
    rows = grid.get("request", {})
    if ours := rows.get("release"):
        pools = {name: runs for name, runs in rows.items() if name in ways.POOLS[:2]}
        fastest = {"pool of APR": tables.best_of(pools, nanoseconds), "malloc and free": fastest_malloc(rows)}
        ratios = [
            f"{interval_text(tables.ratio_of(ours, rows[name], nanoseconds))} times the fastest {what} ({name})"
            for what, name in fastest.items()
            if name
        ]
        yield f"**A request of 225 objects in an epoch takes {tables.median_text(ours, nanoseconds)} ns**: {', '.join(ratios)}."
    if closed := grid.get("reclaim", {}).get("close, release"):
        left = standings.middle(standings.column(closed, left_percent))
        pages = short(standings.middle(standings.column(closed, page_microseconds)))
        yield f"**Closed with reclaim, an epoch leaves {left:.2g} % of its memory**, for {pages} us a page."
    if sizes := grid.get("sizes"):
        ratios = [
            f"{size} {interval_text(tables.ratio_of(sizes[f'{size}, drain'], sizes[f'{size}, malloc'], nanoseconds))}"
            for size in ("5 KB", "50 KB", "500 KB", "5 MB")
            if f"{size}, drain" in sizes and f"{size}, malloc" in sizes
        ]
        yield f"**An epoch that drains, against plain malloc, by the size of a request**: {', '.join(ratios)}."
    if steps := grid.get("steps"):
        each = ", ".join(
            f"{name} {three_digits(standings.middle(standings.column(runs, nanoseconds)))} ns"
            for name, runs in steps.items()
        )
        yield f"**The steps around it**: {each}."


def how_to_read(found: Results) -> str:
    return (
        f"{layout.medians_of(found.rounds)}; in each, every way is a run of its own, in random order. Ratios "
        "are taken round by round: median (95 % bootstrap interval). Times are the processor's for the process, after a warm-up; "
        "memory is Rss of smaps_rollup. All objects are checked: in the timed runs those of a request before the timing, "
        "elsewhere every one."
    )
