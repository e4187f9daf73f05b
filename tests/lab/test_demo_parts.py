"""The demo's statistics, words, lines, picture, limits and parsers, against answers known beforehand."""

import io
import os
import subprocess
import unittest
import unittest.mock
import xml.etree.ElementTree
from pathlib import Path

from rich.console import Console

from lab_test import LabTest, main
from tslab_lab.allocators import installed
from tslab_lab.base import machine, processes
from tslab_lab.demo import limits, scenes, screen, side_by_side
from tslab_lab.display import layout
from tslab_lab.estimates import medians
from tslab_lab.real import postgres, redis
from tslab_lab.report import demo_picture
from tslab_lab.results import demo_findings as findings
from tslab_lab.results import storage
from tslab_lab.results.demo_findings import WITH_EPOCHS


class Statistics(unittest.TestCase):
    def test_spread(self):
        self.assertEqual(medians.spread([3, 1, 2, 10]), medians.Spread(2.5, 1, 10))

    def test_ratios_are_taken_round_by_round(self):
        self.assertEqual(medians.ratios([2, 6], [1, 2]), [2, 3])
        with self.assertRaises(ValueError):
            medians.ratios([1], [1, 2])

    def test_chance_of_a_fair_coin(self):
        self.assertEqual(medians.chance_of_as_many(5, 5), 1 / 32)
        self.assertEqual(medians.chance_of_as_many(7, 8), 9 / 256)
        self.assertEqual(medians.chance_of_as_many(0, 8), 1)

    def test_rounds_to_show_a_difference(self):
        known = {1: None, 4: None, 5: 5, 6: 6, 7: 7, 8: 7, 10: 9, 20: 15}
        self.assertEqual({rounds: medians.rounds_to_show(rounds) for rounds in known}, known)


class Parsers(unittest.TestCase):
    def test_redis_benchmark(self):
        text = '"test","rps","avg_latency_ms"\n"SET","727272.69","0.408"\n"LPUSH (needed)","1000.00","0.1"\n'
        self.assertEqual(redis.requests_per_second(text), {"SET": 727272.69, "LPUSH (needed)": 1000.0})

    def test_redis_benchmark_that_failed(self):
        head = '"test","rps"\n'
        for text in ("", "WARNING: x\n", head, head + '"SET","no"\n', head + '"SET","0.00"\n'):
            with self.subTest(text), self.assertRaisesRegex(processes.Failure, "gave no figures"):
                redis.requests_per_second(text)

    def test_bindings_of_the_dynamic_linker(self):
        text = """
          7:	binding file /lib/libz.so.1 [0] to /lib/libother.so [0]: normal symbol `malloc' [GLIBC_2.2.5]
          7:	binding file /bin/job [0] to /lib/libtslab-malloc.so [0]: normal symbol `malloc' [GLIBC_2.2.5]
          7:	binding file /bin/job [0] to /bin/job [0]: normal symbol `malloc' [GLIBC_2.2.5]
          7:	binding file /bin/job [0] to /lib/libc.so.6 [0]: normal symbol `puts'
        """
        found = processes.bindings(text, "/bin/job")
        self.assertEqual(found, {"malloc": "/lib/libtslab-malloc.so", "puts": "/lib/libc.so.6"})

    def test_how_a_program_ended(self):
        self.assertEqual(processes.how_it_ended(3), "ended with exit code 3")
        self.assertEqual(processes.how_it_ended(-11), "died of SIGSEGV")

    def test_foreign_settings_are_kept_out(self):
        with unittest.mock.patch.dict("os.environ", {"LD_PRELOAD": "x", "MALLOC_ARENA_MAX": "1", "TSLAB_STATS": "0"}):
            clean = processes.environment()
        self.assertEqual({"LD_PRELOAD", "MALLOC_ARENA_MAX", "TSLAB_STATS"} & set(clean), {"TSLAB_STATS"})


