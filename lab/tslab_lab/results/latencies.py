"""How long single operations took, from the histograms in a file of results. Pure functions."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from tslab_lab.base.shapes import Bucket, Latency
from tslab_lab.estimates.histogram import BEYOND, bucket_with

SHARES = (0.5, 0.9, 0.99, 0.999, 0.9999)
MIDDLE = 1.005  # of a bucket, as a factor of its lower end


Curve = tuple[list[float], list[float]]  # nanoseconds, and the share of what takes longer


class Pooled(NamedTuple):
    """Several histograms as one. `total`: of the counts; `most`: the longest time."""

    buckets: list[Bucket]
    total: int
    most: float


def pooled(histograms: Iterable[Latency]) -> Pooled:
    """Latency lines as one."""
    buckets: dict[float, int] = {}
    for histogram in histograms:
        for lower, count in histogram["buckets"]:
            buckets[lower] = buckets.get(lower, 0) + count
    most = max((histogram["max_ns"] for histogram in histograms), default=0)
    return Pooled(sorted(buckets.items()), sum(buckets.values()), most)


def percentile_ns(buckets: Iterable[Bucket], count: int, most: float, share: float) -> float | None:
    """The middle of the bucket that holds it. None where fewer than BEYOND values are beyond it."""
    lower = bucket_with(share, buckets, count)
    return None if lower is None else min(lower * MIDDLE, most)


def cumulative(buckets: Iterable[Bucket], count: int) -> Curve:
    """Points of the distribution as far as it is supported."""
    times, above, seen = list[float](), list[float](), 0
    for lower, number in buckets:
        seen += number
        if count - seen < BEYOND:
            break
        times.append(lower * MIDDLE)
        above.append((count - seen) / count)
    return times, above


@dataclass(frozen=True)
class Slowest:
    """What a part of the slowest calls did. `share`, `time_share`: of all the slowest; `ns`, `faults`: of one on average."""

    cause: str
    calls: float
    share: float
    time_share: float
    ns: float
    faults: float


def slowest(histograms: Iterable[Latency], share: float = SHARES[3]) -> list[Slowest]:
    """Of what is above `share`, by cause, those that took most time first. The bucket that holds the edge counts in part."""
    buckets: dict[float, list[tuple[str, int, int]]] = {}
    for line in histograms:
        for cause, places in line["causes"].items():
            for lower, calls, faults in places:
                buckets.setdefault(lower, []).append((cause, calls, faults))
    totals = {lower: sum(calls for _, calls, _ in here) for lower, here in buckets.items()}
    left = sum(totals.values()) * (1 - share)
    sums: dict[str, list[float]] = {}
    for lower in sorted(buckets, reverse=True):
        part = min(1, max(left, 0) / totals[lower])
        left -= totals[lower]
        for cause, calls, faults in buckets[lower] if part else ():
            one = sums.setdefault(cause, [0, 0, 0])
            for i, value in enumerate((calls, calls * lower * MIDDLE, faults)):
                one[i] += value * part
    calls_all, ns_all = (sum(one[i] for one in sums.values()) for i in (0, 1))
    found = [
        Slowest(cause, calls, calls / calls_all, ns / ns_all, ns / calls, faults / calls)
        for cause, (calls, ns, faults) in sums.items()
        if calls
    ]
    return sorted(found, key=lambda one: -one.time_share)
