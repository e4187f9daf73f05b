"""Runs the whole demo, tiny, and makes it fail in the ways it must report. usage: test_demo.py LIBRARY"""

import json
import signal
import subprocess
import time

from lab_test import ONE_PLACE, TIMEOUT, LabTest, main
from tslab_lab.real import churn

WORKS = ("redis-server", "PostgreSQL", "Perl records", "churn, 4 threads")

IS_NO_ALLOCATOR = "int answer(void) { return 42; }"


class Demo(LabTest):
    def demo(self, library, *options):
        return self.lab("demo", "--quick", "--library", library, *options)

    def test_table_json_and_last_line(self):
        done = self.demo(self.library, "--output", "out", "--allocators", "glibc,tslab,tslab@magazines=0")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
        for start in (i for i, line in enumerate(lines) if line == WORKS[0]):
            table = lines[start:]
            for work in WORKS:
                speed, peak, after = table[table.index(work) + 1 :][:3]
                self.assertRegex(speed, r"^[kM] \w+/s [\d.]+ [\d.]+ [\d.]+ -$")
                for row in (peak, after):
                    self.assertRegex(row, r"^(peak RSS|RSS after), MiB [\d.]+ [\d.]+ [\d.]+ (LARGER|smaller|level)$")
        self.assertEqual(lines.count(WORKS[0]), 2)  # a table for each but the system's
        self.assertEqual(lines[-1], f"LD_PRELOAD={self.library} your-program ...")
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 100)

        header, *records = map(json.loads, (self.own / "out/results.jsonl").read_text().splitlines())
        self.assertEqual((header["command"], set(header["cases"])), ("demo", set(WORKS)))
        runs = {(line["case"], line["allocator"]): line for line in records if line["kind"] == "run"}
        self.assertEqual(len(runs), 3 * len(WORKS))
        for run in runs.values():
            for figure in ("operations", "seconds", "peak_kib", "rss_kib"):
                self.assertGreater(run[figure], 0, figure)
        for side in ("glibc", "tslab"):
            self.assertAlmostEqual(runs[WORKS[3], side]["remote_share"], 0.25, delta=0.01)
        self.assert_nothing_left()

    def test_the_system_is_what_others_are_compared_with(self):
        done = self.demo(self.library, "--allocators", "tslab")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--allocators must have glibc, and another one", done.stderr)

    def test_a_library_that_is_no_allocator(self):
        done = self.demo(self.compiled(IS_NO_ALLOCATOR))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "redis-server does not run on .*/libbad.so although it is preloaded")

    def test_an_interrupt_ends_all(self):
        argv = self.lab_argv("demo", "--quick", "--library", self.library)
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen(argv, env=self.environment, cwd=self.own, **pipes) as process:
            while not list(self.own.glob("tslab-runs/*/results.jsonl")):
                time.sleep(0.05)
            end = time.monotonic() + TIMEOUT
            while len(self.processes()) < 2:  # until the first run has begun
                self.assertLess(time.monotonic(), end)
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=TIMEOUT)
        self.assertEqual((process.returncode, error), (130, b"lab: interrupted\n"))
        self.assert_nothing_left()


class Jobs(LabTest):
    def churn(self, *arguments, library=None):
        program = churn.build()
        environment = self.environment | ({"LD_PRELOAD": str(library)} if library else {})
        argv = [program, *map(str, arguments)]
        return subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)

    def test_churn_counts_what_it_does(self):
        for percent in (0, 50, 100):
            result = json.loads(self.churn(10, percent, 3, 100).stdout)
            self.assertEqual(result["operations"], 30000)
            self.assertAlmostEqual(result["remote_share"], percent / 100, delta=0.02)

    def test_churn_sees_damaged_objects(self):
        done = self.churn(10, 0, 1, library=self.compiled(ONE_PLACE % (1991, 2048)))
        self.assertEqual(done.returncode, -signal.SIGABRT)
        self.assertEqual(done.stderr, "churn: an object was damaged while it was alive\n")

    def test_churn_refuses_what_is_no_number(self):
        for word in ("-1", "2x", "", "99999999999999999999"):
            done = self.churn(word)
            self.assertEqual(done.returncode, 2)
            self.assertIn("is not a whole number", done.stderr)


if __name__ == "__main__":
    main()
