"""Does a series grow? By the Theil-Sen slope (the median of the slopes of all pairs), with its 95 % interval."""

import math
from statistics import median

WARM_UP = 0.25  # of the rounds: caches, tables and traps fill up first
MOST_POINTS = 400  # more are put together, by medians
Z95 = 1.96


def settled(series):
    """What comes after the warm-up."""
    return series[math.ceil(len(series) * WARM_UP):]


def thinned(series):
    size = math.ceil(len(series) / MOST_POINTS)
    return [median(series[at:at + size]) for at in range(0, len(series), size)]


def slopes(series):
    """Median, low and high end of the slope for each step, as P. K. Sen gives them (1968)."""
    all_slopes = sorted((later - earlier) / (j - i) for i, earlier in enumerate(series)
                        for j, later in enumerate(series[i + 1:], i + 1))
    n, pairs = len(series), len(all_slopes)
    spread = Z95 * math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    low, high = max(0, round((pairs - spread) / 2)), min(pairs - 1, round((pairs + spread) / 2))
    return median(all_slopes), all_slopes[low], all_slopes[high]


class Trend:
    """The growth of a series over all rounds after the warm-up, as a share of its median; and how sure that is."""

    def __init__(self, series):
        points = thinned(settled(series))
        if len(points) < 5:
            raise ValueError(f"{len(series)} rounds are too few to see a trend; at least 7 are needed")
        middle, low, high = (slope * (len(points) - 1) for slope in slopes(points))
        self.median = median(points)
        self.growth, self.low, self.high = middle / self.median, low / self.median, high / self.median

    def grows(self, bound):
        """Surely, and by more than the bound."""
        return self.low > 0 and self.growth > bound

    def __str__(self):
        return f"{100 * self.growth:+.1f} % ({100 * self.low:+.1f} to {100 * self.high:+.1f})"
