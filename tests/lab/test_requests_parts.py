"""The arithmetic of the request server's comparison, against answers known beforehand."""

import math
import unittest

from lab_test import main
from tslab_lab.display import figures as shared
from tslab_lab.estimates.histogram import GROWTH, Histogram, bucket_of, pooled
from tslab_lab.request_server import driver, figures, outcomes, tables
from tslab_lab.request_server.outcomes import Column


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


def run(cpu_us, peak_kib=2048, series=(), rate=1000, opened=0):
    """A run of 1,000 requests: 989 take cpu_us, 11 ten times as long."""
    times = Histogram.of([cpu_us * 1000] * 989 + [cpu_us * 10_000] * 11).to_json()
    memory = {"before_kib": 1024, "peak_kib": peak_kib, "after_kib": peak_kib, "idle_kib": peak_kib}
    process = {"user_us": 50_000, "system_us": 30_000}
    slabs = {"opened": opened, "recycled": 0, "refills": 0, "harvests": 0, "queue_longest": 3}
    server = {"cpu": times, "wall": times, "process": process, "slabs": slabs, "interruptions": 4}
    return {"server": server, "client": times, "memory": memory, "series": list(series), "rate": rate}


def outcome(figures_by_column, **more):
    """By column, the time of each round in microseconds."""
    columns = [Column(*name.split(" ", 1)) for name in figures_by_column]
    result = outcomes.Outcome(columns)
    for name, times in figures_by_column.items():
        result.runs[name] = [run(time, **more) for time in times]
    return result


