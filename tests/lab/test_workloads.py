"""The workloads: names and parameters, every program in both builds, and that each notices what an allocator does
wrong. usage: test_workloads.py [LIBRARY]"""

import json
import math
import os
import platform
import subprocess
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import lab_test
from tslab_lab.allocators import installed
from tslab_lab.base import processes
from tslab_lab.estimates import histogram
from tslab_lab.workloads import catalogue, held, named
from tslab_lab.workloads import compiled as build

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
    "fork": {"live": 500},
    "burst-idle": {"objects": 3000, "idle_ms": 1, "watch_ms": 1},
    "phase-shift": {"mib": 1},
    "scattered": {"objects": 300},
    "buffers": {"mib": 1},
    "refused": {"dirty_mib": 2},
    "fleet": {"live_mib": 2},
    "shared-enter": {"crowd": 20},
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
    "fork": ("forks_per_second",),
    "burst-idle": ("burst_first_kib", "idle_first_kib", "burst_last_kib", "idle_last_kib", "return_ms"),
    "phase-shift": ("survivors", "survivors_kib"),
    "scattered": ("survivors", "survivors_kib"),
    "buffers": ("kept", "kept_kib"),
    "pinning": ("survivors_kib", "pinned_kib", "refilled_kib"),
    "fleet": ("sizes", "live_objects"),
    "pow2": ("slowest_ns", "slowest_size"),
    "refused": ("large_granted_ns", "large_refused_ns", "small_granted_ns", "small_refused_ns"),
    "shared-enter": ("enter_ns", "epoch_ns", "epoch_after_crowd_ns"),
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
GIVES_DIRTY_ZEROS = """
#include <stddef.h>
void *__libc_malloc(size_t size);
void *calloc(size_t count, size_t size)
{
    char *start = __libc_malloc(count * size);
    for (size_t i = 0; i < count * size; i++) start[i] = i == 5000;
    return start;
}
"""
# Every object has a page of its own, which is gone when it is freed.
PAGES = """
#include <stdlib.h>
#include <sys/mman.h>
void *__libc_malloc(size_t size);
void __libc_free(void *start);
static int is_page(void *start) { return start != NULL && (unsigned long)start % 4096 == 0; }
void *malloc(size_t size)
{
    if (size < 16 || size > 512) return __libc_malloc(size);
    return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
void free(void *start) { if (is_page(start)) munmap(start, 4096); else __libc_free(start); }
"""
SLEEPS = """
#include <stddef.h>
#include <time.h>
void *__libc_malloc(size_t size);
void *malloc(size_t size)
{
    static unsigned calls;
    if (size == 64 && ++calls == 3000) nanosleep(&(struct timespec){ 0, 3000000 }, NULL);
    return __libc_malloc(size);
}
"""
# Counts the times that it is given, of two actors in turn.
HISTOGRAM = """
#include "latency.h"
int main(int count, char **words)
{
    latency_record *records[] = { latency_record_new(), latency_record_new() };
    for (int i = 1; i < count; i++) {
        latency_add(&records[i % 2]->kinds[LATENCY_FREE], strtod(words[i], NULL));
    }
    printf("{");
    latency_print_kind(LATENCY_FREE, "\\"found\\": ");
    printf("}");
    return 0;
}
"""


