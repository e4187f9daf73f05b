"""The workloads: names and parameters, every program in both builds, and that each notices what an allocator does
wrong. usage: test_workloads.py [LIBRARY]"""

import json
import math
import os
import subprocess
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import lab_test
from tslab_lab.allocators import installed
from tslab_lab.base import processes
from tslab_lab.workloads import compiled as build
from tslab_lab.workloads import named

# What is smaller than the default in a run that takes a few milliseconds, beside the amount of work.
SMALL = {
    "replace": {"live": 500},
    "bulk": {"objects": 1000},
    "mixed-remote": {"live": 200, "ring": 1024},
    "free-only": {"window": 500},
    "app": {"live": 200},
    "churn-fixed": {"live": 1000},
    "churn-adversarial": {"objects": 300},
    "calloc": {"live": 200},
    "oscillate": {"low": 100, "high": 500},
    "pow2": {"objects": 16},
    "large": {"max_kib": 2048},
    "larson": {"slots": 300, "generations": 4},
    "resting": {"threads": 5, "rest_ms": 1, "live": 200},
    "fork": {"live": 500},
    "burst-idle": {"objects": 3000, "idle_ms": 1, "watch_ms": 1},
    "phase-shift": {"mib": 1},
    "scattered": {"objects": 300},
    "buffers": {"mib": 1},
    "fleet": {"live_mib": 2},
}
FIGURES = ("operations", "seconds", "hash", "peak_kib", "base_kib", "live_kib", "rss_kib")
FIGURES += ("pss_kib", "private_kib", "huge_kib", "system_seconds", "faults")
FACTS = {
    "mixed-remote": ("remote_share",),
    "blocks": ("remote_share",),
    "cache-scratch": ("shared_lines",),
    "cache-thrash": ("shared_lines",),
    "larson": ("inherited_share", "threads_started"),
    "idle-threads": ("thread_kib", "thread_started_kib"),
    "resting": ("burst_kib", "rested_kib"),
    "fork": ("forks_per_second",),
    "burst-idle": ("burst_first_kib", "idle_first_kib", "burst_last_kib", "idle_last_kib", "return_ms"),
    "phase-shift": ("survivors", "survivors_kib"),
    "scattered": (
        "survivors",
        *(f"{name}_kib" for name in ("survivors", "start", "after", "asked")),
        "allocate_seconds",
        "finish_seconds",
    ),
    "buffers": ("kept", "kept_kib"),
    "pinning": ("survivors_kib", "pinned_kib", "refilled_kib"),
    "fleet": ("sizes", "live_objects"),
    "pow2": ("slowest_ns", "slowest_size"),
}
OPERATIONS = {"calloc": {"calloc", "free"}, "strings": {"malloc", "realloc", "free"}}
OPERATIONS["large"] = OPERATIONS["strings"]

# A library to preload whose every fifth block is the same place.
GIVES_ONE_PLACE = """
#include <stddef.h>
#include <string.h>
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *start, size_t size);
void __libc_free(void *start);
static _Alignas(16) char place[1 << 26];
static unsigned calls;
static int now(void) { return __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) % 5 == 0; }
void *malloc(size_t size) { return size >= 16 && now() ? place : __libc_malloc(size); }
void *realloc(void *start, size_t size) { return start == place ? place : __libc_realloc(start, size); }
void free(void *start) { if (start != place) __libc_free(start); }
#if CALLOC
void *calloc(size_t count, size_t size) { return now() ? memset(place, 0, size) : __libc_calloc(count, size); }
#endif
"""
# The least work that shows anything.
LEAST = {"threads": 40, "scopes": 100, "large": 50, "idle-threads": 20, "fork": 5, "burst-idle": 1, "phase-shift": 2, "scattered": 20,
         "pinning": 1, "buffers": 2}  # fmt: skip


def tiny(name):
    """The workload with next to nothing to do."""
    workload = named.WORKLOADS[name]
    given = {next(iter(workload.parameters)): LEAST.get(name, 20_000)} | SMALL.get(name, {})
    return named.parse(f"{name}:" + ",".join(f"{key}={value}" for key, value in given.items()))


def compiled(source, target, *options):
    argv = ["cc", "-w", "-O1", *options, "-x", "c", "-", "-o", str(target), "-lm"]
    subprocess.run(argv, input=source, text=True, check=True)
    return target


# A small one, in the form of Fleetbench's: size, rate, objects alive.
DISTRIBUTION = "1, 100, 50\n24, 5000, 40\n100, 800.5, 700.25\n5000, 30, 100\n3000000, 1, 5\n"


