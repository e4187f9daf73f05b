"""Runs the whole demo, tiny, and makes it fail in the ways it must report. usage: test_demo.py LIBRARY"""

import json
import os
import signal
import subprocess
import time

from lab_test import ONE_PLACE, LabTest, main
from tslab_lab.real import churn

WORKS = ("redis-server", "Python objects", "churn, 4 threads")

IS_NO_ALLOCATOR = "int answer(void) { return 42; }"


class Demo(LabTest):
    def demo(self, library, *options):
        return self.tslab("demo", "--quick", "--library", library, *options)

    def test_table_json_and_last_line(self):
        file = self.own / "runs.json"
        done = self.demo(self.library, "--json", file)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
        table = lines[lines.index(WORKS[0]) :]
        for work in WORKS:
            speed, peak, after = table[table.index(work) + 1 :][:3]
            self.assertRegex(speed, r"^[kM] \w+/s [\d.]+ [\d.]+ [\d.]+ -$")
            for row in (peak, after):
                self.assertRegex(row, r"^(peak RSS|RSS after), MiB [\d.]+ [\d.]+ [\d.]+ (LARGER|smaller|level)$")
        self.assertEqual(lines[-1], f"LD_PRELOAD={self.library} your-program ...")
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 100)

        document = json.loads(file.read_text())
        self.assertEqual(set(document["works"]), set(WORKS))
        for key in ("kernel", "libc", "thp", "cpus", "compiler"):
            self.assertTrue(document["machine"][key], key)
        for work in document["works"].values():
            for side in ("system", "tslab"):
                (run,) = work["runs"][side]
                for figure in ("operations", "seconds", "peak_kib", "rss_kib"):
                    self.assertGreater(run[figure], 0, figure)
        for side in ("system", "tslab"):
            share = document["works"][WORKS[2]]["runs"][side][0]["remote_share"]
            self.assertAlmostEqual(share, 0.25, delta=0.01)
        self.assert_nothing_left()

    def test_a_library_that_is_no_allocator(self):
        done = self.demo(self.compiled(IS_NO_ALLOCATOR))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "redis-server does not run on .*/libbad.so although it is preloaded")

    def test_an_interrupt_ends_all(self):
        argv = self.argv("demo", "--quick", "--library", self.library)
        with subprocess.Popen(argv, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            os.read(process.stdout.fileno(), 1)  # the first run has begun
            time.sleep(0.5)
            self.assertGreater(len(self.processes()), 1)
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=20)
        self.assertEqual((process.returncode, error), (130, b"tslab: interrupted\n"))
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

    def test_python_takes_its_objects_from_malloc(self):
        code = "import sys; sys._debugmallocstats()"
        for setting, arenas in (("pymalloc", True), ("malloc", False)):
            environment = self.environment | {"PYTHONMALLOC": setting}
            done = subprocess.run(["/usr/bin/python3", "-c", code], env=environment, capture_output=True, text=True)
            self.assertEqual("arenas allocated total" in done.stderr, arenas, setting)


if __name__ == "__main__":
    main()
