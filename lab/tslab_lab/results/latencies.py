"""How long single operations took, from the histograms in a file of results. Pure functions."""

from collections.abc import Iterable
from typing import NamedTuple

from tslab_lab.base.shapes import Bucket, Record
from tslab_lab.estimates.histogram import BEYOND, bucket_with

SHARES = (0.5, 0.9, 0.99, 0.999, 0.9999)
MIDDLE = 1.005  # of a bucket, as a factor of its lower end


Curve = tuple[list[float], list[float]]  # nanoseconds, and the share of what takes longer


class Pooled(NamedTuple):
    """Several histograms as one. `total`: of the counts; `most`: the longest time."""

    buckets: list[Bucket]
    total: int
    most: float


def pooled(histograms: Iterable[Record]) -> Pooled:
    """Record lines as one."""
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
