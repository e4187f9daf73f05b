"""`lab requests`: drives a real HTTP server at a fixed rate, on tslab under every epoch policy and on other
allocators, and shows what that does to its latency and memory."""

import argparse
import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tslab_lab.allocators import installed, sides, variants
from tslab_lab.allocators.catalogue import OURS
from tslab_lab.base import processes
from tslab_lab.base.shapes import Environment, Figures, Record
from tslab_lab.display.layout import Part, Table, interval_text, short, three_digits
from tslab_lab.measure import measurement
from tslab_lab.memory import series
from tslab_lab.report import plots, render, tables
from tslab_lab.report.render import Picture, Report
from tslab_lab.request_server import driver, figures, scattered
from tslab_lab.request_server.figures import CLIENT, CPU, SCATTERED, SERVER, WALL
from tslab_lab.results import standings
from tslab_lab.results.measures import Figure
from tslab_lab.results.storage import Results
from tslab_lab.workloads.catalogue import SETTLE

NAME = "requests"
HELP = "a real HTTP server under load, on every epoch policy and allocator"
DESCRIPTION = "Drives a real HTTP server at a fixed rate, on tslab under every epoch policy and on other allocators."

INSIDE, DEFERRED = "inside", "deferred"
POLICIES = ("never", "per-request", "batch-16", "interval-50", "manual", INSIDE)
POLICY = re.compile(r"never|per-request|batch-[1-9][0-9]*|interval-[1-9][0-9]*|manual|inside")
STUDY: dict[str, Any] = {"requests": 1200, "session_percent": 0, "policies": ["never"], "scenarios": [SERVER]}
LONGEST_SECONDS = 80  # of one load: what runs longer counts as hung
ROUNDS = (10, 1)
WITH_EPOCHS = f"{OURS}, epochs"  # the scattered survivors, in an epoch of their own
SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
LIMITS = {"requests": (1, 10_000_000), "rate": (1, 100_000), "workers": (2, 64), "session_percent": (0, 100),
          "session_limit": (0, 1 << 20)}  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add, words = parser.add_argument, installed.words
    measurement.add_options(parser, seconds=1500, rounds=ROUNDS, allocators=("debian", OURS))
    add("--scenarios", type=words, metavar="A,B", help=f"some of: {SERVER},{SCATTERED} (default: both)")
    inside = "'inside' is per-request with the sessions inside of the requests' epochs"
    add(
        "--policies", type=words, metavar="P,P", help=f"of TSLAB_EPOCH_POLICY; {inside} (default: {','.join(POLICIES)})"
    )
    add("--preset", choices=["study"], help="study: 1,200 requests, 4 workers, policy never, the server alone")
    add("--requests", type=int, help="of each run (default: 6000)")
    add("--rate", type=int, default=2000, help="requests a second (default: %(default)s)")
    add("--workers", type=int, default=4, help="threads of the server (default: %(default)s)")
    add("--session-percent", type=int, help="of the requests make a session (default: 20; of study: 0)")
    add("--session-limit", type=int, default=1000, help="sessions at once (default: %(default)s)")
    add(
        "--deferred",
        action="store_true",
        help="also a build that recycles only at close, which this makes (lab/variants)",
    )
    measurement.add_page(parser)


