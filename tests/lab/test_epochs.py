"""What `make epochs` says, against known answers; a tiny run; what is refused. usage: test_epochs.py LIBRARY"""

import json
import os
import unittest
import unittest.mock
from pathlib import Path

from lab_test import ROOT, LabTest, main
from tslab_lab import cli
from tslab_lab.commands import epochs
from tslab_lab.epoch_cost import cases, compiled, tables

# Gives every object of one size the same place.
ONE_PLACE_A_SIZE = """
#include <stddef.h>
void *__libc_malloc(size_t size);
void __libc_free(void *start);
static _Alignas(16) char places[512][512];
void *malloc(size_t size) { return size < 512 ? places[size] : __libc_malloc(size); }
void free(void *start) { if ((char *)start < places[0] || (char *)start > places[511]) __libc_free(start); }
"""


ALLOCATORS = ("glibc", "jemalloc", "tcmalloc", "mimalloc", "tslab")
VARIANTS = tuple(cases.variants(ALLOCATORS))


def variant(name):
    return next(variant for variant in VARIANTS if variant.name == name)


def limit(name, unit=""):
    return next(limit for limit in cases.LIMITS if limit.name == name and unit in limit.unit)


def timed(nanoseconds):
    return {"operations": 1000, "seconds": nanoseconds * 1e-6, "asked_bytes": 50000}


def outcome(columns):
    """columns: for each variant, by name, its runs."""
    result = cases.Outcome([variant(name) for name in columns])
    for name, runs in columns.items():
        for run in runs:
            result.add(variant(name), run)
    return result


class Judging(unittest.TestCase):
    def test_a_ratio_is_taken_to_the_fastest_peer(self):
        columns = {"drain": [120, 1200], "glibc+free": [200, 2000], "mimalloc+free": [100, 1000]}
        found = outcome({name: [*map(timed, times)] * 2 for name, times in columns.items()})
        self.assertEqual(found.best(found.mallocs, cases.nanoseconds), "mimalloc+free")
        self.assertAlmostEqual(found.judged(limit("drain")).middle, 1.2)
        self.assertIs(found.met(limit("drain")), False)

    def test_tslab_without_epochs_is_a_peer_too(self):
        columns = {"drain": [100], "glibc+free": [200], "tslab+free": [90]}
        found = outcome({name: [*map(timed, times)] * 2 for name, times in columns.items()})
        self.assertAlmostEqual(found.judged(limit("drain")).middle, 100 / 90)

    def test_pools_are_what_epochs_that_release_are_held_to(self):
        found = outcome({"release": [timed(74)] * 2, "vouched": [timed(101)] * 2, "apr": [timed(100)] * 2})
        self.assertEqual([found.met(limit(name)) for name in ("release", "vouched")], [True, False])

    def test_without_its_peer_nothing_is_judged(self):
        found = outcome({"release": [timed(74)]})
        self.assertIsNone(found.met(limit("release")))
        self.assertEqual(list(tables.misses(found)), [])

    def test_absolute_limits(self):
        found = outcome({"open+close": [timed(60), timed(61)], "enter+leave": [timed(15.5)] * 2})
        self.assertEqual([found.met(limit(name)) for name in ("open+close", "enter+leave")], [True, False])
        self.assertEqual(list(tables.misses(found)), ["enter+leave: 15.5 (15.5-15.5), at most 15 ns"])

    def test_memory_against_what_was_asked_for(self):
        found = outcome({"epochs": [{"grown_kib": 1150, "asked_bytes": 1024 * 1000, "left_kib": 0}] * 2})
        self.assertIs(found.met(limit("epochs")), True)
        found = outcome({"epochs": [{"grown_kib": 1151, "asked_bytes": 1024 * 1000, "left_kib": 0}] * 2})
        self.assertIs(found.met(limit("epochs")), False)

    def test_reclaim_is_judged_by_what_is_left_and_by_time(self):
        run = {"grown_kib": 1000, "at_close_kib": 1000, "left_kib": 10, "seconds": 0.001, "pages": 2500}
        found = outcome({"close, release": [run] * 2})
        self.assertIs(found.met(limit("close, release", "left")), True)
        self.assertAlmostEqual(found.judged(limit("close, release", "page")).middle, 0.4)
        self.assertIs(found.met(limit("close, release", "page")), False)

    def test_every_limit_is_about_a_variant(self):
        names = {variant.name for variant in VARIANTS}
        self.assertEqual(len(names), len(VARIANTS))
        for each in cases.LIMITS:
            self.assertLessEqual({each.name, *each.peers} - set(cases.MALLOCS), names)