class Postgres(LabTest):
    def test_what_pgbench_says(self):
        text = "number of transactions actually processed: 400/400\nlatency = 1 ms\ntps = 1234.5 (without initial)\n"
        self.assertEqual(postgres.transactions_per_second(text), (400, 1234.5))
        for text in ("", "tps = 0.0", "no figures"):
            with self.assertRaisesRegex(processes.Failure, "no figures"):
                postgres.transactions_per_second(text)

    def test_another_user_goes_where_all_may(self):
        shut = self.own / "shut"
        shut.mkdir(mode=0o700)
        with unittest.mock.patch.object(postgres.tempfile, "gettempdir", lambda: str(shut)):
            for user, parent in ((0, Path("/tmp")), (1000, shut)):
                with unittest.mock.patch.object(postgres.os, "geteuid", lambda user=user: user):
                    self.assertEqual(postgres._parent(), parent)

    def test_a_library_that_ends_the_server_is_told(self):
        bad = self.compiled("#include <stdlib.h>\n__attribute__((constructor)) static void end(void) { _Exit(3); }")
        with self.assertRaisesRegex(processes.Failure, "PostgreSQL on bad: it ended with exit code 3"):
            with postgres.serving(processes.environment(bad), "PostgreSQL on bad"):
                pass


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

    def test_little_is_level(self):
        self.assertEqual(self.judged("threads", rates(*[1.04] * 5), rates(*[1] * 5)), findings.LEVEL)
        self.assertEqual(self.judged("redis", resting(5, 5, 5), resting(5.9, 5.9, 5.9)), findings.LEVEL)  # under 1 MiB
        self.assertEqual(self.judged("redis", resting(5, 5, 5), resting(6.1, 6.1, 6.1)), findings.BETTER)

    def test_only_rounds_that_both_have_are_compared(self):
        self.assertIsNone(self.judged("redis", resting(), resting(1)))
        self.assertEqual(self.judged("redis", resting(10), resting(20, 5)), findings.BETTER)

    def test_the_sentence_of_a_scene(self):
        found = results(
            redis={"glibc": resting(100, 102, 104), "jemalloc": resting(20, 20, 20), "tslab": resting(30, 30, 30)}
        )
        told = "Redis 2 s after FLUSHALL: jemalloc 20.0, tslab 30.0, glibc 102 MiB; tslab is ahead of glibc (3 rounds)."
        self.assertEqual(findings.sentence(found, "redis"), told)
        self.assertEqual(findings.sentence(found, "threads"), "")

    def test_who_was_ended(self):
        gone = {"ended": "it died of SIGKILL", "limit": "each in a box"}
        found = results(buffers={"glibc": [gone, gone], "jemalloc": [gone, *resting(7)], "tslab": resting(9, 9)})
        told = findings.sentence(found, "buffers")
        self.assertIn("; glibc was ended; jemalloc was ended in 1 of 2 rounds (2 rounds).", told)
        self.assertEqual(findings.whole_title(found, "buffers", "Title"), "Title, each in a box")
        self.assertIn(
            "| buffers at rest, MiB | ended | 7.00 (7.00-7.00) | 9.00 (9.00-9.00) | - |",
            findings.table(found, "buffers").markdown(),
        )

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
        for words in (
            "redis 2 s after FLUSHALL 30.0 MiB, not 100",
            "50.0 MiB, not 500 (5.00 with an epoch for each request)",
        ):
            self.assertIn(words, gained)
        self.assertNotIn("threads", gained)
        self.assertIn("**Paid**: processor time of redis 2.00 s, not 1.00. (Level: ", paid)
        self.assertIn("level with jemalloc, 30.0 and 30.0 MiB; four threads: level with glibc", not_for)
        self.assertIn("or where processor time counts more than memory at rest", not_for)

    def test_a_verdict_where_ours_loses(self):
        gone = [{"ended": "it died of SIGKILL", "limit": "each in a box"}] * 3
        found = results(
            redis={"glibc": resting(10, 10, 10), "tslab": resting(30, 30, 30)},
            buffers={"glibc": resting(10, 10, 10), "tslab": gone},
        )
        gained, paid, not_for = findings.verdict(found)
        self.assertEqual(gained, "**Gained** against glibc: nothing that these rounds show.")
        self.assertIn("redis 2 s after FLUSHALL 30.0 MiB, not 10.0; the buffers did not fit, each in a box", paid)
        self.assertIn("redis 2 s after FLUSHALL: behind glibc, 30.0 and 10.0 MiB", not_for)

    def test_no_verdict_of_nothing(self):
        self.assertEqual(findings.verdict(results(redis={"glibc": resting(1)})), [])

    def test_the_picture(self):
        found = results(
            redis={"glibc": resting(100), "tslab": resting(30)},
            buffers={"glibc": [{"ended": "it died of SIGKILL"}], "tslab": resting(9)},
            threads={"glibc": rates(1), "tslab": rates(3)},
        )
        for case in ("redis", "buffers"):
            for name in ("glibc", "tslab"):
                found.series.append(
                    {"case": case, "allocator": name, "round": 1, "t_ms": [0, 500, 900], "rss_kb": [9, 99, 30]}
                )
        text = demo_picture.of(found)
        xml.etree.ElementTree.fromstring(text)
        self.assertEqual((text.count("<polyline"), text.count("<path"), text.count("<rect")), (4, 1, 5))
        self.assertIn("glibc ended", text)
        self.assertIn("prefers-color-scheme: dark", text)
        self.assertIsNone(demo_picture.of(results()))


