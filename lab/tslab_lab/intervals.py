"""Intervals of ratios taken round by round, and what may be said from them. Pure functions."""

import random
from statistics import median

from tslab_lab import compare, workload_patterns

RESAMPLES = 2000
SHARE = 0.95
FEW_ROUNDS = 6  # fewer medians to draw from give an interval that is too narrow to be true


def interval(values):
    """The median, and where the medians of 95 % of resamples (drawn with replacement) lie."""
    generator = random.Random(1)  # the same figures give the same interval
    medians = sorted(median(generator.choices(values, k=len(values))) for _ in range(RESAMPLES))
    cut = round(RESAMPLES * (1 - SHARE) / 2)
    return compare.Spread(median(values), medians[cut], medians[-1 - cut])


def ratio(ours, theirs):
    return interval(compare.ratios(ours, theirs))


def best(columns):
    """The name with the least median."""
    return min(columns, key=lambda name: median(columns[name]))


def meets(found, limit):
    """A limit is met when the better end of the interval reaches it."""
    return found.low <= limit


def meets_step(found):
    return found.low <= workload_patterns.STEP_LIMIT and found.high >= 1 / workload_patterns.STEP_LIMIT


def meets_glibc(ours_kib, glibc_kib):
    slack = median(ours_kib) - median(glibc_kib) <= workload_patterns.GLIBC_SLACK_KIB
    return slack or meets(ratio(ours_kib, glibc_kib), workload_patterns.GLIBC_LIMIT)


def nanoseconds(run):
    return run["seconds"] / run["operations"] * 1e9


def peak(run):
    return run["peak_kib"]


def after(run):
    """RSS when the work is over; a program that has ended has none."""
    return run.get("rss_kib")


def over_live(run):
    """What the allocator's memory weighs against what is live, the bare process apart."""
    return (run["peak_kib"] - run["base_kib"]) / run["live_kib"]


class Outcome:
    """The runs of one case: for each allocator a list, of which the i-th belongs to round i."""

    def __init__(self, case, ours, base, system):
        self.case, self.ours, self.base, self.system = case, ours, base, system
        self.runs = {}
        self.instructions = {}  # by allocator, of one operation

    def add(self, allocator, run):
        self.runs.setdefault(allocator, []).append(run)

    def column(self, allocator, figure):
        return [figure(run) for run in self.runs[allocator]]

    def median(self, allocator, figure):
        return median(self.column(allocator, figure))

    @property
    def peers(self):
        return [name for name in self.runs if name not in (self.ours, self.base)]

    def best(self, figure, but=()):
        """The peer with the least of it, if there is any."""
        columns = {name: self.column(name, figure) for name in self.peers if name not in but}
        return best(columns) if columns else None

    def against(self, other, figure):
        """The interval of ours / other's, if both ran."""
        if self.ours not in self.runs or other not in self.runs:
            return None
        return ratio(self.column(self.ours, figure), self.column(other, figure))

    def time(self):
        return self.against(self.best(nanoseconds), nanoseconds)

    def leanest(self):
        return self.best(peak, but=(self.system,))

    def time_met(self):
        found = self.time()
        return None if found is None or self.case.limit is None else meets(found, self.case.limit)

    def memory_met(self):
        """None: the case is not held to it, or one of the two peers is missing."""
        leanest = self.against(self.leanest(), peak) if self.case.held else None
        if leanest is None or self.system not in self.runs:
            return None
        lean = meets(leanest, workload_patterns.LEANEST_LIMIT)
        return lean and meets_glibc(self.column(self.ours, peak), self.column(self.system, peak))

    def live_met(self):
        if self.case.live_limit is None or self.ours not in self.runs:
            return None
        return meets(interval(self.column(self.ours, over_live)), self.case.live_limit)


def step(outcome, before, allocator):
    """How the time per operation changes from one largest size to the next."""
    return ratio(outcome.column(allocator, nanoseconds), before.column(allocator, nanoseconds))
