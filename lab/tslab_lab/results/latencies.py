"""How long single operations took, from the histograms in a file of results. Pure functions."""

from tslab_lab.estimates.histogram import BEYOND, bucket_with

SHARES = (0.5, 0.9, 0.99, 0.999, 0.9999)
MIDDLE = 1.005  # of a bucket, as a factor of its lower end


def pooled(histograms):
    """Latency lines as one: (sorted list of [lower, count], count, max)."""
    buckets = {}
    for histogram in histograms:
        for lower, count in histogram["buckets"]:
            buckets[lower] = buckets.get(lower, 0) + count
    most = max((histogram["max_ns"] for histogram in histograms), default=0)
    return sorted(map(list, buckets.items())), sum(buckets.values()), most


def percentile_ns(buckets, count, most, share):
    """The middle of the bucket that holds it. None where fewer than BEYOND values are beyond it."""
    lower = bucket_with(share, buckets, count)
    return None if lower is None else min(lower * MIDDLE, most)


def cumulative(buckets, count):
    """Points of the distribution as far as it is supported: lists of nanoseconds and of the share above them."""
    times, above, seen = [], [], 0
    for lower, number in buckets:
        seen += number
        if count - seen < BEYOND:
            break
        times.append(lower * MIDDLE)
        above.append((count - seen) / count)
    return times, above
