"""Bootstrap intervals of medians, and of ratios taken round by round. Pure functions."""

import random
from collections.abc import Sequence
from statistics import median

from tslab_lab.estimates import medians

RESAMPLES = 2000
SHARE = 0.95
FEW_ROUNDS = 6  # fewer medians to draw from give an interval that is too narrow to be true


def interval(values: Sequence[float]) -> medians.Spread:
    """The median, and where the medians of 95 % of resamples (drawn with replacement) lie. One value has no interval."""
    if len(values) == 1:
        return medians.Spread(values[0], None, None)
    generator = random.Random(1)  # the same figures give the same interval
    drawn = sorted(median(generator.choices(values, k=len(values))) for _ in range(RESAMPLES))
    cut = round(RESAMPLES * (1 - SHARE) / 2)
    return medians.Spread(median(values), drawn[cut], drawn[-1 - cut])


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> medians.Spread:
    return interval(medians.ratios(ours, theirs))