def tiny(name):
    """The workload with next to nothing to do."""
    workload = named.WORKLOADS[name]
    given = {next(iter(workload.parameters)): workload.tiny} | SMALL.get(name, {})
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

    def needs_epochs(self, name):
        """Then only our own library can run it."""
        return self.cases[name].workload.needs == "epochs"

    def run_on(self, argv, preload=None):
        return self.run_argv(argv, env=processes.environment(preload))

    def figures(self, name, preload=None, directory=None):
        if self.needs_epochs(name):
            preload = self.library
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

    def test_the_work_depends_on_the_parameters(self):
        """The hash says what was done: more of it, or of another size, has another."""
        seen = set()
        for parameters in ("operations=1000,live=50", "operations=2000,live=50", "operations=1000,live=60"):
            done = self.run_on(named.parse(f"replace:{parameters}").argv(self.plain, False))
            seen.add(json.loads(done.stdout)["hash"])
        self.assertEqual(len(seen), 3)

    def test_facts_are_what_they_say(self):
        scattered = self.figures("scattered")
        self.assertAlmostEqual(scattered["survivors"], scattered["operations"] / 200, delta=25)
        shifted = self.figures("phase-shift")
        self.assertAlmostEqual(shifted["survivors"], shifted["operations"] * 0.05, delta=2)
        pinned = self.figures("pinning")
        self.assertEqual(pinned["survivors_kib"], 1)  # 16 of 64 bytes: one for every 64 KiB of a MiB
        for found in (scattered, shifted, pinned):
            self.assertGreater(found["rss_kib"], found["survivors_kib"])
        larson = self.figures("larson")
        self.assertEqual(larson["threads_started"], 8)
        self.assertTrue(0 < larson["inherited_share"] < 1)
        self.assertGreater(self.figures("fork")["forks_per_second"], 0)

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

    def test_a_littered_heap(self):
        """The program begins with more than it would have, the peak is its own, and the work is the same."""
        library = Path(self.library).absolute() if self.library else None
        for preload in (None, library):
            plain = processes.environment(preload)
            argv = named.parse("pair:operations=1000").argv(self.plain, False)
            fresh, littered = (
                json.loads(self.run_argv(argv, env=env).stdout) for env in (plain, build.littered(plain))
            )
            self.assertEqual(littered["hash"], fresh["hash"])
            self.assertGreater(littered["base_kib"], fresh["base_kib"] + 1024)
            self.assertLess(littered["peak_kib"], littered["base_kib"] + 1024)

    def test_several_threads_share_the_work(self):
        for text, operations in (
            ("churn-fixed:operations=4000,live=100,threads={}", 4000),
            ("burst-idle:bursts=2,objects=2000,idle_ms=1,threads={}", 4000),
            ("phase-shift:phases=2,mib=1,threads={}", None),
        ):
            one, four = (
                json.loads(self.run_on(named.parse(text.format(threads)).argv(self.plain, False)).stdout)
                for threads in (1, 4)
            )
            if operations:
                self.assertEqual((one["operations"], four["operations"]), (operations, operations), text)
            self.assertAlmostEqual(one["operations"] / four["operations"], 1, delta=0.01)
            self.assertNotEqual(one["hash"], four["hash"])  # each thread has objects of its own
            if "survivors" in four:
                self.assertAlmostEqual(four["survivors"] / four["operations"], 0.05, delta=0.001)
        done = self.run_on(named.parse("churn-fixed:threads=65").argv(self.plain, False))
        self.assertEqual(done.returncode, 2)

    def test_rss_at_the_end_is_with_the_survivors(self):
        library = compiled(PAGES, self.own / "libpages.so", "-shared", "-fPIC", "-fno-builtin")
        for text, survivors in (
            ("scattered:requests=20,objects=300,every=2", 3000),
            ("phase-shift:phases=1,mib=1,survivors=10", 2621),
            ("pinning:mib=1,keep_kib=1", 1024),
        ):
            found = json.loads(self.run_on(named.parse(text).argv(self.plain, False), library).stdout)
            grown = found["rss_kib"] - found["base_kib"]
            self.assertTrue(0.9 * survivors * 4 < grown < 1.5 * survivors * 4, (text, grown))

    def test_waiting_before_rss_is_looked_at(self):
        case = named.parse("pair:operations=10,settle_ms=30")
        done = self.run_on(["bash", "-c", 'time -p "$@"', "-", *case.argv(self.plain, False)])
        real = next(line for line in done.stderr.splitlines() if line.startswith("real"))
        self.assertGreaterEqual(float(real.split()[1]), 0.03)

    def test_bad_arguments_are_refused(self):
        for text, sentence in (
            ("pair:size=8", "sizes must be from 16 to 1048576"),
            ("replace:min=64,max=32", "sizes must be from 16 to 1048576"),
            ("replace:live=0", "there must be live objects"),
            ("bulk:order=3", "the order must be 0, 1 or 2"),
            ("mixed-remote:threads=0", "there must be from 1 to 64 threads"),
            ("mixed-remote:ring=1000", "the size of a ring must be a power of two"),
            ("cache-thrash:threads=65", "there must be from 1 to 64 threads"),
            ("app:live=0", "each thread must have live objects"),
            ("churn-fixed:locality=101", "the locality is a percentage"),
            ("churn-adversarial:objects=0", "there must be objects in a phase"),
            ("scopes:objects=0", "there must be objects in a request"),
            ("strings:length=63", "the length of a text must be from 64"),
            ("calloc:live=0", "there must be live objects"),
            ("oscillate:low=5,high=5", "the low mark must be below the high one"),
            ("pow2:objects=0", "there must be from 1 to 100000 objects"),
            ("large:min_kib=65,max_kib=66", "blocks must be of whole pages"),
            ("large:touch=0", "one of every 1 to 1048576 pages is touched"),
            ("larson:generations=0", "there must be a generation of them"),
            ("idle-threads:threads=4001", "there must be from 1 to 4000 threads"),
            ("fork:forks=0", "there must be forks"),
            ("burst-idle:bursts=0", "there must be a burst"),
            ("phase-shift:survivors=101", "the survivors are a percentage"),
            ("scattered:requests=7001", "there must be from 1 to 7000 requests"),
            ("pinning:keep_kib=0", "they must hold more than one object"),
            ("refused:by=4", "it is refused by 1, 2 or 3"),
            ("refused:dirty_mib=0", "there must be from 1 to 1024 MiB to give back"),
            ("shared-enter:crowd=0", "the crowd must be of 1 to 4000 threads"),
        ):
            done = self.run_on(named.parse(text).argv(self.plain, False))
            self.assertEqual((done.returncode, done.stdout), (2, ""), text)
            self.assertTrue(done.stderr.startswith("pattern: "), done.stderr)
            self.assertIn(sentence, done.stderr)
        for words in ("", "1", "1,2,3,4", "1,x", "1,-64", "1,64 ", "1,64,x", ",64"):
            done = self.run_on([self.plain / "pair", *(words.split(",") if words else ())])
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn("usage: ", done.stderr)
            self.assertIn("OPERATIONS SIZE [SETTLE_MS]", done.stderr)

    def test_what_refuses_does(self):
        for by in (1, 2, 3):
            case = named.parse(f"refused:by={by},operations=100,dirty_mib=2")
            done = self.run_on(case.argv(self.plain, False), self.library)
            if "does not let a program" in done.stderr:
                continue  # a user's limit, or a sandbox
            self.assertEqual((done.returncode, done.stderr), (0, ""), by)

    def test_epochs_need_tslab(self):
        done = self.run_on(self.cases["shared-enter"].argv(self.plain, False))
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("shared-enter: this needs tslab: run it with LD_PRELOAD", done.stderr)

    def test_a_place_given_twice_is_seen(self):
        library = compiled(GIVES_ONE_PLACE, self.own / "libplace.so", "-shared", "-fPIC", "-fno-builtin")
        zeros = compiled(GIVES_ONE_PLACE, self.own / "libzeros.so", "-shared", "-fPIC", "-fno-builtin", "-DCALLOC=1")
        for name, case in self.cases.items():
            if name == "pair" or self.needs_epochs(name):  # pair never has two objects
                continue
            with self.subTest(name):
                done = self.run_on(case.argv(self.plain, False), zeros if name == "calloc" else library)
                self.assertLess(done.returncode, 0)
                self.assertEqual(done.stdout, "")
                seen = "an object was damaged while it was alive|what was freed is not what was made"
                self.assertRegex(done.stderr, f"pattern: ({seen})")

    def test_zeros_that_are_none_are_seen(self):
        library = compiled(GIVES_DIRTY_ZEROS, self.own / "libdirty.so", "-shared", "-fPIC", "-fno-builtin")
        done = self.run_on(self.cases["calloc"].argv(self.plain, False), library)
        self.assertLess(done.returncode, 0)
        self.assertIn("pattern: calloc gave memory that is not zero", done.stderr)


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

    def test_one_thread_counts_every_operation_once(self):
        case = named.parse("pair:operations=5000")
        done = self.run_on(case.argv(self.timed, False))
        counts = {one["operation"]: one["count"] for one in json.loads(done.stdout)["latency"]}
        self.assertEqual(counts, {"malloc": 5000, "free": 5000})  # not the warm-up's

    def test_what_children_do_is_counted(self):
        case = named.parse("fork:forks=4,live=100,objects=50")
        done = self.run_on(case.argv(self.timed, False))
        counts = {one["operation"]: one["count"] for one in json.loads(done.stdout)["latency"]}
        self.assertEqual(counts, {"malloc": 4 * (50 + 25), "free": 4 * (50 + 25 + 13)})

    def test_a_long_operation_is_seen_as_long(self):
        library = compiled(SLEEPS, self.own / "libsleeps.so", "-shared", "-fPIC", "-fno-builtin")
        done = self.run_on(named.parse("pair:operations=5000").argv(self.timed, False), library)
        found = {one["operation"]: one for one in json.loads(done.stdout)["latency"]}
        self.assertGreater(found["malloc"]["max_ns"], 2.9e6)  # it slept for 3 ms, but the clocks are not the same
        self.assertGreater(found["malloc"]["buckets"][-1][0], 2.8e6)

    def test_the_histogram_against_known_answers(self):
        program = compiled(HISTOGRAM, self.own / "histogram", f"-I{catalogue.SOURCES}", "-DLATENCY=1")
        times = [0, 0.2, 1, 1.005, 1.02, 20, 20.1, 26.67, 1000, 1000, 1009, 1011, 123456.7, 2.5e9, 1e15]
        found = json.loads(self.run_on([program, *times]).stdout)["found"]
        wanted = {}
        for ns in times:
            bucket = min(histogram.bucket_of(ns), 2619)
            wanted[bucket] = wanted.get(bucket, 0) + 1
        self.assertEqual(found["count"], len(times))
        self.assertEqual(found["max_ns"], 1e15)
        self.assertEqual({round(math.log(edge) / math.log(1.01)): count for edge, count in found["buckets"]}, wanted)

    @unittest.skipUnless(platform.machine() == "x86_64", "the timer is another one")
    def test_the_normal_build_has_nothing_of_it(self):
        for directory, is_there in ((self.plain, False), (self.timed, True)):
            for name in ("replace", "strings", "calloc"):
                done = self.run_argv(["objdump", "-d", directory / name])
                self.assertEqual((done.returncode, "rdtscp" in done.stdout), (0, is_there), name)