class Shown(unittest.TestCase):
    def test_a_curve_of_blocks(self):
        points = [(0, 8), (500, 64), (1000, 32), (1900, 1)]
        self.assertEqual(screen.curve(points, 2.0, 64, 4), "▁█▄▁")
        self.assertEqual(screen.curve(points[:2], 4.0, 64, 8), "▁█      ")
        self.assertEqual(screen.curve([(0, 8), (1500, 64)], 2.0, 64, 4), "▁▁▁█")  # what was not sampled is as before
        self.assertEqual(screen.curve([], 1.0, 1, 3), "   ")

    def test_bars(self):
        self.assertEqual([screen.bar(value, 4, 2) for value in (4, 2, 1, 0)], ["██", "█", "▌", ""])

    def test_lines_fit_a_pipe(self):
        console = Console(file=io.StringIO(), width=80)
        shown = screen.Screen(console)
        names = ["glibc", "jemalloc", "tcmalloc", "mimalloc", "tslab", WITH_EPOCHS]
        shown.scene("It comes back", names)
        shown.ready("It comes back, each in a box", 2, True)
        for number in (1, 2):
            shown.heat(number, names)
            for name in names:
                shown.measured(name, None if name == "mimalloc" else 1234.5, [(0, 100), (900, 2000)])
            shown.round_done()
        shown.end("MiB", "A sentence.")
        lines = console.file.getvalue().splitlines()
        self.assertLessEqual(max(map(len, lines)), 80)
        self.assertIn("  round 1 of 2: glibc 1234; jemalloc 1234; tcmalloc 1234; tslab 1234; tslab,", lines)
        self.assertRegex(next(line for line in lines if line.startswith("  mimalloc")), " ended$")
        self.assertRegex(next(line for line in lines if line.startswith("  tslab, epochs ")), " 1234 MiB$")


