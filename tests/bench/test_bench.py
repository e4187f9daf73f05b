"""The comparison's statistics against known answers, and one tiny run of all patterns. usage: test_bench.py LIBRARY"""

import json
import math
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "lab/bench.py"
sys.path.insert(0, str(ROOT / "lab"))

import bench
import bench_cases
import bench_statistics as statistics
import bench_tables as tables
import compare

LIBRARY = ""
CC = ["cc"]

# Each is a library to preload that is wrong in one way.
GIVES_ONE_PLACE_TWICE = """
#include <stddef.h>
void *__libc_malloc(size_t size);
void __libc_free(void *start);
static _Alignas(16) char place[64];
void *malloc(size_t size) { return size == 64 ? place : __libc_malloc(size); }
void free(void *start) { if (start != place) __libc_free(start); }
"""
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
    settings = {"name": "a", "group": "pair", "program": "pair", "operations": 1, "arguments": (64,)} | case
    result = statistics.Outcome(bench_cases.Case(**settings), "tslab", "base", "glibc")
    for name, figures in columns.items():
        for nanoseconds, peak_kib in figures:
            result.add(name, run(nanoseconds, peak_kib))
    return result


class Statistics(unittest.TestCase):
    def test_interval_of_what_never_varies(self):
        self.assertEqual(statistics.interval([3, 3, 3]), compare.Spread(3, 3, 3))

    def test_interval_against_the_binomial_distribution(self):
        # Of 1 to 11, the median of a resample is at most k if at least 6 of 11 draws are.
        def chance(k):
            share = k / 11
            return sum(math.comb(11, i) * share**i * (1 - share) ** (11 - i) for i in range(6, 12))

        low = next(k for k in range(1, 12) if chance(k) >= 0.025)
        high = next(k for k in range(1, 12) if chance(k) >= 0.975)
        self.assertEqual(statistics.interval(list(range(1, 12))), compare.Spread(6, low, high))

    def test_ratios_are_taken_round_by_round(self):
        # The rounds differ much, the allocators always by a half.
        found = statistics.ratio([15, 150, 1500], [10, 100, 1000])
        self.assertEqual(found, compare.Spread(1.5, 1.5, 1.5))

    def test_a_limit_is_met_by_the_better_end(self):
        self.assertTrue(statistics.meets(compare.Spread(1.2, 1.0, 1.4), 1.0))
        self.assertFalse(statistics.meets(compare.Spread(1.2, 1.01, 1.4), 1.0))

    def test_a_step_is_judged_both_ways(self):
        judged = [statistics.meets_step(compare.Spread(x, x, x)) for x in (0.6, 0.7, 1.0, 1.5, 1.6)]
        self.assertEqual(judged, [False, True, True, True, False])

    def test_memory_against_glibc_may_be_a_mebibyte_more(self):
        self.assertTrue(statistics.meets_glibc([3024, 3024], [2000, 2000]))
        self.assertFalse(statistics.meets_glibc([3025, 3025], [2000, 2000]))
        self.assertTrue(statistics.meets_glibc([115000, 115000], [100000, 100000]))
        self.assertFalse(statistics.meets_glibc([115001, 115001], [100000, 100000]))

    def test_time_is_compared_with_the_fastest_peer(self):
        columns = {"glibc": [(20, 1)], "jemalloc": [(10, 1)], "mimalloc": [(15, 1)], "tslab": [(12, 1)]}
        found = outcome(columns | {"base": [(1, 1)]}, limit=1.1)
        self.assertEqual(found.best(statistics.nanoseconds), "jemalloc")
        self.assertAlmostEqual(found.time().middle, 1.2)
        self.assertIs(found.time_met(), False)
        self.assertIsNone(outcome(columns).time_met())

    def test_memory_is_compared_with_the_leanest_but_glibc(self):
        columns = {"glibc": [(1, 1900)], "jemalloc": [(1, 4000)], "mimalloc": [(1, 3000)]}
        self.assertIs(outcome(columns | {"tslab": [(1, 2900)]}).memory_met(), True)
        self.assertIs(outcome(columns | {"tslab": [(1, 2950)]}).memory_met(), False)
        heavy_glibc = {"glibc": [(1, 4000)], "tslab": [(1, 3200)]}
        self.assertIs(outcome(heavy_glibc | {"mimalloc": [(1, 3000)]}).memory_met(), False)
        self.assertIsNone(outcome(heavy_glibc).memory_met())

    def test_work_that_differs_is_told(self):
        found = outcome({"glibc": [(1, 1)], "tslab": [(1, 1)]})
        self.assertIsNone(statistics.hashes_differ(found))
        found.add("tslab", run(1) | {"hash": "01"})
        self.assertEqual(statistics.hashes_differ(found), {"glibc": "00", "tslab": "01"})

    def test_misses_are_told_in_words(self):
        columns = {"glibc": [(20, 5000)], "mimalloc": [(10, 1000)], "tslab": [(12, 1100)]}
        told = list(tables.misses([outcome(columns, limit=1.0)], "tslab"))
        self.assertEqual(told, ["a: time 1.20 (1.20-1.20), at most 1", "a: peak RSS"])
        sizes = [outcome({"tslab": [(time, 1)]}, group="edges", name=name) for time, name in ((10, "x"), (16, "y"))]
        self.assertEqual(list(tables.misses(sizes, "tslab")), ["y: step 1.60 (1.60-1.60), at most 1.5 either way"])