class Names(unittest.TestCase):
    def test_a_name_is_the_workload_with_its_defaults(self):
        for name, workload in named.WORKLOADS.items():
            case = named.parse(name)
            self.assertEqual((case.name, case.workload.name, case.values), (name, name, workload.parameters))

    def test_parameters(self):
        case = named.parse(" mixed-remote: threads=8 ,remote = 50,operations=1_000 ")
        self.assertEqual(case.name, "mixed-remote:operations=1000,threads=8")  # remote=50 is the default
        argv = case.argv(Path("/there"), quick=False)
        self.assertEqual(argv, ["/there/remote", "1000", "8", "50", "400", "16", "2048", "65536", "0", "0"])
        self.assertEqual(named.parse(case.name), case)

    def test_quick_changes_what_was_not_asked_for(self):
        usual, asked = named.parse("replace:live=300"), named.parse("replace:operations=7000000")
        self.assertEqual(usual.argv(Path("/x"), True)[1:3], ["4000000", "300"])
        self.assertEqual(asked.argv(Path("/x"), True), asked.argv(Path("/x"), False))
        for workload in named.WORKLOADS.values():
            self.assertLessEqual(set(workload.quick), set(workload.parameters), workload.name)

    def test_bad_names_and_parameters_get_a_sentence(self):
        for text, sentence in (
            ("mixed-remte", "Did you mean mixed-remote or shared-enter? The workloads are: pair, "),
            ("", "There is no workload ''. The workloads are: pair, "),
            ("mixed-remote:thread=8", "no parameter 'thread'. Did you mean threads? It has: operations=3000000, thr"),
            ("mixed-remote:", "mixed-remote has no parameter ''."),
            ("mixed-remote:threads", "wants a whole number for threads, as in threads=2"),
            ("mixed-remote:threads=", "wants a whole number for threads"),
            ("mixed-remote:threads=-1", "wants a whole number for threads"),
            ("mixed-remote:threads=2.5", "wants a whole number for threads"),
            ("mixed-remote:threads=\u0662", "wants a whole number for threads"),
            ("mixed-remote:threads=4294967295", "wants a whole number for threads"),
            ("mixed-remote:threads=2,threads=2", "threads is given twice"),
            ("remote-2t-50:threads=4", "Name its workload: mixed-remote:threads=4"),
            ("nowhere*", "No workload has a name like 'nowhere*'. The workloads are: pair, "),
        ):
            with self.subTest(text), self.assertRaises(processes.Failure) as raised:
                named.select([text])
            self.assertIn(sentence, str(raised.exception))

    def test_selecting(self):
        def names(*texts):
            return [case.name for case in named.select(texts)]

        self.assertEqual(names("app", "calloc", "app"), ["app", "calloc"])
        self.assertEqual(names("cache-*"), ["cache-scratch", "cache-thrash"])
        self.assertEqual(names("remote-2*", "*remote"), ["remote-2t-0", "remote-2t-50", "remote-2t-90", "mixed-remote"])
        self.assertEqual(names("edges-1024", "boundaries")[:2], ["edges-1024", "boundaries-1024"])
        self.assertEqual(names("quick", "standard"), names("standard"))

    def test_sets(self):
        for name, cases in named.SETS.items():
            names = [case.name for case in cases]
            self.assertEqual(len(set(names)), len(names), name)
        self.assertEqual(len(named.SETS["patterns"]), 56)
        self.assertEqual(len(named.SETS["boundaries"]), 30)
        self.assertTrue(12 <= len(named.SETS["quick"]) <= 14)
        self.assertLessEqual({c.name for c in named.SETS["quick"]}, {c.name for c in named.SETS["standard"]})
        self.assertEqual([name for name, _ in named.sets()], list(named.SETS))
        self.assertEqual([name for name, _ in named.listing()], list(named.WORKLOADS))

    def test_a_case_that_is_named_like_a_workload_is_that_workload(self):
        both = set(named.NAMED) & set(named.WORKLOADS)
        self.assertEqual(both, {"pair", "free-only", "threads"})
        for name in both:
            case, workload = named.NAMED[name], named.WORKLOADS[name]
            self.assertEqual((case.workload, case.values, case.quick), (workload, workload.parameters, workload.quick))

    def test_every_group_of_cases_has_words(self):
        for case in held.CASES:
            self.assertIn(case.group, held.GROUPS)


