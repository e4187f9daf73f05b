"""Histograms with buckets of 1 %: their arithmetic, and what may be said from them. Pure functions."""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

GROWTH = 1.01
LONG_NS = 1_000_000
BEYOND = 10  # a percentile needs so many values that are larger than it
Name = TypeVar("Name")


def bucket_of(ns: float, growth: float = GROWTH) -> int:
    """Bucket i holds the times from growth**i ns on, below growth**(i + 1). The server does the same."""
    return math.floor(math.log(max(ns, 1)) / math.log(growth))


def bucket_with(share: float, buckets: Iterable[tuple[Name, int]], count: int) -> Name | None:
    """Which of the buckets, sorted pairs of a name and a count, has the value that `share` of all do not exceed. None
    where fewer than BEYOND values are beyond it."""
    if round(count * (1 - share), 6) < BEYOND:
        return None
    wanted, seen = math.ceil(round(share * count, 6)), 0
    for name, number in buckets:
        seen += number
        if seen >= wanted:
            return name
    raise ValueError("the histogram's buckets do not add up to its count")


@dataclass
class Histogram:
    buckets: dict[int, int] = field(default_factory=dict)
    count: int = 0
    sum_ns: int = 0
    least_ns: int = 0
    most_ns: int = 0
    long_count: int = 0
    growth: float = GROWTH

    @classmethod
    def of(cls, values: Collection[int]) -> Self:
        """From times in whole nanoseconds."""
        result = cls(least_ns=min(values, default=0), most_ns=max(values, default=0))
        for ns in values:
            bucket = bucket_of(ns)
            result.buckets[bucket] = result.buckets.get(bucket, 0) + 1
        result.count, result.sum_ns = len(values), sum(values)
        result.long_count = sum(ns > LONG_NS for ns in values)
        return result

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        if found["long_ns"] != LONG_NS or found["growth"] != GROWTH:
            raise ValueError("the histogram was made with other bounds")
        buckets = {int(bucket): count for bucket, count in found["buckets"]}
        if sum(buckets.values()) != found["count"]:
            raise ValueError("the histogram's buckets do not add up to its count")
        figures = {name: found[name] for name in ("count", "sum_ns", "least_ns", "most_ns", "long_count")}
        return cls(buckets=buckets, **figures)

    def to_json(self) -> dict[str, Any]:
        figures = {name: getattr(self, name) for name in ("count", "sum_ns", "least_ns", "most_ns", "long_count")}
        return figures | {"growth": self.growth, "long_ns": LONG_NS, "buckets": sorted(map(list, self.buckets.items()))}

    @property
    def mean_ns(self) -> float | None:
        return self.sum_ns / self.count if self.count else None

    @property
    def long_share(self) -> float | None:
        return self.long_count / self.count if self.count else None

    def percentile_ns(self, share: float) -> float | None:
        """The middle of the bucket with the value that `share` of all do not exceed: right to 0.5 %. None where fewer
        than BEYOND values are beyond it."""
        bucket = bucket_with(share, sorted(self.buckets.items()), self.count)
        return None if bucket is None else min(max(self.growth ** (bucket + 0.5), self.least_ns), self.most_ns)


def pooled(histograms: Iterable[Histogram]) -> Histogram:
    """All values of several histograms as one."""
    result = Histogram()
    for histogram in histograms:
        if not histogram.count:
            continue
        for bucket, count in histogram.buckets.items():
            result.buckets[bucket] = result.buckets.get(bucket, 0) + count
        result.least_ns = min(result.least_ns, histogram.least_ns) if result.count else histogram.least_ns
        result.most_ns = max(result.most_ns, histogram.most_ns)
        result.count += histogram.count
        result.sum_ns += histogram.sum_ns
        result.long_count += histogram.long_count
    return result
