"""Histograms with buckets of 1 %: their arithmetic, and what may be said from them. Pure functions."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

GROWTH = 1.01
LONG_NS = 1_000_000
BEYOND = 10  # a percentile needs so many values that are larger than it
SHARES = (0.5, 0.9, 0.99, 0.999, 0.9999)
Curve = tuple[list[float], list[float]]  # nanoseconds, and the share of what takes longer


def bucket_of(ns: float) -> int:
    """Bucket i holds the times from GROWTH**i ns on, below GROWTH**(i + 1). The programs in C do the same."""
    return math.floor(math.log(max(ns, 1)) / math.log(GROWTH))


def middle_of(bucket: int) -> float:
    """What stands for all values of a bucket: right to 0.5 %."""
    return GROWTH**bucket * 1.005


@dataclass
class Histogram:
    """A line of a file of results tells neither sum nor least value."""

    buckets: Counter[int] = field(default_factory=Counter)
    count: int = 0
    sum_ns: int = 0
    least_ns: int = 0
    most_ns: float = 0
    long_count: int = 0

    @classmethod
    def of(cls, values: Collection[int]) -> Self:
        """From times in whole nanoseconds."""
        return cls(
            Counter(map(bucket_of, values)), len(values), sum(values), min(values, default=0), max(values, default=0),
            sum(ns > LONG_NS for ns in values),
        )  # fmt: skip

    @classmethod
    def from_line(cls, line: Mapping[str, Any]) -> Self:
        """Read from a line of a file of results. There a bucket is named by its least value, which is rounded."""
        buckets: Counter[int] = Counter()
        for least, count in line["buckets"]:
            buckets[bucket_of(least * middle_of(0))] += count
        return cls(buckets, buckets.total(), most_ns=line["max_ns"])

    def line(self, operation: str, **more: str) -> dict[str, Any]:
        """The same to a file of results."""
        told = {"operation": operation, "count": self.count, "max_ns": self.most_ns, "timer_ns": 0, **more}
        return told | {"buckets": [[round(GROWTH**bucket, 3), count] for bucket, count in sorted(self.buckets.items())]}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        if found["long_ns"] != LONG_NS or found["growth"] != GROWTH:
            raise ValueError("the histogram was made with other bounds")
        buckets = Counter({int(bucket): count for bucket, count in found["buckets"]})
        if buckets.total() != found["count"]:
            raise ValueError("the histogram's buckets do not add up to its count")
        figures = {name: found[name] for name in ("count", "sum_ns", "least_ns", "most_ns", "long_count")}
        return cls(buckets, **figures)

    def to_json(self) -> dict[str, Any]:
        figures = {name: getattr(self, name) for name in ("count", "sum_ns", "least_ns", "most_ns", "long_count")}
        return figures | {"growth": GROWTH, "long_ns": LONG_NS, "buckets": sorted(map(list, self.buckets.items()))}

    @property
    def mean_ns(self) -> float | None:
        return self.sum_ns / self.count if self.count else None

    @property
    def long_share(self) -> float | None:
        return self.long_count / self.count if self.count else None

    def percentile_ns(self, share: float) -> float | None:
        """The middle of the bucket with the value that `share` of all do not exceed. None where fewer than BEYOND values are
        beyond it."""
        if round(self.count * (1 - share), 6) < BEYOND:
            return None
        wanted, seen = math.ceil(round(share * self.count, 6)), 0
        for bucket, number in sorted(self.buckets.items()):
            seen += number
            if seen >= wanted:
                return min(max(middle_of(bucket), self.least_ns), self.most_ns)
        raise ValueError("the histogram's buckets do not add up to its count")

    def curve(self) -> Curve:
        """Points of the distribution as far as it is supported."""
        times, above, seen = list[float](), list[float](), 0
        for bucket, number in sorted(self.buckets.items()):
            seen += number
            if self.count - seen < BEYOND:
                break
            times.append(middle_of(bucket))
            above.append((self.count - seen) / self.count)
        return times, above


def pooled(histograms: Iterable[Histogram]) -> Histogram:
    """All values of several histograms as one."""
    some = [one for one in histograms if one.count]
    return Histogram(
        sum((one.buckets for one in some), Counter()), sum(one.count for one in some), sum(one.sum_ns for one in some),
        min((one.least_ns for one in some), default=0), max((one.most_ns for one in some), default=0),
        sum(one.long_count for one in some),
    )  # fmt: skip
