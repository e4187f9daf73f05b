"""The report: its sums against known answers, and the page of a run with known figures."""

import json
import math
import re
import unittest

from lab_test import LabTest, main
from tslab_lab.commands import ab, bench, boundaries, latency
from tslab_lab.display import figures
from tslab_lab.estimates.histogram import Histogram
from tslab_lab.results import measures, standings, storage


def column(*values):
    return dict(enumerate(values, 1))


class Sums(unittest.TestCase):
    def test_ratios_are_taken_round_by_round(self):
        ours, theirs = column(10, 40, 20), column(5, 20, 10)
        self.assertEqual(standings.ratio(ours, theirs).middle, 2)
        self.assertEqual((standings.ratio(ours, theirs).low, standings.ratio(ours, theirs).high), (2, 2))
        self.assertEqual(standings.ratio({1: 6, 2: 100}, {1: 3, 3: 1}).middle, 2)  # only round 1 is common
        self.assertIsNone(standings.ratio({1: 6}, {2: 3}))

    def test_verdicts(self):
        low, high = column(0.9, 0.8, 0.9, 0.8, 0.9), column(1.2, 1.3, 1.2, 1.3, 1.2)
        across = column(0.9, 1.1, 1, 0.8, 1.2)
        one = column(1, 1, 1, 1, 1)
        found = [standings.verdict(standings.ratio(values, one), 5) for values in (low, high, across)]
        self.assertEqual(found, [standings.WINS, standings.LOSES, standings.LEVEL])
        for rounds in range(1, 5):  # a coin falls four times on one side too often
            self.assertIsNone(standings.verdict(standings.ratio(low, one), rounds))

    def test_the_geometric_mean_over_cases(self):
        cases = {"x": {"a": column(2, 2), "b": column(1, 1)}, "y": {"a": column(8, 8), "b": column(1, 1)}}
        mean, count, rounds = standings.overall(cases, "a", "b")
        self.assertAlmostEqual(mean.middle, 4)
        self.assertEqual((count, rounds), (2, 2))
        cases["z"] = {"a": column(1000, 1000)}  # b is not there: left out
        self.assertAlmostEqual(standings.overall(cases, "a", "b")[0].middle, 4)
        self.assertIsNone(standings.overall({"z": cases["z"]}, "a", "b"))

    def test_the_mean_of_a_broken_off_run_has_only_whole_rounds(self):
        cases = {"x": {"a": column(2, 2, 100), "b": column(1, 1, 1)}, "y": {"a": column(8, 8), "b": column(1, 1)}}
        mean, _, rounds = standings.overall(cases, "a", "b")
        self.assertAlmostEqual(mean.middle, 4)
        self.assertEqual(rounds, 2)
        apart = {"x": {"a": {1: 2}, "b": {1: 1}}, "y": {"a": {2: 8}, "b": {2: 1}}}  # no round has both
        mean, _, rounds = standings.overall(apart, "a", "b")
        self.assertEqual((round(mean.middle, 9), mean.low, rounds), (4, None, 1))

    def test_who_failed_takes_no_part(self):
        runs = [{"case": "x", "allocator": name, "round": 1, "seconds": 1} for name in ("a", "b")]
        found = standings.grid(runs, [{"case": "x", "allocator": "b", "round": 2}])
        self.assertEqual(list(found["x"]), ["a"])

    def test_figures_that_a_run_does_not_have(self):
        self.assertEqual(measures.time_ns({"seconds": 2, "operations": 1000}), 2e6)
        self.assertEqual(measures.time_ns({"seconds": 2, "operations": None}), 2e9)  # of the whole run
        self.assertIsNone(measures.time_ns({"seconds": None}))
        self.assertIsNone(measures.peak_kib({"peak_kib": math.nan}))

    def test_percentiles_as_far_as_the_count_supports_them(self):
        least = [1.01**bucket for bucket in (463, 695, 856)]
        line = {"buckets": [[round(ns, 2), count] for ns, count in zip(least, (9900, 90, 10))], "max_ns": 5010}
        found = Histogram.from_line(line)
        for share, ns in ((0.5, least[0]), (0.99, least[0]), (0.999, least[1])):
            self.assertAlmostEqual(found.percentile_ns(share), ns * 1.005)
        self.assertIsNone(found.percentile_ns(0.9999))  # one value is beyond it
        never_beyond = Histogram.from_line({"buckets": [[100.2, 1000]], "max_ns": 100.3})
        self.assertEqual(never_beyond.percentile_ns(0.5), 100.3)
        self.assertEqual(found.curve()[1], [0.01, 0.001])
        self.assertEqual(Histogram.from_line(found.line("malloc")).buckets, found.buckets)


