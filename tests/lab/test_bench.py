"""The comparison's statistics against known answers, and one tiny run of all patterns. usage: test_bench.py LIBRARY"""

import dataclasses
import json
import math
import signal
import subprocess
import types

from lab_test import ONE_PLACE, ROOT, TIMEOUT, LabTest, main
from tslab_lab.estimates import intervals, medians
from tslab_lab.report import bench_tables, beside
from tslab_lab.results import case_runs, marks, measures
from tslab_lab.workloads import catalogue, held

# A library to preload.
WRITES_BEHIND = """
#include <stddef.h>
void *__libc_malloc(size_t size);
void __libc_free(void *start);
static char *last;
void *malloc(size_t size) { if (last) last[60] ^= 1; return last = __libc_malloc(size); }
void free(void *start) { if (last == start) last = NULL; __libc_free(start); }
"""


def run(nanoseconds, peak_kib=2048, **more):
    return {"operations": 1000, "seconds": nanoseconds * 1e-6, "peak_kib": peak_kib, "hash": "00", **more}


def outcome(columns, **case):
    """columns: for each allocator its (nanoseconds, peak KiB) by rounds."""
    like = held.CASES[0]
    settings = {"name": "a", "group": "pair", "limit": None, "live_limit": None} | case
    result = case_runs.CaseRuns(dataclasses.replace(like, **settings), "tslab", "base", "glibc")
    for name, figures in columns.items():
        for nanoseconds, peak_kib in figures:
            result.add(name, run(nanoseconds, peak_kib))
    return result


class Statistics(LabTest):
    def test_interval_against_the_binomial_distribution(self):
        # Of 1 to 11, the median of a resample is at most k if at least 6 of 11 draws are.
        def chance(k):
            share = k / 11
            return sum(math.comb(11, i) * share**i * (1 - share) ** (11 - i) for i in range(6, 12))

        low = next(k for k in range(1, 12) if chance(k) >= 0.025)
        high = next(k for k in range(1, 12) if chance(k) >= 0.975)
        self.assertEqual(intervals.interval(list(range(1, 12))), medians.Spread(6, low, high))

    def test_a_limit_is_met_by_the_better_end(self):
        self.assertTrue(intervals.meets(medians.Spread(1.2, 1.0, 1.4), 1.0))
        self.assertFalse(intervals.meets(medians.Spread(1.2, 1.01, 1.4), 1.0))

    def test_a_step_is_judged_both_ways(self):
        judged = [case_runs.meets_step(medians.Spread(x, x, x)) for x in (0.6, 0.7, 1.0, 1.5, 1.6)]
        self.assertEqual(judged, [False, True, True, True, False])

    def test_memory_against_glibc_may_be_a_mebibyte_more(self):
        self.assertTrue(case_runs.meets_glibc([3024, 3024], [2000, 2000]))
        self.assertFalse(case_runs.meets_glibc([3025, 3025], [2000, 2000]))
        self.assertTrue(case_runs.meets_glibc([115000, 115000], [100000, 100000]))
        self.assertFalse(case_runs.meets_glibc([115001, 115001], [100000, 100000]))

    def test_time_is_compared_with_the_fastest_peer(self):
        columns = {"glibc": [(20, 1)], "jemalloc": [(10, 1)], "mimalloc": [(15, 1)], "tslab": [(12, 1)]}
        columns = {name: figures * 2 for name, figures in columns.items()}
        found = outcome(columns | {"base": [(1, 1)] * 2}, limit=1.1)
        self.assertEqual(found.best(measures.time_ns), "jemalloc")
        self.assertAlmostEqual(found.time().middle, 1.2)
        self.assertIs(found.time_met(), False)
        self.assertIsNone(outcome(columns).time_met())

    def test_memory_is_compared_with_the_leanest_but_glibc(self):
        columns = {"glibc": [(1, 1900)] * 2, "jemalloc": [(1, 4000)] * 2, "mimalloc": [(1, 3000)] * 2}
        self.assertIs(outcome(columns | {"tslab": [(1, 2900)] * 2}).memory_met(), True)
        self.assertIs(outcome(columns | {"tslab": [(1, 2950)] * 2}).memory_met(), False)
        heavy_glibc = {"glibc": [(1, 4000)] * 2, "tslab": [(1, 3200)] * 2}
        self.assertIs(outcome(heavy_glibc | {"mimalloc": [(1, 3000)] * 2}).memory_met(), False)
        self.assertIsNone(outcome(heavy_glibc).memory_met())

    def test_misses_are_told_in_words(self):
        columns = {"glibc": [(20, 5000)], "mimalloc": [(10, 1000)], "tslab": [(12, 1100)]}
        twice = {name: figures * 2 for name, figures in columns.items()}
        told = list(bench_tables.misses([outcome(twice, limit=1.0)], "tslab"))
        self.assertEqual(told, ["a: time 1.20 (1.20-1.20), at most 1", "a: peak RSS"])

        def steps(time, size):
            first = outcome({"tslab": [(10, 1)] * 2}, group="edges", name="x", largest=1000)
            last = outcome({"tslab": [(time, 1)] * 2}, group="edges", name="y", largest=size)
            return list(bench_tables.misses([first, last], "tslab"))

        self.assertEqual(steps(16, 1000), ["y: step 1.60 (1.60-1.60), for 1 times the size"])
        self.assertEqual(steps(35, 4000), [])  # less than in proportion
        self.assertEqual(steps(61, 4000), ["y: step 6.10 (6.10-6.10), for 4 times the size"])
        self.assertEqual(steps(6, 4000), ["y: step 0.60 (0.60-0.60), for 4 times the size"])

    def test_a_single_round_has_no_interval_and_no_verdict(self):
        columns = {"glibc": [(20, 5000)], "mimalloc": [(10, 1000)], "tslab": [(12, 1100)]}
        found = outcome(columns, limit=1.0, group="edges", largest=64)
        self.assertEqual((found.time_met(), found.memory_met()), (None, None))
        self.assertEqual(list(bench_tables.misses([found, found], "tslab")), [])
        table = bench_tables.time_table([found], list(columns), "tslab")
        self.assertEqual(table.rows[0][-2:], ["1.20", "1 -"])

    def test_what_stands_beside_time_and_rss(self):
        def run(allocator, **figures):
            return {"case": "a", "allocator": allocator, "round": 1, "operations": 10} | figures

        full = {"peak_kib": 5000, "base_kib": 1000, "live_kib": 2000, "rss_kib": 2000, "huge_kib": 500}
        runs = [
            run("tslab", **full, private_kib=100, pss_kib=300, faults=40, system_seconds=0.1),
            run("glibc", **full | {"peak_kib": 7000}, private_kib=50, pss_kib=600, faults=20, system_seconds=0.4),
        ]
        found = types.SimpleNamespace(runs=runs, failures=[], header={})
        rows = beside.table(found, ["tslab", "glibc"], "tslab").rows
        self.assertEqual(rows[0], ["tslab", "2.00", "1", "1", "1", "1", "25.0"])
        self.assertEqual(rows[1], ["glibc", "3.00", "0.50", "2.00", "0.50", "4.00", "25.0"])
        found.header["marks"] = [marks.LITTERED]
        self.assertEqual(beside.table(found, ["tslab", "glibc"], "tslab").rows[1][:2], ["glibc", "-"])
        self.assertIsNone(measures.peak_over_live(run("x", **full | {"live_kib": 1000})))
        older = [run("tslab", peak_kib=1), run("glibc", peak_kib=1)]
        self.assertIsNone(
            beside.table(types.SimpleNamespace(runs=older, failures=[], header={}), ["tslab", "glibc"], "tslab")
        )

    def test_options_of_ours_are_no_rival(self):
        found = outcome({"glibc": [(20, 5000)], "tslab@magazines=0": [(1, 10)], "tslab": [(12, 1100)]})
        self.assertEqual(found.peers, ["glibc"])


