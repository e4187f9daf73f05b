"""The sub-commands latency, boundaries and health, in tiny runs; the file of results. usage: test_lab.py LIBRARY"""

import contextlib
import io
import types
import unittest.mock
from pathlib import Path

from lab_test import ONE_PLACE, LabTest, main
from tslab_lab.commands import health
from tslab_lab.estimates.medians import Spread
from tslab_lab.measure import honesty, rounds
from tslab_lab.results import marks, storage


class Boundaries(LabTest):
    def test_all_sizes_run(self):
        words = ("boundaries", "--quick", "--rounds", "1", "--allocators", "tslab,glibc")
        done = self.lab(*words, "--library", self.library, "--output", "out")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assert_narrow(done.stdout.partition("Results:")[0], 100)
        for words in ("Time per operation, ns", "Peak RSS, MiB", "edges-32833", "boundaries-1048576"):
            self.assertIn(words, done.stdout)


class Health(LabTest):
    def health(self, library, **constants):
        constants = {"ROUNDS": 1, "CASES": ("pair", "replace"), "TIME_SLACK": 1000, "MEMORY_SLACK": 1000} | constants
        arguments = types.SimpleNamespace(library=library, record=False, strict=False)
        text = io.StringIO()
        with unittest.mock.patch.multiple(health, **constants), contextlib.redirect_stdout(text):
            with contextlib.redirect_stderr(text):
                code = health.run(arguments)
        return code, text.getvalue()

    def test_a_library_that_is_well(self):
        code, text = self.health(Path(self.library))
        self.assertEqual(code, 0, text)
        self.assertIn("checks passed", text)
        self.assertIn("memory goes back: ", text)
        self.assertRegex(text, r"accounts of memory: \d+ KiB with pages: \w+ \d+, ")
        self.assertRegex(text, r"fragmentation: the classes that waste most, KiB: \d+ bytes \d+")

    def test_damage_is_found(self):
        code, text = self.health(self.compiled(ONE_PLACE % (64, 64)))
        self.assertEqual(code, 1)
        self.assertRegex(text, r"BAD  replace on tslab: .*died of SIGABRT")

    def test_a_ratio_that_is_worse_than_recorded_is_found(self):
        def spread(low, middle, high):
            return Spread(middle, low, high)

        recorded = {"pair": {"time": 0.5, "peak": 1.0}}
        run = {"peak_kib": 50_000, "rss_kib": 1, "base_kib": 1}
        lean = {"peak_kib": 10_000}

        def judged(time, peak, ours=run):
            listed = {"pair": (time, peak, [ours], [lean])}
            return [finding.well for finding in health.judged(listed, recorded)]

        self.assertEqual(judged(spread(0.6, 0.7, 0.8), spread(1, 1, 1)), [True, True])
        self.assertEqual(judged(spread(0.7, 0.8, 0.9), spread(1.2, 1.3, 1.4)), [False, False])
        # A difference of little more than nothing is the machine's.
        self.assertEqual(judged(spread(0.1, 0.1, 0.1), spread(1.2, 1.3, 1.4), run | {"peak_kib": 11_000}), [True, True])
        (unknown,) = health.judged({"new": (spread(1, 1, 1), spread(1, 1, 1), [run], [lean])}, recorded)
        self.assertIs(unknown.well, False)


class Results(LabTest):
    def writer(self):
        writer = storage.Writer(self.own / "run", "bench", ["pair"], ["a mark"], {"glibc": {}}, {"pair": {}})
        self.addCleanup(writer.close)
        return writer

    def test_everything_that_was_written_is_read(self):
        writer = self.writer()
        writer.line("run", "pair", "glibc", 1, {"seconds": 1})
        writer.line("series", "pair", "glibc", 1, {"t_ms": [0], "rss_kb": [1]})
        writer.line("latency", "pair", "glibc", 1, {"operation": "malloc", "buckets": [[1, 2]]})
        writer.line("failure", "pair", "glibc", 2, {"why": "it died"})
        before = storage.read(self.own / "run")
        self.assertIsNone(before.footer)  # also while it is being written
        writer.footer(1, complete=False)
        found = storage.read(self.own / "run/results.jsonl")
        self.assertEqual(found.header["marks"], ["a mark"])
        self.assertEqual([len(x) for x in (found.runs, found.series, found.latency, found.failures)], [1, 1, 1, 1])
        self.assertEqual((found.footer["rounds"], found.footer["complete"]), (1, False))


class Honesty(LabTest):
    def marks(self, rounds=10, changed=False, busy=0.0, strict=False):
        with (
            unittest.mock.patch.object(honesty, "busy_share", lambda: busy),
            unittest.mock.patch.object(honesty.machine, "commit", lambda: ("0" * 40, changed)),
        ):
            return honesty.marks(rounds, True, strict)

    def test_what_others_disturb_is_run_again(self):
        shares = iter((0.5, 0.3, 0.0, 0.5, 0.5, 0.5, 0.5))
        with (
            unittest.mock.patch.object(honesty.Others, "share", lambda _: next(shares)),
            unittest.mock.patch.object(honesty, "wait_until_quiet", lambda: True),
        ):
            found = [rounds._undisturbed(lambda *_: {"seconds": 1}, "case", "name") for _ in range(2)]
        self.assertEqual(found[0], {"seconds": 1, "others_share": 0.0})
        self.assertEqual(found[1]["others_share"], 0.5)  # it gives up, and the run is marked

    def test_marks_of_results(self):
        def told(shares, mean=0.0):
            runs = [
                {"case": "x", "allocator": "tslab", "round": i + 1, "others_share": share}
                for i, share in enumerate(shares)
            ]
            footer = {"rounds": len(shares), "complete": True, "others_share": mean}
            found = types.SimpleNamespace(header={"marks": ["first"]}, runs=runs, failures=[], footer=footer)
            return list(marks.of(found))

        self.assertEqual(told([0.0] * 6), ["first"])
        self.assertRegex(told([0.0] * 5 + [0.2])[1], "^The machine was busy: others used 0% .* in 1 of 6 runs")
        self.assertRegex(told([0.0] * 6, 0.3)[1], "^The machine was busy: others used 30%")
        self.assertIn("There are only 2 rounds: the intervals", told([0.0] * 2)[1])
        self.assertIn("There is a single round: no interval", told([0.0])[1])


if __name__ == "__main__":
    main()
