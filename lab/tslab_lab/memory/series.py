"""What a series of samples says: pure functions. A sample holds for the time that is nearer to it than to others, so
that a series with gaps is not misread."""

from collections.abc import Iterable, Sequence
from statistics import median

from tslab_lab.base.shapes import Columns, Figures, Record

ENOUGH = 100  # samples for a p95: five of them lie above it
SHARE = 0.95
Line = tuple[list[int], list[int]]  # milliseconds and KiB of the samples of a run
ENOUGH_RARE = 5  # readings of what is read seldom, for a mean


def area(times_ms: Sequence[int], values: Sequence[int]) -> float:
    """Value times seconds under the line through the samples."""
    pairs = zip(times_ms, times_ms[1:], values, values[1:])
    return sum((after - before) * (one + other) / 2 for before, after, one, other in pairs) / 1000


def mean(times_ms: Sequence[int], values: Sequence[int]) -> float:
    """Over time; of a single instant, what was there."""
    seconds = (times_ms[-1] - times_ms[0]) / 1000
    return area(times_ms, values) / seconds if seconds else sum(values) / len(values)


def weights(times_ms: Sequence[int]) -> list[float]:
    """How long each sample speaks for."""
    if len(times_ms) < 2:
        return [1.0] * len(times_ms)
    middles = [(before + after) / 2 for before, after in zip(times_ms, times_ms[1:])]
    return [after - before for before, after in zip([times_ms[0], *middles], [*middles, times_ms[-1]])]


def p95(times_ms: Sequence[int], values: Sequence[int]) -> int | None:
    """For 95 % of the time there was no more than this; None where samples are too few to say so."""
    if len(values) < ENOUGH:
        return None
    left = SHARE * (times_ms[-1] - times_ms[0])
    for value, weight in sorted(zip(values, weights(times_ms))):
        left -= weight
        if left <= 0:
            return value
    return max(values)


def interval_ms(times_ms: Sequence[int]) -> float | None:
    """The usual time from one sample to the next; None for a single one."""
    return median(after - before for before, after in zip(times_ms, times_ms[1:])) if len(times_ms) > 1 else None


def known(times_ms: Iterable[int], values: Iterable[int | None]) -> Line:
    """The samples that were taken, of a column in which some were not."""
    pairs = [(time, value) for time, value in zip(times_ms, values) if value is not None]
    return [time for time, _ in pairs], [value for _, value in pairs]


def of(found: Iterable[Record], case: str) -> dict[str, list[Line]]:
    """RSS over time of each allocator in each round, of a file of results."""
    lines: dict[str, list[Line]] = {}
    for record in found:
        line = known(record.get("t_ms", ()), record.get("rss_kb", ()))
        if record["case"] == case and len(line[0]) > 1:
            lines.setdefault(record["allocator"], []).append(line)
    return lines


def figures(columns: Columns) -> Figures:
    """The figures of one run, from its columns by name."""
    times, rss = columns["t_ms"], columns["rss_kb"]
    rare, pss = known(times, columns["pss_kb"])
    own, uss = known(times, columns["uss_kb"])
    at, huge = known(times, columns["huge_kb"])
    return {
        "mean_kib": round(mean(times, rss), 1),
        "p95_kib": p95(times, rss),
        "peak_kib": max(rss),
        "area_mib_s": round(area(times, rss) / 1024, 4),
        "mean_pss_kib": round(mean(rare, pss), 1) if len(pss) >= ENOUGH_RARE else None,
        "mean_uss_kib": round(mean(own, uss), 1) if len(uss) >= ENOUGH_RARE else None,
        "mean_huge_kib": round(mean(at, huge), 1) if len(huge) >= ENOUGH_RARE else None,
        "samples": len(rss),
        "sampled_every_ms": interval_ms(times),
        "pss_every_ms": interval_ms(rare),
    }
