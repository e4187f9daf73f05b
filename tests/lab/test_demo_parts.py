"""The demo's statistics, words, lines, picture, limits and parsers, against answers known beforehand."""

import os
import unittest
import unittest.mock
from pathlib import Path

from lab_test import main
from tslab_lab.base import processes
from tslab_lab.demo import side_by_side
from tslab_lab.estimates import medians
from tslab_lab.results import demo_findings as findings
from tslab_lab.results import storage
from tslab_lab.results.demo_findings import WITH_EPOCHS


class Statistics(unittest.TestCase):
    def test_rounds_to_show_a_difference(self):
        known = {1: None, 4: None, 5: 5, 6: 6, 7: 7, 8: 7, 10: 9, 20: 15}
        self.assertEqual({rounds: medians.rounds_to_show(rounds) for rounds in known}, known)


def results(**more):
    """`more`: of a scene, dict allocator -> a list of runs; a figure for each."""
    runs = [
        {"case": scene, "allocator": name, "round": number} | run
        for scene, sides in more.items()
        for name, each in sides.items()
        for number, run in enumerate(each, 1)
    ]
    header = {"allocators": dict.fromkeys(["glibc", "jemalloc", "tslab", WITH_EPOCHS], {})}
    header["cases"] = {scene: {"title": f"A title: of {scene}"} for scene in more}
    return storage.Results(Path("none"), header, runs)


def resting(*mib, peak=200.0, seconds=1.0):
    return [{"rss_kib": each * 1024, "peak_kib": peak * 1024, "seconds": seconds} for each in mib]


def rates(*each):
    return [{"operations": rate * 1e6, "seconds": 1.0, "peak_kib": 1e5} for rate in each]


class Findings(unittest.TestCase):
    @staticmethod
    def judged(scene, ours, theirs):
        (figure, *_) = findings.figures(results(**{scene: {"tslab": ours, "glibc": theirs}}))
        return figure.judged("tslab", "glibc")

    def test_less_memory_is_better_and_a_higher_rate(self):
        for scene, less, more in (
            ("redis", findings.BETTER, findings.WORSE),
            ("threads", findings.WORSE, findings.BETTER),
        ):
            made = resting if scene == "redis" else rates
            self.assertEqual(self.judged(scene, made(10, 11, 12), made(20, 21, 22)), less)
            self.assertEqual(self.judged(scene, made(20, 21, 22), made(10, 11, 12)), more)

    def test_rounds_that_contradict_are_level(self):
        self.assertEqual(self.judged("threads", rates(2, 2, 2, 2, 1), rates(1, 1, 1, 1, 2)), findings.LEVEL)
        # Of many, some may.
        self.assertEqual(self.judged("threads", rates(*[2] * 9, 1), rates(*[1] * 9, 2)), findings.BETTER)

    def test_the_sentence_of_a_scene(self):
        found = results(
            redis={"glibc": resting(100, 102, 104), "jemalloc": resting(20, 20, 20), "tslab": resting(30, 30, 30)}
        )
        told = "Redis 2 s after FLUSHALL: jemalloc 20.0, tslab 30.0, glibc 102 MiB; tslab is ahead of glibc (3 rounds)."
        self.assertEqual(findings.sentence(found, "redis"), told)
        self.assertEqual(findings.sentence(found, "threads"), "")

    def test_the_verdict_says_what_was_measured(self):
        found = results(
            redis={
                "glibc": resting(100, 100, 100),
                "jemalloc": resting(30, 30, 30),
                "tslab": resting(30, 30, 30, seconds=2.0),
            },
            survivors={"glibc": resting(500), "tslab": resting(50), WITH_EPOCHS: resting(5)},
            threads={"glibc": rates(1, 1, 1), "tslab": rates(1, 1, 1)},
        )
        gained, paid, not_for = findings.verdict(found)
        self.assertEqual(findings.level_with(findings.main_figure(found, "redis")), "tslab level with jemalloc")
        for words in (
            "redis 2 s after FLUSHALL 30.0 MiB, not 100",
            "50.0 MiB, not 500 (5.00 with an epoch for each request)",
        ):
            self.assertIn(words, gained)
        self.assertNotIn("threads", gained)
        self.assertIn("**Paid**: processor time of redis 2.00 s, not 1.00. (Level: ", paid)
        self.assertIn("level with jemalloc, 30.0 and 30.0 MiB; four threads: level with glibc", not_for)
        self.assertIn("or where processor time counts more than memory at rest", not_for)


class SideBySide(unittest.TestCase):
    def test_acts_take_turns_and_one_that_fails_stops_no_other(self):
        seen, closed = [], []

        def act(name, turns, fails=False):
            try:
                for _ in range(turns):
                    seen.append(name)
                    yield os.getpid()
                if fails:
                    raise processes.Failure("no")
                return {"name": name}
            finally:
                closed.append(name)

        curves, ends = side_by_side.run({"a": act("a", 2), "b": act("b", 1, True)})
        self.assertEqual((seen, sorted(closed)), (["a", "b", "a"], ["a", "b"]))
        self.assertEqual((ends["a"], str(ends["b"])), ({"name": "a"}, "no"))
        self.assertTrue(curves["a"] and curves["a"][0][1] > 0)

    def test_a_curve_ends_at_rest(self):
        points = [(0, 1), (1, 100), (2, 50), (3, 49), (4, 3)]
        self.assertEqual(side_by_side.until_rest(points, 50), points[:4])
        self.assertEqual(side_by_side.until_rest(points, 0), points)


if __name__ == "__main__":
    main()