def complete(arguments: argparse.Namespace) -> None:
    """What was not said comes from the preset, else from the defaults; what makes no sense is refused."""
    error, requests = arguments.error, 1000 if arguments.quick else 6000
    defaults = {
        "requests": requests,
        "session_percent": 20,
        "policies": list(POLICIES),
        "scenarios": [SERVER, SCATTERED],
    }
    for name, value in (defaults | (STUDY if arguments.preset else {})).items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, value)
    arguments.rounds = measurement.rounds_wanted(arguments, ROUNDS)
    measurement.require_writable(arguments)
    for name, (least, most) in LIMITS.items():
        if not least <= getattr(arguments, name) <= most:
            error(f"--{name.replace('_', '-')} must be from {least:,} to {most:,}")
    if unknown := [policy for policy in arguments.policies or [""] if not POLICY.fullmatch(policy)]:
        error(f"--policies: there is no {', '.join(unknown)}; there are {', '.join(POLICIES)}, also with other numbers")
    if strange := set(arguments.scenarios or [""]) - {SERVER, SCATTERED}:
        error(f"--scenarios: there is no {', '.join(sorted(strange))}; there are {SERVER} and {SCATTERED}")
    clients = load_of(arguments).clients
    if arguments.requests < clients:
        error(f"--requests must be at least {clients}, one for each connection that this --rate needs")
    if arguments.requests / arguments.rate > LONGEST_SECONDS:
        error(f"--requests at this --rate take longer than {LONGEST_SECONDS} s: fewer, or more --rounds instead")
    if arguments.deferred and not sides.have_ours(arguments.allocators):
        error(f"--deferred is compared with {OURS}, which --allocators leaves out")


def load_of(arguments: argparse.Namespace) -> driver.Load:
    quick = arguments.quick
    names = ("requests", "rate", "workers", "session_percent", "session_limit")
    load = driver.Load(
        **{name: getattr(arguments, name) for name in names}, warm_up=0, idle_seconds=0.3 if quick else 2.0
    )
    return dataclasses.replace(load, warm_up=max(load.clients, 100 if quick else 400))


def run(arguments: argparse.Namespace) -> int:
    complete(arguments)
    if arguments.deferred:
        print("Building the variant that recycles only at close ...", flush=True)
        variants.build((variants.DEFERRED,), False)
    libraries = sides.here(arguments.allocators, arguments.library)
    load = load_of(arguments)
    work = scattered.WORK | ({"requests": 40, SETTLE: 100} if arguments.quick else {})
    driver.prepare()
    environments = environments_of(libraries, arguments)
    server = [name for name in libraries if name != OURS]
    server += [f"{OURS} {policy}" for policy in arguments.policies] if OURS in libraries else []
    server += [f"{DEFERRED} never"] if arguments.deferred else []
    every = {SERVER: server, SCATTERED: [*libraries, *([WITH_EPOCHS] if OURS in libraries else [])]}
    plan = {case: names for case, names in every.items() if case in arguments.scenarios}

    def measure(case: str, name: str) -> Figures:
        if case == SCATTERED:
            argv, who = scattered.argv(work, name == WITH_EPOCHS), f"scattered survivors on {name}"
            return scattered.record_of(processes.figures(argv, environments[allocator_of(name)], who), work)
        allocator, _, policy = name.partition(" ")
        own = {"TSLAB_EPOCH_POLICY": "per-request" if policy == INSIDE else policy} if policy else {}
        sessions = INSIDE if policy == INSIDE else "paused"
        who = f"the server on {name}"
        return figures.record_of(
            driver.run_once(load, environments[allocator] | own, who, sessions, policy == "manual")
        )

    titles = {SERVER: DESCRIPTION, SCATTERED: "many requests are alive together and end; a few of their objects stay"}
    parameters = {SERVER: dataclasses.asdict(load), SCATTERED: work | {"idle_ms": work[SETTLE]}}
    facts: dict[str, Record] = {
        case: {"group": NAME, "title": titles[case], "parameters": parameters[case]} for case in plan
    }
    known = libraries | (variants.libraries([variants.DEFERRED]) if arguments.deferred else {})
    named = {
        name: dataclasses.replace(known[allocator_of(name)], title=name) for names in plan.values() for name in names
    }
    found, interrupted = measurement.measured(NAME, arguments, arguments.rounds, plan, measure, named, facts)
    return render.finish(arguments, found, report(found), interrupted)


def allocator_of(name: str) -> str:
    return OURS if name == WITH_EPOCHS else name.partition(" ")[0]


