"""The comparison's statistics against known answers, and one tiny run of all patterns. usage: test_bench.py LIBRARY"""

import json
import math
import os
import shutil
from pathlib import Path

from lab_test import ONE_PLACE, ROOT, LabTest, main
from tslab_lab.estimates import intervals, medians
from tslab_lab.report import tables
from tslab_lab.results import measures, standings
from tslab_lab.workloads import held

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


class Statistics(LabTest):
    def test_interval_against_the_binomial_distribution(self):
        # Of 1 to 11, the median of a resample is at most k if at least 6 of 11 draws are.
        def chance(k):
            share = k / 11
            return sum(math.comb(11, i) * share**i * (1 - share) ** (11 - i) for i in range(6, 12))

        low = next(k for k in range(1, 12) if chance(k) >= 0.025)
        high = next(k for k in range(1, 12) if chance(k) >= 0.975)
        self.assertEqual(intervals.interval(list(range(1, 12))), medians.Spread(6, low, high))

    def test_what_stands_beside_time_and_rss(self):
        def run(allocator, **figures):
            return {"case": "a", "allocator": allocator, "round": 1, "operations": 10} | figures

        full = {"peak_kib": 5000, "base_kib": 1000, "live_kib": 2000, "rss_kib": 2000, "huge_kib": 500}
        runs = [
            run("tslab", **full, private_kib=100, pss_kib=300, faults=40, system_seconds=0.1),
            run("glibc", **full | {"peak_kib": 7000}, private_kib=50, pss_kib=600, faults=20, system_seconds=0.4),
        ]
        names, grid = ["tslab", "glibc"], standings.grid(runs)
        rows = tables.beside(grid, names, False).rows
        self.assertEqual(rows[0], ["tslab", "2.00", "1", "1", "1", "1", "25.0"])
        self.assertEqual(rows[1], ["glibc", "3.00", "0.50", "2.00", "0.50", "4.00", "25.0"])
        self.assertEqual(tables.beside(grid, names, True).rows[1][:2], ["glibc", "-"])
        self.assertIsNone(measures.peak_over_live(run("x", **full | {"live_kib": 1000})))
        older = [run("tslab", peak_kib=1), run("glibc", peak_kib=1)]
        self.assertIsNone(tables.beside(standings.grid(older), names, False))

    def test_options_of_ours_are_no_rival(self):
        found = {name: {1: ns} for name, ns in {"glibc": 20, "tslab@magazines=0": 1, "tslab": 12}.items()}
        self.assertEqual(tables.rival(found), "glibc")
        (row,) = tables.medians("", {"x": found}, list(found)).rows
        self.assertEqual(row, ["x", "20.0*", "1.00", "12.0", "0.60"])


class Bench(LabTest):
    def bench(self, *options):
        words = ("bench", "--quick", "--rounds", "1", "--output", self.own / "out", *options)
        return self.lab(*words, timeout=150)

    def lines(self):
        return [json.loads(line) for line in (self.own / "out/results.jsonl").read_text().splitlines()]

    def test_all_patterns_do_the_same_work_on_two_allocators(self):
        page = self.own / "page.md"
        options = ("--library", self.library, "--allocators", "glibc,tslab")
        done = self.bench("patterns", *options, "--markdown", page)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assert_narrow(done.stdout.partition("Results:")[0])

        header, *lines, footer = self.lines()
        self.assertEqual(list(header["cases"]), [case.name for case in held.CASES])
        self.assertEqual((footer["kind"], footer["rounds"], footer["complete"]), ("footer", 1, True))
        self.assertIn("There is a single round: no interval", done.stdout)
        runs = {(line["case"], line["allocator"]): line for line in lines}
        self.assertEqual(len(runs), 2 * len(header["cases"]))
        for name in header["cases"]:
            with self.subTest(name):
                found = [runs[name, allocator] for allocator in ("glibc", "tslab")]
                self.assertEqual(len({run["hash"] for run in found}), 1)
                for run in found:
                    for figure in ("operations", "seconds", "peak_kib", "base_kib", "rss_kib"):
                        self.assertGreater(run[figure], 0, figure)
                    self.assertGreaterEqual(run["peak_kib"], run["base_kib"])
        for percent in (0, 50, 90):
            for allocator in ("glibc", "tslab"):
                share = runs[f"remote-2t-{percent}", allocator]["remote_share"]
                self.assertLessEqual(share, percent / 100 + 0.02)
                self.assertGreaterEqual(share, percent / 200)
        self.assertEqual(runs["sharing", "tslab"]["shared_lines"], 0)  # threads never come to share a line on tslab

        text = page.read_text()
        kept = page.with_suffix(".csv").read_text()
        for case in held.CASES:
            self.assertIn(f"| {case.name} | ", text)
            self.assertIn(f",{case.name},", kept)
        self.assertIn('"Time per operation, ns",pair,glibc,', kept)
        self.assertNotIn(str(ROOT), text + kept)

    def test_another_c_library_by_its_loader(self):
        loader = Path(
            "/lib64/ld-linux-x86-64.so.2" if os.uname().machine == "x86_64" else "/lib/ld-linux-aarch64.so.1"
        ).resolve()
        done = self.bench("bulk64-1k-fifo", "--allocators", f"glibc,second={loader}")
        self.assertEqual(done.returncode, 0, done.stderr)
        header, *lines, _ = self.lines()
        self.assertEqual({line["allocator"] for line in lines}, {"glibc", "second"})
        versions = {name: facts["version"] for name, facts in header["allocators"].items()}
        self.assertEqual(versions["second"], versions["glibc"])
        lonely = shutil.copy(loader, self.own)
        done = self.bench("bulk64-1k-fifo", "--allocators", f"lonely={lonely}")
        self.assertIn(f"a workload does not run on the C library beside {lonely}", done.stderr)
        done = self.bench("python", "--allocators", f"second={loader}")
        self.assertIn("python: second is a C library, which runs workloads alone", done.stderr)
        for command in ("rss", "true"), ("epochs",):
            done = self.lab(command[0], "--allocators", f"second={loader}", *command[1:], timeout=100)
            self.assertIn("second is a C library", done.stderr)

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


if __name__ == "__main__":
    main()