# How long an operation takes in each case as a multiple of ours, and its peak RSS.
SPEED, WEIGHT = {"glibc": 2.0, "jemalloc": 1.25}, {"glibc": 0.5, "jemalloc": 1.5}
NAMES, ROUNDS = ("tslab", "glibc", "jemalloc"), 6


def records(command="bench", cases=("pair", "app"), **more):
    """Of a file of results whose figures are known; some cases grow by factors."""
    facts = {"title": "<b>one</b>", "version": "1.0", "allocator": "x", "library": "/lib/x.so", "sha256": "ab" * 32}
    machine = {
        "cpu": "a cpu",
        "cpus": 2,
        "memory_kib": 1 << 20,
        "kernel": "6",
        "libc": "glibc",
        "compiler": "cc",
        "thp": "never",
    }
    machine |= {"load_at_start": 0.1, "commit": "0" * 40, "engine": "e", "options": {}}
    told = {name: {"group": "some", "title": f"what {name} does", "parameters": {}} for name in cases}
    yield {"kind": "header", "format": 1, "command": command, "arguments": ["--rounds", "6"], "started": "2026-01-31T12:00:00Z",
           "machine": machine, "marks": ["The machine <was> busy."], "allocators": {name: facts | {"allocator": name} for name in NAMES},
           "cases": told} | more  # fmt: skip
    for number in range(1, ROUNDS + 1):
        for place, case in enumerate(cases):
            for name in NAMES:
                seconds = (1 + number / 10) * 2**place * SPEED.get(name, 1)
                run = {
                    "kind": "run",
                    "case": case,
                    "allocator": name,
                    "round": number,
                    "operations": 1000,
                    "seconds": seconds,
                }
                peak = 2048 * WEIGHT.get(name, 1) * 2**place
                yield run | {"hash": "1", "peak_kib": peak, "base_kib": 0, "live_kib": 1024, "rss_kib": peak / 2}
    yield {"kind": "footer", "rounds": ROUNDS, "complete": True, "load_at_end": 0.5, "seconds": 60.0}


