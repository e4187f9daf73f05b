"""What one run says, from its line in a file of results: None where it says nothing. Pure functions."""

import math


def number(value):
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) else None


def time_ns(run):
    """For each operation; of the whole run where it does not count any."""
    seconds = number(run.get("seconds"))
    return seconds / (number(run.get("operations")) or 1) * 1e9 if seconds else None


def peak_kib(run):
    return number(run.get("peak_kib")) or None


def after_kib(run):
    return number(run.get("rss_kib")) or None


def over_live(run):
    """What the allocator's memory weighs against what is live, the bare process apart."""
    return (run["peak_kib"] - run["base_kib"]) / run["live_kib"]