class Bench(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="tslab-test-")
        self.addCleanup(directory.cleanup)
        self.own = Path(directory.name)

    def bench(self, *options):
        argv = [sys.executable, "-B", BENCH, "--quick", "--rounds", "1", *map(str, options)]
        environment = os.environ | {"COLUMNS": "80"}
        return subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)

    def compiled(self, source):
        library = self.own / "libbad.so"
        options = ["-shared", "-fPIC", "-w", "-O1", "-fno-builtin", "-x", "c", "-", "-o", library]
        subprocess.run(CC + options, input=source, text=True, check=True)
        return library

    def test_all_patterns_do_the_same_work_on_two_allocators(self):
        file, page = self.own / "runs.json", self.own / "page.md"
        options = ("--library", LIBRARY, "--allocators", "glibc,tslab", "--json", file, "--markdown", page)
        done = self.bench(*options, "--baseline", LIBRARY)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80)
        self.assertNotIn("\N{HORIZONTAL ELLIPSIS}", done.stdout)

        cases = json.loads(file.read_text())["cases"]
        self.assertEqual(list(cases), [case.name for case in bench_cases.CASES])
        for name, case in cases.items():
            with self.subTest(name):
                self.assertEqual(set(case["runs"]), {"glibc", "tslab", "base"})
                self.assertEqual({runs[0]["hash"] for runs in case["runs"].values()}, {case["hash"]})
                for (found,) in case["runs"].values():
                    for figure in ("operations", "seconds", "peak_kib", "base_kib"):
                        self.assertGreater(found[figure], 0, figure)
                    self.assertGreaterEqual(found["peak_kib"], found["base_kib"])
        for percent in (0, 50, 90):
            for (found,) in cases[f"remote-2t-{percent}"]["runs"].values():
                self.assertLessEqual(found["remote_share"], percent / 100 + 0.02)
                self.assertGreaterEqual(found["remote_share"], percent / 200)
        (shared,) = cases["sharing"]["runs"]["tslab"]
        self.assertEqual(shared["shared_lines"], 0)  # threads never come to share a line on tslab

        text = page.read_text()
        for group in bench_cases.GROUPS:
            self.assertIn(f"## {group[0].upper()}{group[1:]}", text)
        self.assertNotIn(str(ROOT), text)

    def test_a_place_given_twice_is_seen(self):
        library = self.compiled(GIVES_ONE_PLACE_TWICE)
        done = self.bench("--library", library, "--allocators", "tslab", "--patterns", "bulk64-1k-fifo")
        self.assertEqual(done.returncode, 1)
        self.assertIn("a pattern on libbad.so died of SIGABRT", done.stderr)
        self.assertIn("pattern: what was freed is not what was made", done.stderr)

    def test_a_damaged_object_is_seen(self):
        library = self.compiled(WRITES_BEHIND)
        done = self.bench("--library", library, "--allocators", "tslab", "--patterns", "bulk64-1k-fifo")
        self.assertEqual(done.returncode, 1)
        self.assertIn("pattern: an object was damaged while it was alive", done.stderr)

    def test_a_peer_that_is_missing(self):
        with unittest.mock.patch.dict(bench.PEERS, {"jemalloc": ("libnowhere.so.9", "libnowhere9")}):
            found, missing = bench.find_allocators(("glibc", "jemalloc"), None, None)
        self.assertEqual((found, missing), ({"glibc": None}, ["jemalloc"]))

    def test_what_does_not_exist_is_refused(self):
        for options in (("--allocators", "glibk"), ("--patterns", "nothing*"), ("--json", "/nowhere/x.json")):
            done = self.bench(*options)
            self.assertEqual((done.returncode, done.stdout), (2, ""), options)
        done = self.bench("--library", "/nowhere/lib.so", "--patterns", "pair")
        self.assertEqual(done.returncode, 1)
        self.assertIn("There is no library /nowhere/lib.so. Run `make build`", done.stderr)


if __name__ == "__main__":
    LIBRARY = sys.argv.pop(1)
    unittest.main()