def environments_of(
    libraries: Mapping[str, installed.Library], arguments: argparse.Namespace
) -> dict[str, Environment]:
    """The environment for each allocator, proven to give the server the malloc that is wanted."""
    every = dict(libraries)
    if arguments.deferred:
        every |= variants.libraries([variants.DEFERRED])
    found = {
        name: installed.proven_environment(library, [driver.SERVER, "--probe"], "the server")
        for name, library in every.items()
    }
    for environment in found.values():
        environment.pop("TSLAB_EPOCH_POLICY", None)
    least = OURS in found and SCATTERED in arguments.scenarios and scattered.argv(scattered.LEAST, True)
    if least and not processes.ends_well(least, found[OURS]):
        raise processes.Failure(
            f"{libraries[OURS].path} has no epochs: build it anew by `make build`, or say --preset study."
        )
    return found


def is_ours(name: str) -> bool:
    return sides.is_ours(allocator_of(name)) or allocator_of(name) == DEFERRED


def report(found: Results) -> Report:
    server, survivors = figures.rows_of(found)
    parameters = {case: facts["parameters"] for case, facts in found.header["cases"].items()}
    body: list[Part] = []
    full: list[Table] = []
    answer, notes, pictures = list[str](), list[str](), list[Picture]()
    if server:
        ratios = time_ratios(server)
        full += [*(times_table(server, kind) for kind in TITLES), memory_table(server), *ratios, *slabs_table(server)]
        body += ["## The server", page_table(server), *ratios]
        answer += server_answer(server)
        notes += server_notes(server, parameters[SERVER], found.rounds)
        curves = {name: curve for name, runs in server.items() if (curve := figures.together(runs, CPU).curve())[0]}
        lines = series.of(found.series, SERVER)
        told = "; ".join(f"{name} {tables.median_text(runs, figures.mean_us(CPU))} us" for name, runs in server.items())
        pictures.append(
            Picture(
                "latency",
                "The handler's processor time by percentile",
                told,
                lambda: plots.latency(curves) if curves else None,
            )
        )
        told = "RSS of the server over time (medians of the rounds)"
        pictures.append(Picture("rss", told, told, lambda: plots.series(lines)))
    if survivors:
        table = scattered_table(survivors)
        full.append(table)
        body += ["## Scattered survivors", table]
        answer += scattered_answer(survivors)
        notes += scattered_notes(survivors, parameters[SCATTERED]["idle_ms"])
    return Report(
        title="A request server: tslab's policies against other allocators",
        answer=answer, pictures=pictures, body=body, full=full, notes=[*notes, *measurement.remarks(found)], leading=2,
        setting=[*measurement.setting(found), *found.header.get("settings", {}).items()],
    )  # fmt: skip


TITLES = {
    CPU: "Handler, processor's time, µs",
    WALL: "Handler, wall clock, µs",
    CLIENT: "Client's view, µs (queue, network and the client's own delays included)",
}


def _us(ns: float | None) -> str:
    return "-" if ns is None else three_digits(ns / 1000)


def times_table(rows: tables.Rows, kind: str) -> Table:
    """Of all rounds together."""
    extra: dict[str, Figure] = {"whole\nserver": figures.process_us} if kind == CPU else {}
    table = Table(TITLES[kind], ["", "mean", *SHARES, "max", "> 1 ms\n%", *extra])
    for name, runs in rows.items():
        one = figures.together(runs, kind)
        values = [one.mean_ns, *map(one.percentile_ns, SHARES.values()), one.most_ns]
        more = (tables.median_text(runs, figure) for figure in extra.values())
        table.rows.append([name, *map(_us, values), f"{100 * (one.long_share or 0):.2g}", *more])
    return table


def memory_table(rows: tables.Rows) -> Table:
    columns = {head: figures.memory_mib(which) for head, which in MEMORY.items()}
    return tables.of_runs(
        "RSS of the server, MiB",
        rows,
        {"before": figures.memory_mib("before"), **columns, "growth in KiB\n/ 1,000 requests": figures.growth_kib},
    )


