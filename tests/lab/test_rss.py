"""`lab rss`: its sums against known answers, the sampler on programs that do what is known, tiny runs of the command.
usage: test_rss.py LIBRARY"""

import argparse
import contextlib
import csv
import io
import json
import os
import signal
import subprocess
import time
import types
import unittest.mock

from lab_test import LabTest, main
from tslab_lab.base import processes
from tslab_lab.commands import rss
from tslab_lab.measure import honesty
from tslab_lab.memory import family, series
from tslab_lab.memory.sampler import COLUMNS, Sampler
from tslab_lab.report import plots

PYTHON = "/usr/bin/python3"
PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
# Holds memory (MiB: private, and freed lazily), says so, and waits.
HOLDS = """
import mmap, sys
held = mmap.mmap(-1, int(sys.argv[1]) << 20 or 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
lazy = mmap.mmap(-1, int(sys.argv[2]) << 20 or 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for area in (held, lazy):
    for at in range(0, len(area), 4096):
        area[at] = 1
if int(sys.argv[2]):
    lazy.madvise(mmap.MADV_FREE)
print("held", flush=True)
sys.stdin.read()
"""
JOB = """
import json, time
held = bytearray(30 << 20)
held[::4096] = b"x" * len(held[::4096])
time.sleep(0.25)
print("working")
print(json.dumps({"operations": 1000, "seconds": 0.5}))
"""


class Series(LabTest):
    def test_p95_is_of_time_not_of_samples(self):
        times = list(range(0, 1010, 10))
        self.assertEqual(series.p95(times, list(range(101))), 95)
        # Half of the samples are of one short burst at the end.
        times = [*range(0, 5000, 100), *range(5000, 5050)]
        self.assertEqual(series.p95(times, [1] * 50 + [9] * 50), 1)

    def test_figures_of_a_run(self):
        columns = {
            "t_ms": [0, 500, 1000],
            "rss_kb": [1024, 2048, 1024],
            "pss_kb": [512, None, 1024],
            "uss_kb": [256, None, 512],
            "huge_kb": [0, None, 512],
        }
        found = series.figures(columns)
        self.assertEqual((found["mean_kib"], found["peak_kib"]), (1536, 2048))
        self.assertEqual(
            (found["area_mib_s"], found["p95_kib"], found["mean_pss_kib"], found["mean_uss_kib"]),
            (1.5, None, None, None),
        )
        often = {"t_ms": list(range(0, 5000, 1000)), "rss_kb": [4096] * 5}
        often |= dict.fromkeys(("pss_kb", "uss_kb", "huge_kb"), [2048] * 5)
        self.assertEqual(series.figures(often)["mean_huge_kib"], 2048)
        self.assertEqual((found["samples"], found["sampled_every_ms"], found["pss_every_ms"]), (3, 500, 1000))

    def test_rounds_on_one_grid(self):
        runs = [([0, 1000], [1024, 1024]), ([0, 500, 1000], [2048, 9216, 2048]), ([0, 400], [3072, 3072])]
        seconds, middle, low, high = plots.on_grid(runs, steps=10)
        self.assertEqual((seconds[0], seconds[-1], len(middle)), (0.05, 0.95, 10))
        self.assertEqual((low.min(), low.max()), (1, 1))
        self.assertEqual(high.max(), 9)  # one sample is seen, however coarse the grid
        self.assertEqual(middle[-1], 2)  # of 1, 2 and 3, which has ended
        ends = plots.on_grid([([0, 100], [1, 1]), ([0, 1000], [1, 1]), ([0, 200], [1, 1])], steps=4)[0]
        self.assertEqual(ends[-1], 0.175)  # half of them have ended after 200 ms


