"""Medians, spreads, and what chance explains: pure functions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

LARGEST_CHANCE = 0.05


@dataclass(frozen=True)
class Spread:
    """`low`, `high`: None where a single figure says nothing about its spread."""

    middle: float
    low: float | None
    high: float | None

    @property
    def ends(self) -> tuple[float, float]:
        """For where a place is needed: the middle, if nothing else is known."""
        return (self.middle, self.middle) if self.low is None or self.high is None else (self.low, self.high)


def spread(values: Sequence[float]) -> Spread:
    return Spread(median(values), min(values), max(values))


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Pair by pair: the two runs of one round had the same machine under them, more so than two runs of two rounds."""
    if len(ours) != len(theirs):
        raise ValueError("each round needs one run of either side")
    return [a / b for a, b in zip(ours, theirs)]


def chance_of_as_many(wins: int, rounds: int) -> float:
    """How likely a fair coin shows at least so many heads (the sign test, one-sided)."""
    return sum(math.comb(rounds, k) for k in range(wins, rounds + 1)) / (1 << rounds)


def rounds_to_show(rounds: int) -> int | None:
    """In how many of these rounds one side must be ahead, so that chance explains it in at most one case of twenty.
    None: not even all of them would do."""
    enough = [wins for wins in range(rounds + 1) if chance_of_as_many(wins, rounds) <= LARGEST_CHANCE]
    return min(enough, default=None)