class Outcomes(unittest.TestCase):
    def test_the_best_peer_has_the_least_median(self):
        found = outcome({"glibc": [30] * 3, "jemalloc": [10, 20, 90], "tslab never": [1] * 3})
        self.assertEqual(found.best_peer(outcomes.mean_us("cpu")).name, "jemalloc")

    def test_ratios_are_taken_round_by_round(self):
        found = outcome({"glibc": [10, 20, 40], "tslab never": [15, 30, 60]})
        glibc, ours = found.columns
        ratio = found.ratio(ours, glibc, outcomes.percentile_us("cpu", 0.99))
        for end in (ratio.low, ratio.middle, ratio.high):
            self.assertAlmostEqual(end, 1.5, delta=0.02)
        self.assertIsNone(found.ratio(ours, glibc, outcomes.percentile_us("cpu", 0.999)))

    def test_worse_than_the_best_peer_beyond_the_interval_is_a_miss(self):
        peer = [20, 22, 21, 20, 21, 22]
        slower, level = [time + 2 for time in peer], [21, 21, 21, 21, 21, 21]
        told = list(outcomes.misses(outcome({"glibc": peer, "tslab never": slower, "tslab manual": level})))
        self.assertEqual([line.partition(":")[0] for line in told], ["tslab never", "tslab never"])
        self.assertIn("tslab never: handler CPU time, mean: 1.10 times glibc's", told)

    def test_what_is_shown_as_a_warning_is_not_judged(self):
        found = outcome({"glibc": [20] * 6, "tslab inside": [40] * 6, "deferred never": [40] * 6})
        self.assertEqual(list(outcomes.misses(found)), [])

    def test_when_there_is_no_verdict(self):
        self.assertIn("5 rounds are too few", outcomes.judgeable(outcome({"glibc": [20] * 5, "tslab never": [20] * 5})))
        found = outcome({"glibc": [20] * 6, "tslab never": [20] * 6})
        self.assertEqual(outcomes.judgeable(found), "")
        found.runs["tslab never"][0]["server"]["cpu"] = Histogram.of([20_000] * 999).to_json()
        self.assertIn("too few requests", outcomes.judgeable(found))

    def test_growth(self):
        # 1,000 requests at 1,000 a second: the load lasts a second, and the RSS grows by 500 KiB meanwhile.
        line = [[at, 4000 + at // 2] for at in range(0, 2000, 20)]
        self.assertAlmostEqual(outcomes.growth_kib(run(20, series=line)), 500, delta=10)
        self.assertEqual(outcomes.growth_kib(run(20, series=[[at, 4000] for at in range(0, 2000, 20)])), 0)
        self.assertIsNone(outcomes.growth_kib(run(20, series=line[:3])))

    def test_counts_are_for_a_thousand_requests(self):
        found = run(20, opened=250)
        self.assertEqual(outcomes.slabs("opened")(found), 250)
        self.assertEqual(outcomes.process_us(found), 80)
        found["server"]["slabs"] = None
        self.assertIsNone(outcomes.slabs("opened")(found))

    def test_the_policy_goes_into_the_environment(self):
        self.assertEqual(Column("glibc").environment, {})
        self.assertEqual(Column("tslab", "batch-16").environment, {"TSLAB_EPOCH_POLICY": "batch-16"})
        self.assertEqual(Column("tslab", "inside").environment, {"TSLAB_EPOCH_POLICY": "per-request"})
        self.assertEqual([Column("tslab", policy).sessions for policy in ("never", "inside")], ["paused", "inside"])

    def test_survivors_may_hold_five_mebibytes_in_every_run(self):
        found = outcomes.ScatteredOutcome(["tslab, epochs"])
        for name in ("glibc", "tslab, epochs"):
            for above in (100, 5 * 1024):
                found.add(name, {"start_kib": 1000, "after_kib": 1000 + above})
        self.assertEqual(list(found.misses()), [])
        found.add("glibc", {"start_kib": 1000, "after_kib": 900_000})
        self.assertEqual(list(found.misses()), [])
        found.add("tslab, epochs", {"start_kib": 1000, "after_kib": 1000 + 5 * 1024 + 4})
        self.assertEqual(len(list(found.misses())), 1)


class Tables(unittest.TestCase):
    def test_a_percentile_that_is_not_known_is_a_dash(self):
        table = tables.times_table(outcome({"glibc": [20]}), "cpu")
        self.assertEqual(table.rows, [["glibc", "22.0", "20.0", "20.0", "200", "-", "200", "0", "80.0"]])

    def test_deferred_is_set_against_continuous(self):
        found = outcome({"tslab never": [20] * 2, "deferred never": [30] * 2})
        for each in found.runs["deferred never"]:
            each["server"]["slabs"]["opened"] = 800
        rows = {row[0]: row[1:] for row in tables.deferred_table(found).rows}
        self.assertEqual(rows["handler CPU mean, µs"], ["33.0", "22.0", "1.50 (1.50-1.50)"])
        self.assertEqual(rows["slabs opened / 1,000 requests"], ["800", "0.00", "-"])
        self.assertIsNone(tables.deferred_table(outcome({"tslab never": [20]})))

    def test_the_tables_fit_a_terminal(self):
        found = outcome({"glibc": [200] * 2, "tcmalloc": [300] * 2, "tslab per-request": [2000] * 2})
        for table in tables.server_tables(found):
            heads = [max(map(len, head.split("\n"))) for head in table.heads]
            widths = [max(column) for column in zip(heads, *([len(cell) for cell in row] for row in table.rows))]
            self.assertLessEqual(sum(widths) + len(widths) - 1, 80, table.title)


class Load(unittest.TestCase):
    def test_the_share_of_sessions(self):
        for percent in (0, 7, 20, 100):
            load = driver.Load(1200, 2000, 4, percent, 1000, 0, 0)
            found = list(driver.addresses(load))
            for first in (100, 300, len(found)):
                self.assertEqual(sum("login=1" in address for address in found[:first]), first * percent // 100)

    def test_sizes_that_shift(self):
        load = driver.Load(6000, 2000, 4, 0, 1000, 0, 0, shift=True)
        found = [int(address.rpartition("band=")[2]) for address in driver.addresses(load)]
        self.assertEqual(found[:150], [1 + i // 25 for i in range(150)])  # each of 40 connections sends 150
        self.assertEqual(set(found[150:]), {driver.BANDS})

    def test_the_rate_is_spread_over_connections(self):
        load = driver.Load(1200, 2000, 4, 20, 1000, 0, 0)
        self.assertEqual(load.clients * driver.CLIENT_RATE, 2000)
        self.assertEqual(driver.Load(10, 3, 4, 20, 1000, 0, 0).clients, 1)


class Figures(unittest.TestCase):
    def test_the_median_of_the_rounds(self):
        if shared.available():
            self.fail(shared.available())
        rounds = [[[0, kib], [100, kib + 100]] for kib in (10, 20, 90)]
        grid, found = figures.median_series(rounds, 100)
        self.assertEqual((grid[-1], list(found[-6:])), (100, [20, 40, 60, 80, 100, 120]))

    def test_names_do_not_cover_each_other(self):
        for ends in ([5, 5, 5, 1], [10, 10, 10], [0, 0], [7], [0, 0.1, 9.9, 10]):
            moved = shared.spread_labels(ends, 0, 10)
            ordered = sorted(moved)
            self.assertLessEqual(ordered[-1], 10)
            for below, above in zip(ordered, ordered[1:]):
                self.assertGreaterEqual(above - below, 10 * shared.LABEL_GAP - 1e-9)


if __name__ == "__main__":
    main()