class SideBySide(unittest.TestCase):
    def test_as_many_at_once_as_there_is_memory_for(self):
        names = ["a", "b", "c"]
        for mib, heats in ((10_000, [names]), (1900, [["a", "b"], ["c"]]), (10, [["a"], ["b"], ["c"]])):
            with unittest.mock.patch.object(machine, "available_mib", lambda mib=mib: mib):
                self.assertEqual(scenes.Survivors(False).heats(names), heats)
                self.assertEqual(scenes.Threads(False).heats(names), [["a"], ["b"], ["c"]])

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

        curves, ends = side_by_side.run({"a": act("a", 2), "b": act("b", 1, True)}, lambda curves, ends: None)
        self.assertEqual((seen, sorted(closed)), (["a", "b", "a"], ["a", "b"]))
        self.assertEqual((ends["a"], str(ends["b"])), ({"name": "a"}, "no"))
        self.assertTrue(curves["a"] and curves["a"][0][1] > 0)

    def test_an_interrupt_ends_all(self):
        def interrupt(*_):
            raise KeyboardInterrupt

        environment, found = processes.environment(), []

        def act():
            for pid in side_by_side.program(["/bin/sleep", "1000"], environment, "sleep"):
                found.append(pid)
                yield pid

        with self.assertRaises(KeyboardInterrupt):
            side_by_side.run({"a": act(), "b": act()}, interrupt)
        self.assertEqual(len(set(found)), 2)
        for pid in found:
            self.assertFalse(os.path.exists(f"/proc/{pid}"))

    def test_how_a_program_ends(self):
        def end(script):
            _, ends = side_by_side.run(
                {"a": side_by_side.program(["/bin/sh", "-c", script], processes.environment(), "it")}, lambda *_: None
            )
            return ends["a"]

        self.assertEqual(end("echo '{\"x\": 1}'"), {"x": 1})
        killed = end("echo word >&2; kill -9 $$")
        self.assertIsInstance(killed, side_by_side.Killed)
        self.assertIn("it died of SIGKILL. Its last words:\n  | word", str(killed))

    def test_a_curve_ends_at_rest(self):
        points = [(0, 1), (1, 100), (2, 50), (3, 49), (4, 3)]
        self.assertEqual(side_by_side.until_rest(points, 50), points[:4])
        self.assertEqual(side_by_side.until_rest(points, 0), points)


class Limits(LabTest):
    def places(self, words, files):
        for file, text in files.items():
            path = self.own / "cgroup" / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        own = self.own / "own"
        own.write_text(words)
        return [(str(path.relative_to(self.own)), names[0]) for path, names in limits.groups(self.own / "cgroup", own)]

    def test_where_a_group_can_be(self):
        handed_on = {"cgroup.subtree_control": "cpu memory\n", "a/cgroup.subtree_control": "cpu\n"}
        self.assertEqual(self.places("0::/a/b\n", handed_on), [("cgroup", "memory.max")])
        older = self.places("4:cpu,memory:/a\n0::/\n3:cpu:/x\n", {"memory/a/tasks": "", "cgroup.subtree_control": ""})
        self.assertEqual(older, [(f"cgroup/memory{path}", "memory.limit_in_bytes") for path in ("/a", "")])

    def test_the_best_that_works_leaves_nothing(self):
        with limits.of(64) as limit:
            argv = [*limit.prefix("one"), "/usr/bin/python3", "-c", "print(len(bytearray(400 << 20)))"]
            done = subprocess.run(argv, capture_output=True, text=True, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertEqual(done.stdout, "")
        self.assertEqual(
            [parent for parent, _ in limits.groups() if any(parent.glob(f"tslab-demo-{os.getpid()}-*"))], []
        )

    def test_whoever_is_still_in_a_group_is_ended(self):
        with limits.of(64) as limit:
            if not limit.is_group or limit.prefix("one")[0] != "/bin/sh":
                self.skipTest("no control group can be made here by hand")
            process = subprocess.Popen([*limit.prefix("one"), "/bin/sleep", "1000"])
            place = Path(limit.prefix("one")[-1])
            while str(process.pid) not in place.read_text().split():
                self.assertIsNone(process.poll())
        self.assertEqual(process.wait(), -9)
        self.assertFalse(place.exists())

    def test_where_no_group_can_be_made_addresses_are_limited(self):
        with unittest.mock.patch.object(limits, "_works", lambda limit: False):
            with limits.of(64) as limit:
                self.assertFalse(limit.is_group)
                self.assertEqual(subprocess.run([*limit.prefix("one"), "/bin/true"], check=False).returncode, 0)


class Arguments(LabTest):
    def test_three_digits(self):
        known = {0.994: "0.99", 9.994: "9.99", 9.996: "10.0", 99.94: "99.9", 99.96: "100", 1234.4: "1234"}
        self.assertEqual({value: layout.three_digits(value) for value in known}, known)

    def test_the_name_of_the_library(self):
        known = {"libtslab-malloc.so": "tslab", "libtslab-malloc.so.0.1.0": "tslab", "libjemalloc.so.2": "jemalloc"}
        self.assertEqual({name: installed.name_of(Path(name)) for name in known}, known)


if __name__ == "__main__":
    main()
