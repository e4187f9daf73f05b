"""The arithmetic of the request server's comparison, against answers known beforehand."""

import math
import unittest

from lab_test import main
from tslab_lab.estimates.histogram import GROWTH, Histogram, bucket_of, pooled


class Histograms(unittest.TestCase):
    def test_each_bucket_is_one_percent_wide(self):
        for bucket in (500, 1000, 2000):
            least, above = math.ceil(GROWTH**bucket), math.ceil(GROWTH ** (bucket + 1))
            found = [bucket_of(ns) for ns in (least - 1, least, above - 1, above)]
            self.assertEqual(found, [bucket - 1, bucket, bucket, bucket + 1])
        self.assertEqual((bucket_of(0), bucket_of(1), bucket_of(10)), (0, 0, 231))  # ln 10 / ln 1.01 = 231.4

    def test_a_percentile_needs_ten_values_beyond_it(self):
        cases = ((1000, 0.99, True), (999, 0.99, False), (10_000, 0.999, True), (9999, 0.999, False))
        for count, share, known in cases:
            found = Histogram.of([1000] * count).percentile_ns(share)
            self.assertEqual(found is not None, known, (count, share))
        self.assertIsNone(Histogram().percentile_ns(0.5))

    def test_mean_and_share_are_exact(self):
        found = Histogram.of([500_000, 1_000_000, 1_000_001, 7_500_000])
        self.assertEqual((found.mean_ns, found.long_share), (2_500_000.25, 0.5))
        self.assertEqual((found.least_ns, found.most_ns), (500_000, 7_500_000))
        self.assertIsNone(Histogram().mean_ns)

    def test_pooled_is_as_if_counted_together(self):
        parts = [[5, 70_000, 900_000], [], [70_010, 2_000_000], [3]]
        self.assertEqual(pooled(map(Histogram.of, parts)), Histogram.of(sum(parts, [])))


if __name__ == "__main__":
    main()
