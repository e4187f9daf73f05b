"""The arithmetic of the request server's comparison, against answers known beforehand."""

import math
import unittest

from lab_test import main
from tslab_lab.estimates.histogram import GROWTH, Histogram, bucket_of, pooled
from tslab_lab.request_server import driver


class Histograms(unittest.TestCase):
    def test_each_bucket_is_one_percent_wide(self):
        for bucket in (500, 1000, 2000):
            least, above = math.ceil(GROWTH**bucket), math.ceil(GROWTH ** (bucket + 1))
            found = [bucket_of(ns) for ns in (least - 1, least, above - 1, above)]
            self.assertEqual(found, [bucket - 1, bucket, bucket, bucket + 1])
        self.assertEqual((bucket_of(0), bucket_of(1), bucket_of(10)), (0, 0, 231))  # ln 10 / ln 1.01 = 231.4

    def test_percentiles_are_right_to_half_a_percent(self):
        found = Histogram.of([1000 * i for i in range(1, 20_001)])
        for share in (0.5, 0.9, 0.99, 0.999):
            self.assertAlmostEqual(found.percentile_ns(share) / (20_000_000 * share), 1, delta=0.0051)

    def test_a_percentile_needs_ten_values_beyond_it(self):
        cases = ((1000, 0.99, True), (999, 0.99, False), (10_000, 0.999, True), (9999, 0.999, False))
        for count, share, known in cases:
            found = Histogram.of([1000] * count).percentile_ns(share)
            self.assertEqual(found is not None, known, (count, share))
        self.assertIsNone(Histogram().percentile_ns(0.5))

    def test_a_percentile_counts_from_below(self):
        # 900 short ones and 100 long ones: the 90th percentile is the last short one.
        found = Histogram.of([1000] * 900 + [50_000] * 100)
        self.assertAlmostEqual(found.percentile_ns(0.9), 1000, delta=5)
        self.assertAlmostEqual(found.percentile_ns(0.91), 50_000, delta=250)

    def test_a_percentile_is_never_beyond_what_was_seen(self):
        for ns in (1, 12_345, 999_999):
            self.assertEqual(Histogram.of([ns] * 100).percentile_ns(0.5), ns)

    def test_mean_and_share_are_exact(self):
        found = Histogram.of([500_000, 1_000_000, 1_000_001, 7_500_000])
        self.assertEqual((found.mean_ns, found.long_share), (2_500_000.25, 0.5))
        self.assertEqual((found.least_ns, found.most_ns), (500_000, 7_500_000))
        self.assertIsNone(Histogram().mean_ns)

    def test_pooled_is_as_if_counted_together(self):
        parts = [[5, 70_000, 900_000], [], [70_010, 2_000_000], [3]]
        self.assertEqual(pooled(map(Histogram.of, parts)), Histogram.of(sum(parts, [])))

    def test_json_there_and_back(self):
        found = Histogram.of([100, 100, 5_000_000])
        self.assertEqual(Histogram.from_json(found.to_json()), found)

    def test_json_that_contradicts_itself_is_refused(self):
        for change in ({"count": 4}, {"growth": 1.02}, {"long_ns": 1}):
            with self.assertRaises(ValueError):
                Histogram.from_json(Histogram.of([1, 2, 3]).to_json() | change)


class Load(unittest.TestCase):
    def test_the_share_of_sessions(self):
        for percent in (0, 7, 20, 100):
            load = driver.Load(1200, 2000, 4, percent, 1000, 0, 0)
            found = list(driver.addresses(load))
            for first in (100, 300, len(found)):
                self.assertEqual(sum("login=1" in address for address in found[:first]), first * percent // 100)


if __name__ == "__main__":
    main()