class Sampling(LabTest):
    def last_row(self, sampler):
        sampler.tick(time.monotonic(), last=True)
        return types.SimpleNamespace(**dict(zip(COLUMNS, sampler.rows[-1])))

    def test_descendants_count_and_may_vanish(self):
        script = f"{PYTHON} -c '{HOLDS.replace(chr(39), chr(34))}' 30 0; echo gone; read line"
        process = subprocess.Popen(["sh", "-c", script], text=True, **PIPES)
        try:
            self.assertEqual(process.stdout.readline(), "held\n")
            whole = Sampler(process.pid, time.monotonic())
            self.assertGreater(self.last_row(whole).rss_kb, 30 << 10)
            (child,) = family.children(process.pid)
            os.kill(child, signal.SIGKILL)
            self.assertEqual(process.stdout.readline(), "gone\n")
            self.assertLess(self.last_row(whole).rss_kb, 10 << 10)
            self.assertEqual((whole.most, len(whole.files)), (2, 1))
        finally:
            process.communicate()
        rows = len(whole.rows)
        whole.tick(time.monotonic(), last=True)
        self.assertEqual((len(whole.rows), whole.files), (rows, {}))


class Command(LabTest):
    """Tiny runs."""

    def here(self, *words):
        """The command within this process: quick, as it neither starts nor looks at how busy the machine is."""
        parser = argparse.ArgumentParser(prog="lab rss")
        rss.add_arguments(parser)
        parser.set_defaults(error=parser.error)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.ExitStack() as stack:
            stack.enter_context(unittest.mock.patch.object(honesty, "busy_share", lambda: 0))
            stack.enter_context(unittest.mock.patch.dict(os.environ, self.environment))
            stack.enter_context(contextlib.redirect_stdout(out))
            stack.enter_context(contextlib.redirect_stderr(err))
            try:
                code = rss.run(parser.parse_args(list(map(str, words))))
            except SystemExit as end:
                code = end.code
            except processes.Failure as failure:
                code = 1
                err.write(str(failure))
        return types.SimpleNamespace(returncode=code, stdout=out.getvalue(), stderr=err.getvalue())

    def rss(self, *words, allocators="tslab,glibc"):
        fixed = ("--library", self.library, "--rounds", 1, "--allocators", allocators)
        return self.here(*fixed, "--output", self.own / "out", *words)

    def lines(self, kind):
        text = (self.own / "out/results.jsonl").read_text()
        return [line for line in map(json.loads, text.splitlines()) if line["kind"] == kind]

    def test_everything_about_a_job(self):
        words = ("rss", "--library", self.library, "--rounds", 2, "--output", "out")
        done = self.lab(*words, "--", PYTHON, "-c", JOB)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assert_narrow("\n".join(line for line in done.stdout.splitlines() if str(self.own) not in line))
        for word in ("ops/s", "As ratios to glibc", "Mean RSS of python3"):
            self.assertIn(word, done.stdout)
        runs = self.lines("run")
        who = sorted((run["allocator"], run["round"]) for run in runs)
        self.assertEqual(who, [("glibc", 1), ("glibc", 2), ("tslab", 1), ("tslab", 2)])
        series = {(line["allocator"], line["round"]): line for line in self.lines("series")}
        for run in runs:
            name = f"{run['allocator']}-{run['round']}"
            self.assertGreater(run["peak_kib"], 30 << 10)
            self.assertEqual((run["operations"], run["operations_per_second"], run["exit_code"]), (1000, 2000, 0))
            self.assertGreaterEqual(run["run_seconds"], 0.25)
            with open(self.own / "out" / f"{name}.csv", newline="") as file:
                heads, *rows = csv.reader(file)
            self.assertEqual(tuple(heads), COLUMNS)
            self.assertEqual(len(rows), run["samples"])
            mine = series[run["allocator"], run["round"]]
            for index, head in enumerate(COLUMNS):
                self.assertEqual([row[index] for row in rows], ["" if v is None else str(v) for v in mine[head]])
            self.assertTrue((self.own / "out" / f"{name}.out").read_text().startswith("working\n"))
        self.assertTrue((self.own / "out/rss.png").read_bytes().startswith(b"\x89PNG"))
        self.assertTrue((self.own / "out/rss.pdf").read_bytes().startswith(b"%PDF"))
        self.assertTrue(self.lines("footer")[0]["complete"])
        self.assert_nothing_left()


if __name__ == "__main__":
    main()