MEMORY = {"peak": "peak", "after": "after", "after\nidling": "idle"}
JUDGED: dict[str, Figure] = {
    "CPU mean": figures.mean_us(CPU),
    "CPU p99": figures.percentile_us(CPU, 0.99),
    "wall p99": figures.percentile_us(WALL, 0.99),
}


def time_ratios(rows: tables.Rows) -> list[Table]:
    """Of ours to the peer that is best at each figure, and of recycling at close alone to recycling at once."""
    own, peers = ({name: runs for name, runs in rows.items() if is_ours(name) == ours} for ours in (True, False))
    every = JUDGED | {f"RSS {head}": figures.memory_mib(which) for head, which in MEMORY.items()}
    found = []
    if own and peers:
        best = {head: tables.best_of(peers, figure) for head, figure in every.items()}
        divided = {f"{head}\n/ {best[head]}": (every[head], peers[name]) for head, name in best.items() if name}
        found.append(tables.against("Against the peer that is best (95 % interval)", own, divided))
    deferred, never = rows.get(f"{DEFERRED} never"), rows.get(f"{OURS} never")
    if deferred and never:
        divided = {f"{head}\n/ continuous": (figure, never) for head, figure in every.items()}
        found.append(tables.against("Deferred against continuous recycling, never", {DEFERRED: deferred}, divided))
    return found


def slabs_table(rows: tables.Rows) -> list[Table]:
    names = {"opened": "slabs\nopened", "recycled": "re-\ncycled", "refills": "refills", "harvests": "harvests"}
    own = {name: runs for name, runs in rows.items() if is_ours(name)}
    columns = {head: figures.slabs(which) for which, head in names.items()}
    return [tables.of_runs("Slabs and slow paths, per 1,000 requests", own, columns)] if own else []


def page_table(rows: tables.Rows) -> Table:
    """What a page shows of all tables of the server."""
    heads = ["", "handler's CPU: mean", "p99", "p99.9", "client: p99", *(f"RSS, MiB: {head}" for head in MEMORY)]
    table = Table("The request server: µs a request, and RSS", heads)
    for name, runs in rows.items():
        cpu, client = figures.together(runs, CPU), figures.together(runs, CLIENT)
        times = [cpu.mean_ns, cpu.percentile_ns(0.99), cpu.percentile_ns(0.999), client.percentile_ns(0.99)]
        memory = (tables.median_text(runs, figures.memory_mib(which)) for which in MEMORY.values())
        table.rows.append([name, *map(_us, times), *memory])
    return table


def scattered_table(rows: tables.Rows) -> Table:
    whens = {"peak": "peak", "after": "after", "idle": "later", "when asked": "asked"}
    columns: dict[str, Figure] = {head: figures.above_start(when) for head, when in whens.items()}
    columns |= {"CPU, s:\nallocate": lambda run: run["allocate_seconds"], "\nend": lambda run: run["finish_seconds"]}
    return tables.of_runs("Scattered survivors: RSS above the start, MiB", rows, columns)


def server_answer(rows: tables.Rows) -> Iterator[str]:
    figure = figures.mean_us(CPU)
    peer = tables.best_of({name: runs for name, runs in rows.items() if not is_ours(name)}, figure)
    own = {
        name.partition(" ")[2]: runs
        for name, runs in rows.items()
        if allocator_of(name) == OURS and not name.endswith(INSIDE)
    }
    ratios = {
        policy: ratio for policy, runs in own.items() if peer and (ratio := tables.ratio_of(runs, rows[peer], figure))
    }
    order = sorted(ratios, key=lambda policy: ratios[policy].middle)
    if order:
        words = ", ".join(f"{policy} {interval_text(ratios[policy])}" for policy in order)
        best = three_digits(ratios[order[0]].middle)
        yield f"**A request takes tslab {best} times the processor's time of {peer}, the fastest peer**, by policy: {words}."
    deferred, never = rows.get(f"{DEFERRED} never"), rows.get(f"{OURS} never")
    if deferred and never:
        opened, growth = (
            [tables.median_text(runs, figure) for runs in (deferred, never)]
            for figure in (figures.slabs("opened"), figures.growth_kib)
        )
        yield (
            f"Under never, deferred recycling opens {opened[0]} slabs per 1,000 requests, and its RSS changes by "
            f"{growth[0]} KiB; continuous recycling opens {opened[1]}, and its RSS changes by {growth[1]} KiB."
        )


