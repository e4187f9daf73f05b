"""`lab variants`: its questions, its tables from figures that are known, and what it refuses. usage: test_variants.py LIBRARY"""

import subprocess
import types
import unittest

from lab_test import ROOT, LabTest, main
from tslab_lab.allocators import variants
from tslab_lab.allocators.catalogue import OURS
from tslab_lab.commands import variants as command
from tslab_lab.measure import case_runner
from tslab_lab.report import variant_tables

COUNTS = "producer of 48 B: free\t1000\t500\t2\tgate 100\tlist 3\tdepot 1\nlarge, replace\t10\t20\t0\n"


def results(columns):
    """`columns`: dict case -> dict variant -> nanoseconds of each round."""
    runs = [
        {"case": case, "allocator": name, "round": number, "operations": 1, "seconds": ns / 1e9}
        for case, own in columns.items()
        for name, values in own.items()
        for number, ns in enumerate(values, 1)
    ]
    names = dict.fromkeys(name for own in columns.values() for name in own)
    return types.SimpleNamespace(runs=runs, failures=[], header={"allocators": names})


class Questions(unittest.TestCase):
    def test_each_patch_fits_the_sources(self):
        patches = {path.stem for path in variants.PATCHES.glob("*.patch")}
        every = [variants.DEFERRED, *(one for question in command.QUESTIONS.values() for one in question.variants)]
        self.assertEqual({variant.patch for variant in every if variant.patch}, patches)
        for name in patches:
            argv = ["patch", "--dry-run", "-d", ROOT, "-p1", "-s", "-f", "-i", variants.PATCHES / f"{name}.patch"]
            done = subprocess.run(argv, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (0, ""), name)

    def test_each_number_is_one_that_its_patch_reads(self):
        for question in command.QUESTIONS.values():
            for variant in question.variants:
                if variant.number is not None:
                    name = variant.definition.partition("=")[0]
                    self.assertIn(f"({name} & ", (variants.PATCHES / f"{variant.patch}.patch").read_text())

    def test_each_has_ours_and_differs_from_it(self):
        for question in command.QUESTIONS.values():
            names = [variant.name for variant in question.variants]
            self.assertEqual(len(set(names)), len(names))
            ways = {(variant.folder, *variant.environment.items()) for variant in question.variants}
            self.assertEqual(len(ways), len(names))
            self.assertIn(variants.Variant(OURS), question.variants)

    def test_the_workloads_are_there_and_differ(self):
        for question in command.QUESTIONS.values():
            cases = case_runner.select(question.workloads)
            self.assertEqual(len(cases), len(question.workloads))
            case_runner.select(question.timed)

    def test_the_counted_operations_are_there(self):
        table = (ROOT / "tests/golden/locked.txt").read_text().splitlines()
        for question in command.QUESTIONS.values():
            for beginning in question.counted:
                self.assertTrue(any(line.startswith(beginning) for line in table), beginning)

    def test_a_part_of_it_keeps_ours(self):
        question = command.QUESTIONS["remote"]
        asked = types.SimpleNamespace(variants=["mailbox"], workloads=["larson"])
        found = command.chosen(question, asked)
        self.assertEqual([variant.name for variant in found.variants], [OURS, "mailbox"])
        self.assertEqual(found.workloads, ("larson",))


class Tables(unittest.TestCase):
    def setUp(self):
        words = ["mixed-remote:max=48", "mixed-remote:remote=0,max=48", "larson"]
        self.cases = case_runner.select(words)
        small, local, larson = (case.name for case in self.cases)
        self.found = results(
            {
                small: {OURS: [100, 100, 100], "mailbox": [80, 80, 80]},
                local: {OURS: [50, 50, 50], "mailbox": [50, 50, 50]},
                larson: {OURS: [10, 10, 10], "mailbox": [12, 12, 12]},
            }
        )

    def test_rows_are_called_by_what_differs(self):
        called = variant_tables.labels(self.cases, False)
        self.assertEqual(
            list(called.values()), ["mixed-remote: remote 50, max 48", "mixed-remote: remote 0, max 48", "larson"]
        )

    def test_ratios_and_groups(self):
        table, summary = variant_tables.times(self.found, self.cases, OURS, False)
        self.assertIn("| mixed-remote: remote 50, max 48 | 100 (100-100) | 0.80 (0.80-0.80) |", table)
        self.assertIn("| larson | 10.0 (10.0-10.0) | 1.20 (1.20-1.20) |", table)
        self.assertIn("| below 64 bytes, freed by others | 0.80; 1 faster, 0 slower of 1 |", summary)
        self.assertIn("| all others | 1.10; 0 faster, 1 slower of 2 |", summary)

    def test_a_variant_that_failed_has_no_figure(self):
        self.found.runs = [run for run in self.found.runs if (run["case"], run["allocator"]) != ("larson", "mailbox")]
        table, _ = variant_tables.times(self.found, self.cases, OURS, False)
        self.assertIn("| larson | 10.0 (10.0-10.0) | - |", table)

    def test_counts(self):
        counted = {OURS: variants.counts_in(COUNTS), "mailbox": {}}
        self.assertEqual(counted[OURS]["producer of 48 B: free"], (0.5, 0.004))
        (table,) = variant_tables.counts(counted, ("producer of",))
        self.assertIn("| producer of 48 B: free | 0.500 (0.004) | - |", table)
        self.assertNotIn("large", table)

    def test_percentiles(self):
        histogram = {"case": "churn-fixed", "operation": "free", "allocator": OURS, "max_ns": 900}
        histogram["buckets"] = [[10, 5000], [100, 100]]
        found = types.SimpleNamespace(header={"allocators": {OURS: {}}}, latency=[histogram])
        (table,) = variant_tables.percentiles(found)
        self.assertIn("| churn-fixed: free, p50 | 10.0 |", table)
        self.assertIn("| churn-fixed: free, p99 | 100 |", table)


class Command(LabTest):
    def test_nonsense_is_refused(self):
        for words, complaint in (
            (("nothing",), "invalid choice"),
            (("remote", "--variants", "letterbox"), "there is no letterbox"),
            (("remote", "--markdown", self.own / "no/page.md"), "no such directory"),
        ):
            done = self.lab("variants", *words)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(complaint, done.stderr)


if __name__ == "__main__":
    main()