class Built(lab_test.LabTest):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="tslab-fleetbench-")
        cls.addClassCleanup(directory.cleanup)
        cls.fleetbench = Path(directory.name)
        (cls.fleetbench / "TCMALLOC_0.csv").write_text(DISTRIBUTION)
        cls.enterClassContext(unittest.mock.patch.dict(os.environ, {"FLEETBENCH": directory.name}))
        cls.cases = {name: tiny(name) for name in named.WORKLOADS}
        cls.plain = build.build(cls.cases.values())
        cls.timed = build.build(cls.cases.values(), latency=True)

    def run_on(self, argv, preload=None):
        return self.run_argv(argv, env=processes.environment(preload))

    def figures(self, name, preload=None, directory=None):
        done = self.run_on(self.cases[name].argv(directory or self.plain, False), preload)
        self.assertEqual((done.returncode, done.stderr), (0, ""), name)
        self.assertEqual(done.stdout.count("\n"), 1, name)
        return json.loads(done.stdout)


class Programs(Built):
    def test_all_report_and_do_the_same_work_on_every_allocator(self):
        others = [Path(self.library).absolute()] if self.library else []
        others += [found.path for found in installed.found(["jemalloc"])[0].values()]
        for name in self.cases:
            with self.subTest(name):
                found = self.figures(name)
                self.assertEqual(set(found), {*FIGURES, *FACTS.get(name, ())})
                for figure in ("operations", "peak_kib", "base_kib", "rss_kib"):
                    self.assertGreater(found[figure], 0, figure)
                self.assertGreaterEqual(found["seconds"], 0)
                self.assertGreaterEqual(found["peak_kib"], found["rss_kib"])
                for library in (None, *others):
                    again = self.figures(name, library)
                    self.assertEqual(again["hash"], found["hash"], library)
                    self.assertEqual(again["operations"], found["operations"], library)

    def test_a_distribution_is_what_is_alive(self):
        """Objects come and go so that as many are alive as its rows say, in all sizes but those that are too large."""
        case = named.parse("fleet:operations=200000,live_mib=8")
        found = json.loads(self.run_on(case.argv(self.plain, False)).stdout)
        self.assertEqual(found["sizes"], 4)
        self.assertAlmostEqual(found["live_kib"] / 8192, 1, delta=0.15)
        mean = (50 + 24 * 40 + 100 * 700.25 + 5000 * 100) / (50 + 40 + 700.25 + 100)
        self.assertAlmostEqual(found["live_objects"] * mean / (8 << 20), 1, delta=0.01)
        (self.fleetbench / "TCMALLOC_1.csv").write_text("16, many, 3\n")
        for number, words in ((1, "is not size, rate, number"), (2, "there is no such file")):
            done = self.run_on(named.parse(f"fleet:profile={number}").argv(self.plain, False))
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr)
        with unittest.mock.patch.dict(os.environ):
            del os.environ["FLEETBENCH"]
            done = self.run_on(case.argv(self.plain, False))
        self.assertEqual(done.returncode, 2)
        self.assertIn("lab bench fleet --fleetbench DIRECTORY", done.stderr)

    def test_a_place_given_twice_is_seen(self):
        library = compiled(GIVES_ONE_PLACE, self.own / "libplace.so", "-shared", "-fPIC", "-fno-builtin")
        zeros = compiled(GIVES_ONE_PLACE, self.own / "libzeros.so", "-shared", "-fPIC", "-fno-builtin", "-DCALLOC=1")
        for name, case in self.cases.items():
            if name == "pair":  # pair never has two objects
                continue
            with self.subTest(name):
                done = self.run_on(case.argv(self.plain, False), zeros if name == "calloc" else library)
                self.assertLess(done.returncode, 0)
                self.assertEqual(done.stdout, "")
                seen = "an object was damaged while it was alive|what was freed is not what was made"
                self.assertRegex(done.stderr, f"pattern: ({seen})")


class Latency(Built):
    def test_every_workload_times_its_operations(self):
        for name in self.cases:
            with self.subTest(name):
                plain, found = self.figures(name), self.figures(name, directory=self.timed)
                kinds = {one["operation"]: one for one in found.pop("latency")}
                self.assertEqual(set(found), set(plain))
                self.assertEqual(found["hash"], plain["hash"])
                self.assertEqual(set(kinds), OPERATIONS.get(name, {"malloc", "free"}))
                for one in kinds.values():
                    self.check_histogram(one)

    def check_histogram(self, found):
        self.assertGreater(found["count"], 0)
        self.assertEqual(sum(count for _, count in found["buckets"]), found["count"])
        self.assertTrue(all(count > 0 for _, count in found["buckets"]))
        edges = [edge for edge, _ in found["buckets"]]
        self.assertEqual(edges, sorted(set(edges)))
        self.assertLessEqual(edges[-1] * 0.9999, max(found["max_ns"], 1))
        self.assertLess(found["max_ns"], edges[-1] * 1.0101)
        self.assertGreater(found["timer_ns"], 0)
        self.assertTrue(0 < found["timer_low_ns"] <= found["timer_ns"])
        for edge in edges:
            place = math.log(edge) / math.log(1.01)
            self.assertAlmostEqual(place, round(place), delta=0.001)


if __name__ == "__main__":
    lab_test.main()
