"""What the tables of the request server must be read with: paragraphs."""

from collections.abc import Iterator

from tslab_lab.display import layout
from tslab_lab.request_server import outcomes, tables
from tslab_lab.request_server.driver import Load
from tslab_lab.request_server.outcomes import CPU, DEFERRED, OURS

_SHIFTING = "The rows are of one band of sizes after the other (from 32 to 64 bytes up to 1 to 2 KiB). "


def answer(outcome: outcomes.Outcome | None, scattered: outcomes.ScatteredOutcome | None) -> Iterator[str]:
    """What the page says first: paragraphs."""
    figure = outcomes.mean_us(CPU)
    judged = [column for column in outcome.columns if column.is_judged] if outcome else []
    peer = outcome.best_peer(figure) if outcome and judged else None
    if outcome and peer:
        ratios = {
            column.policy: ratio for column in judged if (ratio := outcome.ratio(column, peer, figure)) is not None
        }
        order = sorted(ratios, key=lambda policy: ratios[policy].middle)
        best, *rest = (f"{policy} {layout.interval_text(ratios[policy])}" for policy in order)
        yield (
            f"**A request takes tslab {layout.three_digits(ratios[order[0]].middle)} times the processor's time of {peer.name}, the "
            f"fastest peer**, by policy: {', '.join([best, *rest])}."
        )
    if scattered:
        left = {name: scattered.median_mib(name, "after") for name in scattered.runs}
        own = {name: mib for name, mib in left.items() if name in scattered.epochs or name == OURS}
        others = sorted(mib for name, mib in left.items() if name not in own)
        words = ", ".join(f"{name} {layout.three_digits(mib)} MiB" for name, mib in own.items())
        span = f"; the others {tables.short(others[0])} to {tables.short(others[-1])} MiB" if others else ""
        yield f"**Of scattered survivors of finished requests there are left: {words}{span}**, when the last request has ended."


def of_server(outcome: outcomes.Outcome, load: Load, rounds: int) -> Iterator[str]:
    """What the server's tables must be read with."""
    runs = [run for runs in outcome.runs.values() for run in runs]
    count = sum(run["server"]["wall"]["count"] for run in runs)
    objects = sum(run["server"]["objects"] for run in runs) / count
    kilobytes = sum(run["server"]["bytes"] for run in runs) / count / 1000
    made = sum(run["server"]["sessions"]["created"] for run in runs) / count
    slowest = min(run["rate"] for run in runs)
    yield (
        f"An HTTP/1.1 server (libmicrohttpd, {load.workers} workers) answers {load.requests:,} requests in each run, "
        f"after {load.warm_up} to warm up. h2load sends them over {load.clients} connections, {load.rate:,} a second "
        f"({slowest:,.0f} at least were reached). A request parses and copies its headers, parameters and JSON, reads "
        f"rows, builds an answer and drops all of that: {objects:.0f} objects and {kilobytes:.1f} KB on average, all "
        f"written and checked. {_SHIFTING if load.shift else ''}"
        f"{100 * made:.0f} % of the requests make a session of 5 to 7 objects. "
        f"{load.session_limit:,} sessions live, from the start on, and a new one takes the place of any."
    )
    yield (
        f"{rounds} rounds; in each, everything once, in random order. Means and percentiles are of the requests of all "
        "rounds together, from histograms with buckets of 1 %; -: fewer than 10 requests beyond this percentile. "
        "Ratios are taken round by round: median (95 % bootstrap interval). Memory and slabs: medians of the "
        "rounds. The client and the server share the machine's processors, so the wall clock counts what others did "
        "meanwhile: see the involuntary switches (of handlers, per 1,000 requests). Whole server: the processor's time "
        "of the process for a request, with the network and the HTTP library."
    )
    yield (
        f"RSS before: nothing served yet. After: when the load has ended. After idling: {load.idle_seconds:g} s later; "
        "the sessions are still there. Growth: of the RSS, from a quarter of the load to its end. inside: as "
        "per-request, but the sessions are allocated inside of the requests' epochs, where they pin memory of requests "
        "that are over. manual: the epochs are rotated at half of the load and at its end."
    )


def of_survivors(scattered: outcomes.ScatteredOutcome, idle_ms: float) -> Iterator[str]:
    run = next(runs[0] for runs in scattered.runs.values() if runs)
    sizes = f"{run['objects'] // run['requests']:,} objects (16 to 512 bytes)"
    yield (
        f"{run['requests']} requests of {sizes} are alive together, {run['bytes'] / 2**20:.0f} MiB; then all end. "
        f"{run['survivors']:,} objects ({run['survivor_bytes'] / 2**20:.1f} MiB), at random among the others, stay. "
        "With epochs, each request has one, closed with reclaim at its end, and the survivors another. RSS above that "
        f"at the start: at its peak, when the last request has ended, {idle_ms / 1000:g} s later, and when the program has "
        "called what its allocator has to give memory back (malloc_trim, mi_collect, ReleaseFreeMemory, arena purge)."
    )


def story(outcome: outcomes.Outcome) -> Iterator[str]:
    """What the figures say of recycling, in words."""
    deferred, ours = outcome.column(f"{DEFERRED} never"), outcome.column(f"{OURS} never")
    if deferred is None or ours is None:
        return
    opened = [tables.short(outcome.median(column, outcomes.slabs("opened"))) for column in (deferred, ours)]
    growth = [tables.signed(outcome.median(column, outcomes.growth_kib)) for column in (deferred, ours)]
    yield (
        f"Under never, deferred recycling opens {opened[0]} slabs per 1,000 requests, and its RSS changes by "
        f"{growth[0]} KiB; continuous recycling opens {opened[1]}, and its RSS changes by {growth[1]} KiB."
    )
