"""Medians, spreads and verdicts: what may be said about two columns of measurements. Pure functions."""

import math
from dataclasses import dataclass
from statistics import median

MEMORY_SHARE = 0.05
MEMORY_KIB = 1024
LARGEST_CHANCE = 0.05

FASTER, SLOWER = "faster", "SLOWER"
SMALLER, LARGER = "smaller", "LARGER"
LEVEL, UNJUDGED = "level", "-"
BAD = (SLOWER, LARGER)


@dataclass(frozen=True)
class Spread:
    middle: float
    low: float
    high: float


def spread(values):
    return Spread(median(values), min(values), max(values))


def ratios(ours, theirs):
    """Pair by pair: the two runs of one round had the same machine under them, more so than two runs of two rounds."""
    if len(ours) != len(theirs):
        raise ValueError("each round needs one run of either side")
    return [a / b for a, b in zip(ours, theirs)]


def chance_of_as_many(wins, rounds):
    """How likely a fair coin shows at least so many heads (the sign test, one-sided)."""
    return sum(math.comb(rounds, k) for k in range(wins, rounds + 1)) / 2**rounds


def rounds_to_show(rounds):
    """In how many of these rounds one side must be ahead, so that chance explains it in at most one case of twenty.
    None: not even all of them would do."""
    enough = [wins for wins in range(rounds + 1) if chance_of_as_many(wins, rounds) <= LARGEST_CHANCE]
    return min(enough, default=None)


def judge_speed(ours, theirs):
    pairs = ratios(ours, theirs)
    needed = rounds_to_show(len(pairs))
    if needed is None:
        return UNJUDGED
    if sum(ratio < 1 for ratio in pairs) >= needed:
        return SLOWER
    if sum(ratio > 1 for ratio in pairs) >= needed:
        return FASTER
    return LEVEL


def judge_memory(ours_kib, theirs_kib):
    """A difference counts above 5 % or 1 MiB, whichever is larger."""
    difference = median(ours_kib) - median(theirs_kib)
    limit = max(MEMORY_SHARE * median(theirs_kib), MEMORY_KIB)
    if difference > limit:
        return LARGER
    if difference < -limit:
        return SMALLER
    return LEVEL