class Bench(LabTest):
    def bench(self, *options):
        words = ("bench", "--quick", "--rounds", "1", "--output", self.own / "out", *options)
        return self.lab(*words, timeout=150)

    def lines(self):
        return [json.loads(line) for line in (self.own / "out/results.jsonl").read_text().splitlines()]

    def test_all_patterns_do_the_same_work_on_two_allocators(self):
        page = self.own / "page.md"
        options = ("--library", self.library, "--allocators", "glibc,tslab", "--baseline", self.library)
        done = self.bench("patterns", *options, "--markdown", page)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assert_narrow(done.stdout.partition("Results:")[0])

        header, *lines, footer = self.lines()
        self.assertEqual(list(header["cases"]), [case.name for case in held.CASES])
        self.assertEqual((footer["kind"], footer["rounds"], footer["complete"]), ("footer", 1, True))
        self.assertIn("There is a single round: no interval", done.stdout)
        runs = {(line["case"], line["allocator"]): line for line in lines}
        self.assertEqual(len(runs), 3 * len(header["cases"]))
        for name in header["cases"]:
            with self.subTest(name):
                found = [runs[name, allocator] for allocator in ("glibc", "tslab", "base")]
                self.assertEqual(len({run["hash"] for run in found}), 1)
                for run in found:
                    for figure in ("operations", "seconds", "peak_kib", "base_kib", "rss_kib"):
                        self.assertGreater(run[figure], 0, figure)
                    self.assertGreaterEqual(run["peak_kib"], run["base_kib"])
        for percent in (0, 50, 90):
            for allocator in ("glibc", "tslab", "base"):
                share = runs[f"remote-2t-{percent}", allocator]["remote_share"]
                self.assertLessEqual(share, percent / 100 + 0.02)
                self.assertGreaterEqual(share, percent / 200)
        self.assertEqual(runs["sharing", "tslab"]["shared_lines"], 0)  # threads never come to share a line on tslab

        text = page.read_text()
        tables = page.with_suffix(".csv").read_text()
        for case in held.CASES:
            self.assertIn(f"| {case.name} | ", text)
            self.assertIn(
                f",{case.largest:,}," if case.group in held.STEPPING else f",{case.name},", tables.replace('"', "")
            )
        self.assertIn('"Time per operation, ns",pair,glibc,', tables)
        self.assertNotIn(str(ROOT), text + tables)

    def test_programs_and_workloads_together(self):
        page = self.own / "page.md"
        options = ("--allocators", "glibc,tslab", "--library", self.library, "--markdown", page)
        done = self.bench("perl", "pair:operations=100000", *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for name in ("perl", "pair:operations=100000"):
            self.assertRegex(done.stdout, rf"(?m)^{name} +[0-9.]+k? ")
            self.assertIn(f"| {name} | ", page.read_text())

    def test_an_allocator_that_damages_takes_no_part_and_is_told(self):
        for source, words in (
            (ONE_PLACE % (64, 64), "what was freed is not what was made"),
            (WRITES_BEHIND, "an object was damaged while it was alive"),
        ):
            bad = f"bad={self.compiled(source)}"
            done = self.bench("bulk64-1k-fifo", "--allocators", f"glibc,{bad}", "--output", self.own / words[:4])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("bad takes no part in bulk64-1k-fifo: bulk64-1k-fifo on bad died of SIGABRT", done.stdout)
            self.assertIn(words, (self.own / words[:4] / "results.jsonl").read_text())

    def test_who_has_no_epochs_takes_no_part_where_they_are_needed(self):
        options = ("--allocators", "glibc,tslab", "--library", self.library)
        done = self.bench("shared-enter:operations=10000,crowd=20", *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"after the crowd, ns +- +[0-9.]+k?")
        self.assertIn("glibc takes no part in shared-enter:operations=10000,crowd=20: it has no epochs.", done.stdout)

    def test_where_nobody_is_left_it_fails(self):
        bad = f"bad={self.compiled(WRITES_BEHIND)}"
        done = self.bench("bulk64-1k-fifo", "--allocators", bad)
        self.assertEqual(done.returncode, 1)
        self.assertIn("No run was complete", done.stderr)

    def test_an_interrupt_leaves_what_was_complete(self):
        words = ("bench", "pair:operations=1000000", "replace", "--quick", "--rounds", "500")
        argv = self.lab_argv(
            *words, "--allocators", "glibc,tslab", "--library", self.library, "--output", self.own / "out"
        )
        process = subprocess.Popen(
            argv, env=self.environment, cwd=self.own, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for line in process.stdout:
            if line.startswith("round 2 of"):
                break
        process.send_signal(signal.SIGINT)
        text, error = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 130, error)
        self.assertIn("interrupted; what was complete is shown", error)
        self.assertIn("Time per operation, ns", text)
        *_, footer = self.lines()
        self.assertEqual((footer["kind"], footer["complete"]), ("footer", False))
        self.assertGreaterEqual(footer["rounds"], 2)
        self.assert_nothing_left()

    def test_instructions_are_counted_without_noise(self):
        counts = []
        for out in ("one", "two"):
            options = ("--allocators", "tslab", "--library", self.library, "--instructions")
            done = self.bench("pair", *options, "--output", self.own / out)
            self.assertEqual(done.returncode, 0, done.stderr)
            lines = map(json.loads, (self.own / out / "results.jsonl").read_text().splitlines())
            (count,) = (line["value"] for line in lines if line["kind"] == "instructions")
            counts.append(count)
        self.assertAlmostEqual(counts[0], counts[1], delta=0.1)
        self.assertGreater(counts[0], 20)

    def test_what_cannot_be_relied_on_is_marked_and_refused_only_where_asked(self):
        options = (
            "--rounds",
            "1",
            "--library",
            self.library,
            "--allocators",
            "glibc,tslab@magazines=0,retain_bytes=1M",
        )
        done = self.lab("bench", "pair:operations=10000", *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("A single round, all in random order.", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^ +tslab *\n +@magazines=0, .*\n +glibc retain_bytes=1M ")
        done = self.lab("bench", "pair", *options, "--strict")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("--strict: ", done.stderr)
        self.assertIn("1 rounds are too few for intervals: ask for 6 or more.", done.stderr)

    def test_the_list_names_everything(self):
        done = self.lab("bench", "--list")
        for name in (*catalogue.WORKLOADS, "standard", "quick", "patterns"):
            self.assertRegex(done.stdout, rf"(?m)^  {name} ")


if __name__ == "__main__":
    main()