class Reports(LabTest):
    def found(self, lines):
        folder = self.own / "run"
        folder.mkdir(exist_ok=True)
        (folder / "results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        return storage.read(folder)

    def test_what_bench_says(self):
        report = bench.report(self.found(records()))
        self.assertIn(
            "**Time** over 2 workloads, tslab = 1: slower: jemalloc 1.25 (1.25-1.25), glibc 2.00 (2.00-2.00).",
            report.answer[0],
        )
        self.assertIn("less: glibc 0.50 (0.50-0.50); more: jemalloc 1.50 (1.50-1.50).", report.answer[0])
        self.assertIn("tslab has the least time in 2 of 2 workloads", report.answer[0])
        self.assertEqual(
            report.full[0].rows[1], ["glibc", "2.00 (2.00-2.00)", "0", "0.50 (0.50-0.50)", "2", "0.50 (0.50-0.50)"]
        )

    def test_a_single_round_has_no_verdict_and_one_that_broke_off_says_so(self):
        lines = [line for line in records() if line["kind"] != "footer" and line.get("round", 1) == 1]
        report = bench.report(self.found(lines))
        self.assertIn("tslab = 1: jemalloc 1.25, glibc 2.00.", report.answer[0])
        notes = " ".join(report.notes)
        self.assertIn("The file has no end", notes)
        self.assertIn("There is a single round: no interval, and no verdict.", notes)

    def test_other_work_is_told(self):
        lines = list(records())
        lines[1]["hash"] = "2"
        self.assertIn("pair: the runs did not all do the same work", " ".join(bench.report(self.found(lines)).notes))

    def test_the_page(self):
        self.found(records())
        done = self.lab("report", self.own / "run")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        page = (self.own / "run/report.html").read_text()
        self.assertIn("&lt;b&gt;one&lt;/b&gt;", page)  # names from outside are no markup
        self.assertIn("The machine &lt;was&gt; busy.", page)
        self.assertIn("<b>Time</b> over 2 workloads", page)
        self.assertIn("lab/lab bench --rounds 6", page)
        self.assertEqual(re.findall(r"""(?:src|href)=["'](?!data:|#)""", page), [])  # nothing comes from outside
        files = sorted(path.name for path in (self.own / "run/figures").iterdir())
        self.assertEqual(
            files, [f"{name}.{suffix}" for name in ("answer", "peak-RSS", "time") for suffix in ("pdf", "png")]
        )
        told = figures.told_in(self.own / "run/figures/answer.png")
        self.assertEqual(
            told,
            b"Time and peak RSS over all cases, tslab = 1: tslab 1.00 and 1.00, glibc 2.00 and 0.50, jemalloc 1.25 and 1.50",
        )

    def test_latency(self):
        lines = list(records("latency"))
        for name in NAMES:
            buckets = [[100.0 * SPEED.get(name, 1), 9900], [1000.0, 90], [5000.0, 10]]
            line = {
                "kind": "latency",
                "allocator": name,
                "round": 1,
                "count": 10_000,
                "max_ns": 9000,
                "timer_ns": 20,
                "buckets": buckets,
            }
            lines[-1:-1] = [line | {"case": case, "operation": "free"} for case in ("pair", "app")]
        report = latency.report(self.found(lines))
        self.assertEqual(report.answer, ["**p99.9** over 2 kinds of operations, tslab = 1: glibc 1.00, jemalloc 1.00."])
        self.assertEqual(report.full[0].rows[1], ["glibc", "10000", "200", "200", "200", "1003", "-", "9000"])

    def test_boundaries(self):
        cases = ("edges-1024", "edges-2048", "edges-2049")
        lines = list(records("boundaries", cases))
        for line in lines:
            if line.get("case") == cases[1]:
                line["live_kib"] = 2048
        report = boundaries.report(self.found(lines))
        self.assertEqual(report.answer[0], "**tslab has 2 cliffs:**")
        self.assertIn("edges-2049, from 2,048 bytes: time 2.00", report.answer[1])
        self.assertIn("memory for each live byte 4.00", report.answer[1])

    def test_ab(self):
        lines = list(records("ab", settings={"least_effect": 0.01, "question": None}))
        sides = {"tslab": "A", "glibc": "B", "jemalloc": "A2"}
        for line in lines:
            line["allocator"] = sides.get(line.get("allocator"), "")
            line["seconds"] = line.get("seconds", 0) / SPEED["jemalloc"] ** (line["allocator"] == "A2")
        lines[0]["allocators"] = {sides[name]: facts for name, facts in lines[0]["allocators"].items()}
        report = ab.report(self.found(lines))
        self.assertIn(
            "*Verdict*: **NO-GO**. B is worse in 2 of 2 workloads: pair: time +100.0 % (A/A +0.0 %)", report.answer[1]
        )
        self.assertEqual(report.full[0].rows[0][3:5], ["2.000 (2.000-2.000)", "1.000 (1.000-1.000)"])


if __name__ == "__main__":
    main()
