"""What one run says, from its line in a file of results: None where it says nothing. Pure functions."""

import math
from collections.abc import Callable

from tslab_lab.base.shapes import Run

Figure = Callable[[Run], float | None]


def number(value: object) -> float | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) else None


def time_ns(run: Run) -> float | None:
    """For each operation; of the whole run where it does not count any."""
    seconds = number(run.get("seconds"))
    return seconds / (number(run.get("operations")) or 1) * 1e9 if seconds else None


def told(run: Run, figure: Figure) -> float:
    """A figure that the run must have."""
    value = figure(run)
    assert value is not None
    return value


def peak_kib(run: Run) -> float | None:
    return number(run.get("peak_kib")) or None


def after_kib(run: Run) -> float | None:
    return number(run.get("rss_kib")) or None


def over_live(run: Run) -> float:
    """What the allocator's memory weighs against what is live, the bare process apart."""
    return (run["peak_kib"] - run["base_kib"]) / run["live_kib"]


LIVE_ENOUGH_KIB = 1024  # else the table of one page says more than the objects


def peak_over_live(run: Run) -> float | None:
    """The same, where there is enough alive for it to say anything: what is paid for each byte when it is dearest."""
    live = number(run.get("live_kib"))
    return over_live(run) if live and live >= LIVE_ENOUGH_KIB else None


def private_kib(run: Run) -> float | None:
    """When the work is over: without what all processes share, such as the text of libraries."""
    return number(run.get("private_kib")) or None


def proportional_kib(run: Run) -> float | None:
    return number(run.get("pss_kib")) or None


def faults(run: Run) -> float | None:
    return number(run.get("faults")) or None


def system_ns(run: Run) -> float | None:
    """Of the kernel, for each operation: page faults, and what is given back."""
    seconds = number(run.get("system_seconds"))
    return seconds / (number(run.get("operations")) or 1) * 1e9 if seconds else None


def huge_share(run: Run) -> float | None:
    """Of RSS when the work is over."""
    huge, rss = number(run.get("huge_kib")), after_kib(run)
    return huge / rss if huge is not None and rss else None