class Command(LabTest):
    def command(self, *options):
        return self.lab("epochs", "--quick", "--rounds", "1", *options)

    def test_everything_runs(self):
        page = self.own / "page.md"
        options = ("--library", self.library, "--baseline", self.library, "--allocators", "glibc,tslab")
        done = self.command(*options, "--output", "out", "--markdown", page)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assert_narrow(done.stdout.partition("Results:")[0])

        lines = list(map(json.loads, (self.own / "out/results.jsonl").read_text().splitlines()))
        self.assertEqual((lines[0]["command"], list(lines[0]["cases"])), ("epochs", list(cases.GROUPS)))
        found = [line for line in lines if line["kind"] == "run"]
        names = {one.label: one for one in VARIANTS}
        runs = {}
        for line in found:
            label, base = line["allocator"].removesuffix(" (base)"), line["allocator"].endswith(" (base)")
            runs[label, "base" if base else names[label].allocator] = line
            self.assertEqual(line["case"], names[label].group)
        self.assertEqual(len(runs), len(found))
        left_out = set(names) - {name for name, _ in runs}
        peers = ("jemalloc", "tcmalloc", "mimalloc")
        self.assertEqual(left_out, {f"{peer}{what}" for peer in peers for what in ("", "+free")})
        for name in (*cases.EPOCHS, "open+close", "epochs", "close, release", "turnover"):
            self.assertIn((name, "base"), runs)
        asked = {run["asked_bytes"] for (name, _), run in runs.items() if variant(name).group == "request"}
        self.assertEqual(len(asked), 1)  # all serve the same request
        for (name, allocator), run in runs.items():
            with self.subTest(name, allocator=allocator):
                if "operations" in run:
                    self.assertGreater(run["operations"], 0)
                    self.assertGreater(run["seconds"], 0)
                elif name in ("epochs", "open", "close, release", "close, drain"):
                    self.assertGreater(run["grown_kib"], 0)
        closed = runs["close, release", "tslab"]
        self.assertLess(closed["left_kib"], closed["grown_kib"] / 2)

        text = page.read_text()
        for table in ("A request of 225 objects", "Close with reclaim", "tslab against base", "Limits missed"):
            self.assertIn(table, text)
        self.assertNotIn(str(ROOT), text)

    def test_without_tslab_there_are_the_peers(self):
        done = self.command("--allocators", "glibc", "--groups", "request,steps")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("glibc+free", done.stdout)
        self.assertNotIn("open+close", done.stdout)
        done = self.command("--allocators", "glibc", "--groups", "steps")
        self.assertEqual(done.returncode, 1)
        self.assertIn("Nothing of this can be measured on these allocators", done.stderr)

    def test_objects_that_overlap_are_seen(self):
        library = self.compiled(ONE_PLACE_A_SIZE)
        done = self.command("--library", library, "--allocators", "tslab", "--groups", "request")
        self.assertEqual(done.returncode, 1)
        self.assertIn("died of SIGABRT", done.stderr)
        self.assertIn("objects overlap", done.stderr)

    def test_what_is_missing_is_said(self):
        with unittest.mock.patch.dict(os.environ, {"PATH": str(self.own)}):
            self.assertEqual(compiled.pool_programs(), [])
        names = {program.name for program in compiled.request_programs(self.own / "libtslab-malloc.so")}
        self.assertNotIn("request-static", names)
        chosen = epochs.variants_of(cli.LAB.parser().parse_args(["epochs"]), {"glibc": None, "tslab": None}, names)
        self.assertFalse({"apr", "release, static"} & {variant.name for variant in chosen})

        place = "--library", self.own / "libtslab-malloc.so"
        Path(place[1]).symlink_to(Path(self.library).resolve())
        done = self.command(*place, "--allocators", "tslab", "--groups", "steps")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("There is no libtslab.a beside the library", done.stderr)

    def test_the_programs_refuse_nonsense(self):
        self.command("--allocators", "glibc", "--groups", "request")
        for program, *arguments in (
            ("request", "release"),
            ("request", "rest", "10"),
            ("request", "malloc", "0"),
            ("request", "malloc", "1x"),
            ("pool", "both", "10"),
            ("crowd", "epochs", "-1"),
            ("reclaim", "drain", "100000"),
            ("many", "open"),
        ):
            done = self.run_argv([compiled.BUILT / program, *arguments])
            self.assertEqual((done.returncode, done.stdout), (2, ""), (program, *arguments))
            self.assertIn("usage:", done.stderr)
        argv = [compiled.BUILT / "request", "empty", "1"]
        done = self.run_argv(argv)
        self.assertEqual(done.returncode, 2)
        self.assertIn("this needs tslab: run it with LD_PRELOAD", done.stderr)


if __name__ == "__main__":
    main()