class Catalogue(unittest.TestCase):
    """What is wrong in the file is said, with its place."""

    GOOD = """
[groups]
basic = "words"
[sets]
quick = ["pair"]
[workloads.pair]
group = "basic"
title = "a pair"
parameters = { operations = 10, size = 64 }
quick = { operations = 1 }
"""

    def read(self, text):
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory) / "own.toml"
            file.write_text(text)
            return catalogue.read(file)

    def test_a_good_one(self):
        groups, workloads, sets = self.read(self.GOOD)
        self.assertEqual((groups, sets), ({"basic": "words"}, {"quick": ["pair"]}))
        pair = workloads["pair"]
        self.assertEqual((pair.program, pair.tiny), ("pair", 20_000))
        self.assertEqual(pair.parameters, {"operations": 10, "size": 64, "settle_ms": 0})

    def test_what_is_wrong(self):
        for old, new, sentence in (
            ("= 10,", "10,", "own.toml is no TOML: "),
            ("[sets]\nquick", "[more]\nquick", "sets is missing: it must be a table"),
            ('"words"', "3", "group basic must be a text, and is 3"),
            ('["pair"]', '["pear"]', "set quick must be a list of workloads, and is ['pear']"),
            ("[workloads.pair]", "[workloads]", "workload group: it is no table"),
            ('"basic"\ntitle', '"other"\ntitle', "workload pair: group must be one of basic, and is 'other'"),
            ('title = "a pair"', "", "workload pair: title is missing: it must be a text"),
            ('title = "a pair"', 'titel = "a pair"\ntitle = "a pair"', "nobody knows what titel means"),
            ('title = "a pair"', 'title = "a pair"\nprogram = "nothing"', "nothing.c"),
            ("size = 64", 'size = "64"', "parameters must be whole numbers by name"),
            ("size = 64", "size = -1", "parameters must be whole numbers by name"),
            ("size = 64", "size = 4294967295", "parameters must be whole numbers by name"),
            ("size = 64", "settle_ms = 1", "settle_ms is a parameter of every workload"),
            (
                "quick = { operations",
                "quick = { rounds",
                "quick has rounds, which is none of the parameters operations, size",
            ),
            ("quick = {", "tiny = 0\nquick = {", "tiny must be a number from 1 on"),
            ("quick = {", 'needs = "luck"\nquick = {', "needs must be epochs, and is 'luck'"),
        ):
            with self.subTest(sentence), self.assertRaises(processes.Failure) as raised:
                self.assertIn(old, self.GOOD)
                self.read(self.GOOD.replace(old, new))
            self.assertIn(sentence, str(raised.exception))


if __name__ == "__main__":
    lab_test.main()
