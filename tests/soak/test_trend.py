"""The trend test finds what grows, and nothing else."""

import random
import unittest

from trend import Trend, settled, thinned

BOUND = 0.03


def noisy(length, seed, growth=0.0, spikes=0.0):
    """Around 50,000, which grows by a share of it from the first to the last, with noise and spikes."""
    chance = random.Random(seed)
    return [50_000 * (1 + growth * at / length + chance.gauss(0, 0.04)) * (3 if chance.random() < spikes else 1)
            for at in range(length)]


class TrendTest(unittest.TestCase):
    def test_a_flat_series_does_not_grow(self):
        self.assertEqual(Trend([1000] * 40).growth, 0)
        for seed in range(15):
            self.assertFalse(Trend(noisy(300, seed)).grows(BOUND), seed)

    def test_spikes_and_a_warm_up_are_no_growth(self):
        for seed in range(8):
            self.assertFalse(Trend(noisy(300, seed, spikes=0.1)).grows(BOUND), seed)
        self.assertFalse(Trend(list(range(0, 1000, 20)) + [1000] * 200).grows(BOUND))

    def test_growth_is_found_in_noise(self):
        for seed in range(8):
            trend = Trend(noisy(300, seed, growth=0.10, spikes=0.02))
            self.assertTrue(trend.grows(BOUND), seed)
            self.assertTrue(trend.low < trend.growth < trend.high)

    def test_growth_is_said_for_the_time_after_the_warm_up(self):
        self.assertAlmostEqual(Trend([1000 + at for at in range(400)]).growth, 299 / 1249.5, delta=0.001)
        self.assertEqual(len(settled(list(range(400)))), 300)

    def test_what_shrinks_does_not_grow(self):
        self.assertFalse(Trend(noisy(300, 1, growth=-0.2)).grows(BOUND))

    def test_long_series_are_thinned_by_medians(self):
        self.assertEqual(thinned([1, 9, 2] * 400), [2] * 400)
        self.assertTrue(Trend(noisy(5000, 2, growth=0.1)).grows(BOUND))

    def test_too_few_rounds_are_refused(self):
        with self.assertRaisesRegex(ValueError, "too few"):
            Trend([1, 2, 3])


if __name__ == "__main__":
    unittest.main()
