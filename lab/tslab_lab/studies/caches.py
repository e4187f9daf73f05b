"""The earlier work's study of thread caches: single operations with and without magazines, and traffic that a cache cannot
serve."""

from tslab_lab.allocators.catalogue import OURS
from tslab_lab.display.layout import Table, counted, short
from tslab_lab.report import variant_tables
from tslab_lab.results import latencies, measures, standings
from tslab_lab.studies import words

QUESTION = (
    "The earlier work put a cache for each thread before its slabs. Its claim, on churn of one size: with it p50 falls by 11 %, "
    "p99 by 75 %, p99.9 by 76 %. And: traffic that a cache cannot serve goes round it (100 %), local traffic hits it (98.7 %), "
    "so that neither is slower than without one."
)
WITHOUT = f"{OURS}@magazines=0"
SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
EARLIER = {"p50": -11, "p99": -75, "p99.9": -76}  # percent
LEVEL = 2  # percent: what histograms with buckets of 1 % cannot tell apart
SLOWER = 1.05
ROUND_LEAST = 50  # percent of the allocations: traffic that goes round
SHARED_OUT = (("refills", "allocations"), ("bypassed_allocations", "allocations"), ("bypassed_frees", "frees"))


def page(found):
    """`found`: results by piece."""
    fixed = {piece: one for piece, one in found.items() if one.header["command"] == "latency" and piece != "bypass"}
    changes = list(changes_of(fixed.values()))
    parts = ["## With and without magazines", sentence(changes), earlier_table(changes), percentiles_table(fixed.values())]
    parts += [timer(next(iter(fixed.values()))), "## Traffic that is local, and traffic that is not"]
    parts += [traffic_sentence(found["traffic"]), traffic_table(found["traffic"])]
    if "bypass" in found:
        parts += ["Builds in which frees, allocations or both always go past the magazines:"]
        parts += list(variant_tables.percentiles(found["bypass"]))
    parts += ["No epoch rotates in these workloads: the policy is `never`."]
    parts += words.remarks(found)
    return words.page("The earlier work: thread caches", QUESTION, parts, next(iter(fixed.values())))


def _percentiles(found, case, name, operation):
    """By share; None where too few operations are beyond it."""
    wanted = (case, name, operation)
    lines = [line for line in found.latency if (line["case"], line["allocator"], line["operation"]) == wanted]
    pooled = latencies.pooled(lines)
    return {title: latencies.percentile_ns(*pooled, share) for title, share in SHARES.items()} if lines else None


def _rows(results):
    """(threads, operation, with, without) of each."""
    for found in results:
        for case, facts in found.header["cases"].items():
            for operation in ("malloc", "free"):
                both = [_percentiles(found, case, name, operation) for name in (OURS, WITHOUT)]
                if None not in both:
                    yield facts["parameters"]["threads"], operation, *both


def changes_of(results):
    """(threads, operation, percentile, percent by which magazines change it)."""
    for threads, operation, ours, without in _rows(results):
        for title in SHARES:
            if ours[title] and without[title]:
                yield threads, operation, title, 100 * (ours[title] / without[title] - 1)


def sentence(changes):
    """Confirmed where each of the earlier work's percentiles is lower at every number of threads."""
    told, lower = [], []
    for title, theirs in EARLIER.items():
        own = [change for _, operation, name, change in changes if name == title and operation == "malloc"]
        if not own:
            return words.judged(words.OPEN, f"There are too few operations for {title}.")
        told.append(f"{title} by {min(own):+.0f} to {max(own):+.0f} % (theirs {theirs:+d} %)")
        lower += [change < -LEVEL for change in own]
    verdict = words.CONFIRMED if all(lower) else words.PARTLY if any(lower) else words.REFUTED
    return words.judged(verdict, f"Magazines change malloc, over these numbers of threads: {', '.join(told)}.")


def earlier_table(changes):
    counts = sorted({threads for threads, *_ in changes})
    table = Table("Change of malloc by magazines, %", ["", "earlier work", *(counted(count, "thread") for count in counts)])
    for title in SHARES:
        own = {threads: change for threads, operation, name, change in changes if (operation, name) == ("malloc", title)}
        theirs = f"{EARLIER[title]:+d}" if title in EARLIER else "-"
        table.rows.append([title, theirs, *(f"{own[count]:+.0f}" if count in own else "-" for count in counts)])
    return table


def percentiles_table(results):
    heads = ["threads, operation", *(f"{title} {with_}" for title in SHARES for with_ in ("with", "without"))]
    table = Table("Single operations of churn-fixed with and without magazines, ns", heads)
    for threads, operation, ours, without in _rows(results):
        cells = ["-" if side[title] is None else short(side[title]) for title in SHARES for side in (ours, without)]
        table.rows.append([f"{threads}, {operation}", *cells])
    return table


def timer(found):
    least = min(line["timer_ns"] for line in found.latency)
    return f"Each figure contains the timer's own {least:.0f} ns, so the changes are larger than they look. All rounds together."


def _times(found):
    """(case, interval of the time with magazines as a ratio to that without)."""
    columns = standings.columns(standings.grid(found.runs, found.failures), measures.time_ns)
    for case, own in columns.items():
        if OURS in own and WITHOUT in own:
            yield case, standings.ratio(own[OURS], own[WITHOUT])


def traffic_sentence(found):
    """Whether magazines cost time where they cannot serve, and whether that is by going round them."""
    ratios = {case: ratio for case, ratio in _times(found) if ratio.low is not None}
    worst = max(ratios, key=lambda case: ratios[case].middle, default=None)
    if worst is None:
        return words.judged(words.OPEN, "There are no intervals.")
    shares = [_share(record.get("traffic") or {}, "bypassed_allocations", "allocations") for record in found.accounts]
    most = max((share for share in shares if share is not None), default=0)
    text = (
        f"The time with magazines is at most {words.ratio(ratios[worst])} of that without ({worst}); at most {most:.1f} % of a "
        "workload's allocations go round them."
    )
    if ratios[worst].low > SLOWER:
        return words.judged(words.REFUTED, f"Magazines cost time here. {text}")
    if ratios[worst].high > SLOWER:
        return words.judged(words.OPEN, f"The noise is too great. {text}")
    if most < ROUND_LEAST:
        return words.judged(words.REPLACED, f"Neither kind of traffic is slower with magazines, and without a way round them. {text}")
    return words.judged(words.CONFIRMED, f"Neither kind of traffic is slower with magazines. {text}")


def _share(traffic, part, whole):
    """In percent; None where it was not counted."""
    return 100 * traffic[part] / traffic[whole] if traffic.get(whole) else None


def traffic_table(found):
    """Counters of one run on tslab, and times."""
    heads = ["", "allocations", "refills", "go round", "frees go round", "time with / without"]
    table = Table("Where allocations are served", heads)
    known, ratios = {record["case"]: record.get("traffic") or {} for record in found.accounts}, dict(_times(found))
    for case in found.header["cases"]:
        traffic = known.get(case, {})
        shares = [_share(traffic, part, whole) for part, whole in SHARED_OUT]
        shares = ["-" if share is None else f"{share:.1f} %" for share in shares]
        count = f"{traffic['allocations']:,}" if traffic else "-"
        table.rows.append([case, count, *shares, words.ratio(ratios.get(case))])
    return table
