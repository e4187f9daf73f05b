"""Whether B differs from A, decided for all rows of a table at once. Pure functions.

Every round measures A, B and A again ('A2'), in random order. If B does what A does, the three runs of a round can be
exchanged, and each of the 3^n ways to pick one run of each of n rounds was as likely to be B's as the one that was. The
chance of a result is the share of these ways that set 'B' at least as far apart. It is exact however the noise is
distributed, whatever the machine does from one round to the next, and A's second runs are part of it: B must be further
from A than A is from itself. (A randomisation test in blocks: R. A. Fisher, The Design of Experiments, 1935.)

What is summed up are ranks: each run divided by the least of its round (what disturbs a run makes it larger, seldom
smaller), ranked among those of all rounds. So an outlier is one large rank, however large itself. (Aligned ranks: J. L.
Hodges and E. L. Lehmann, Rank methods for combination of independent experiments in analysis of variance, 1962.)
Two-sided, no chance is below 2 / 3^n.

A table has many rows, and some would stand apart by chance. The chances are adjusted so that on average at most one in
twenty of the differences told is none; where nothing differs, at most one table in twenty tells any. (Y. Benjamini and
Y. Hochberg, Controlling the false discovery rate, 1995.) So few rounds cannot show a difference in one row among many:
see fewest_rounds.

A row is a difference when its adjusted chance is at most 5 %, its effect is at least the least one that counts and more
than A2 / A shows, and its bootstrap interval excludes 1. That interval does not decide by itself: it is of one row,
whatever the others show, and at some numbers of rounds too narrow."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tslab_lab.estimates import intervals, medians

CHANCE = 0.05
BETTER, WORSE = "better", "WORSE"  # what B is; less of a figure is better
GO, NO_GO, NO_DIFFERENCE, UNDECIDED = "GO", "NO-GO", "NO DIFFERENCE", "UNDECIDED"
EXIT_CODES = {GO: 0, NO_GO: 1, NO_DIFFERENCE: 3, UNDECIDED: 4}  # 2: nothing was measured
_MOST = 16.0  # times A: an effect beyond any that is looked for
_STEP = 1.001


@dataclass(frozen=True)
class Row:
    """One figure of one workload. The i-th of each column belongs to round i."""

    case: str
    figure: str
    a: tuple[float, ...]
    b: tuple[float, ...]
    a2: tuple[float, ...]

    @cached_property
    def interval(self) -> medians.Spread:
        """Of B / A, where A is the geometric mean of its two runs of the round."""
        return intervals.ratio(self.b, [math.sqrt(first * second) for first, second in zip(self.a, self.a2)])

    @property
    def effect(self) -> float:
        return self.interval.middle

    @cached_property
    def noise(self) -> medians.Spread:
        """Of A2 / A, which would be 1 but for the noise."""
        return intervals.ratio(self.a2, self.a)

    @cached_property
    def chance(self) -> float:
        """That B's runs would be picked so far apart if they were A's."""
        rounds = _aligned_ranks(list(zip(self.b, self.a, self.a2)))
        below, above = _tails(rounds, sum(ranks[0] for ranks in rounds))
        return min(1.0, 2 * min(below, above) / 3 ** len(rounds))

    def scaled(self, factor: float) -> "Row":
        """With every run of B so much larger."""
        return replace(self, b=tuple(value * factor for value in self.b))


@dataclass(frozen=True)
class Judged:
    row: Row
    chance: float  # adjusted for all rows of the table
    verdict: str | None  # None: no difference shown
    shown_from: float | None  # the least factor by which B would have to differ to be told; None: no factor is enough


def _aligned_ranks(rounds: Iterable[Sequence[float]]) -> list[list[int]]:
    """The same with ranks in place of the runs. Twice the rank, so that ties, which share the middle, are whole."""
    aligned = [[round(value / min(runs), 12) for value in runs] for runs in rounds]
    counts = Counter(value for runs in aligned for value in runs)
    rank: dict[float, int] = {}
    below = 0
    for value in sorted(counts):
        rank[value] = 2 * below + counts[value] + 1
        below += counts[value]
    return [[rank[value] for value in runs] for runs in aligned]


def _tails(rounds: Sequence[Sequence[int]], seen: int) -> tuple[int, int]:
    """In how many of the ways to pick one number from each round they add up to `seen` at most, and at least.

    The coefficients of the product of all x^i + x^j + x^k are the counts, for i, j, k in each round. Here x is a power
    of two that no count reaches: the product is one large number, and the counts are its digits. What is left when a
    number is divided by x - 1 is the sum of its digits."""
    bits = 2 * len(rounds) + 1
    product = 1
    for numbers in rounds:
        product = sum(product << bits * number for number in numbers)
    below, above = product % (1 << bits * (seen + 1)), product >> bits * seen
    return below % ((1 << bits) - 1), above % ((1 << bits) - 1)


def adjusted(chances: Sequence[float]) -> list[float]:
    """Each becomes the least share of false differences at which it would be told."""
    result = [1.0] * len(chances)
    least = 1.0
    order = sorted(range(len(chances)), key=chances.__getitem__)
    for rank in range(len(order), 0, -1):
        index = order[rank - 1]
        least = min(least, chances[index] * len(chances) / rank)
        result[index] = least
    return result


def fewest_rounds(rows: int) -> int:
    """How many rounds it takes to show a difference in one row of so many."""
    count = 1
    while 2 / 3**count * rows > CHANCE:
        count += 1
    return count


def _apart(factor: float) -> float:
    """How far from 1 in either direction."""
    return max(factor, 1 / factor)


def verdict(row: Row, chance: float, least_effect: float) -> str | None:
    """`chance`: adjusted. `least_effect`: a share, as 0.01."""
    if chance > CHANCE:
        return None
    low, high = row.interval.ends
    excludes = low > 1 or high < 1
    apart = _apart(row.effect)
    if not excludes or apart < 1 + least_effect or apart <= _apart(row.noise.middle):
        return None
    return WORSE if row.effect > 1 else BETTER


def shown_from(row: Row, chance: float, least_effect: float) -> float | None:
    """The least factor by which B would have to differ, with the noise that it has, to be told at this chance (which
    is not adjusted) in either direction."""
    still = row.scaled(1 / row.effect)
    low, high = row.interval.ends
    spread = max(row.effect / low, high / row.effect)
    start = max(1 + least_effect, _apart(row.noise.middle), spread)

    def shows(factor: float) -> bool:
        return still.scaled(factor).chance <= chance and still.scaled(1 / factor).chance <= chance

    if not shows(_MOST):
        return None
    if shows(start):
        return start
    low, high = start, _MOST
    while high / low > _STEP:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if shows(middle) else (middle, high)
    return high


def decide(rows: Sequence[Row], least_effect: float) -> list[Judged]:
    """A Judged for each row."""
    chances = adjusted([row.chance for row in rows])
    verdicts = [verdict(row, chance, least_effect) for row, chance in zip(rows, chances)]
    # One more than those that are unlikely already would be told at this chance.
    told = sum(chance <= CHANCE for chance in chances)
    limit = CHANCE * min(told + 1, len(rows)) / max(1, len(rows))
    return [
        Judged(row, chance, found, shown_from(row, limit, least_effect))
        for row, chance, found in zip(rows, chances, verdicts)
    ]


def overall(judged: Collection[Judged], failed: Sequence[str] = ()) -> str:
    """`failed`: the cases that B alone could not run. Worse anywhere is NO-GO, whatever is better elsewhere. Where nothing
    differs, that says something only if each row could have shown a difference."""
    verdicts = {found.verdict for found in judged}
    if WORSE in verdicts or failed:
        return NO_GO
    if BETTER in verdicts:
        return GO
    return UNDECIDED if any(found.shown_from is None for found in judged) else NO_DIFFERENCE