def scattered_answer(rows: tables.Rows) -> Iterator[str]:
    left = {name: standings.middle(standings.column(runs, figures.above_start("after"))) for name, runs in rows.items()}
    own = {name: mib for name, mib in left.items() if is_ours(name) or name == WITH_EPOCHS}
    others = sorted(mib for name, mib in left.items() if name not in own)
    words = ", ".join(f"{name} {three_digits(mib)} MiB" for name, mib in own.items())
    span = f"; the others {short(others[0])} to {short(others[-1])} MiB" if others else ""
    yield f"**Of scattered survivors of finished requests there are left: {words}{span}**, when the last request has ended."


def server_notes(rows: tables.Rows, load: Record, rounds: int) -> Iterator[str]:
    runs = [run for by_round in rows.values() for run in by_round.values()]
    count = sum(run["server"]["wall"]["count"] for run in runs)
    objects, octets = (sum(run["server"][key] for run in runs) / count for key in ("objects", "bytes"))
    made = sum(run["server"]["sessions"]["created"] for run in runs) / count
    yield (
        f"An HTTP/1.1 server (libmicrohttpd, {load['workers']} workers) answers {load['requests']:,} requests in each run, "
        f"after {load['warm_up']} to warm up. h2load sends them, {load['rate']:,} a second "
        f"({min(run['rate'] for run in runs):,.0f} at least were reached). A request parses and copies its headers, parameters and "
        f"JSON, reads rows, builds an answer and drops all of that: {objects:.0f} objects and {octets / 1000:.1f} KB on average, all "
        f"written and checked. {100 * made:.0f} % of the requests make a session of 5 to 7 objects. "
        f"{load['session_limit']:,} sessions live, from the start on, and a new one takes the place of any."
    )
    yield (
        f"{rounds} rounds; in each, everything once, in random order. Means and percentiles are of the requests of all "
        "rounds together, from histograms with buckets of 1 %; -: fewer than 10 requests beyond this percentile. "
        "Ratios are taken round by round: median (95 % bootstrap interval). Memory and slabs: medians of the "
        "rounds. The client and the server share the machine's processors, so the wall clock counts what others did "
        "meanwhile. Whole server: the processor's time of the process for a request, with the network and the HTTP library."
    )
    yield (
        f"RSS before: nothing served yet. After: when the load has ended. After idling: {load['idle_seconds']:g} s later; "
        "the sessions are still there. Growth: of the RSS, from a quarter of the load to its end. inside: as "
        "per-request, but the sessions are allocated inside of the requests' epochs, where they pin memory of requests "
        "that are over. manual: the epochs are rotated at half of the load and at its end."
    )


def scattered_notes(rows: tables.Rows, idle_ms: float) -> Iterator[str]:
    run = next(run for runs in rows.values() for run in runs.values())
    yield (
        f"{run['requests']} requests of {run['objects'] // run['requests']:,} objects (16 to 512 bytes) are alive together, "
        f"{run['bytes'] / 2**20:.0f} MiB; then all end. "
        f"{run['survivors']:,} objects ({run['survivor_bytes'] / 2**20:.1f} MiB), at random among the others, stay. "
        "With epochs, each request has one, closed with reclaim at its end, and the survivors another. RSS above that "
        f"at the start: at its peak, when the last request has ended, {idle_ms / 1000:g} s later, and when the program has "
        "called what its allocator has to give memory back (malloc_trim, mi_collect, ReleaseFreeMemory, arena purge)."
    )
