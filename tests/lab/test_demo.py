"""Runs the whole demo, with little work, where all is there, where programs are missing, on a terminal, and until it is interrupted.
usage: test_demo.py LIBRARY"""

import json
import os
import re
import signal
import subprocess

from lab_test import TIMEOUT, LabTest, main
from tslab_lab.demo import limits, scenes
from tslab_lab.results.demo_findings import WITH_EPOCHS

SCENES = tuple(scene.name for scene in scenes.ALL)


class Demo(LabTest):
    def words(self, library, *options):
        return ("demo", "--quick", "--library", library, "--allocators", "glibc,jemalloc,tslab", *options)

    def demo(self, library, *options, **more):
        return self.lab(*self.words(library, *options), **more)

    def assert_nothing_left(self):
        super().assert_nothing_left()
        every = [group for parent, _ in limits.groups() for group in parent.glob("tslab-demo-*")]
        makers = {group: group.name.split("-")[2] for group in every}  # who runs has its own
        self.assertEqual([group for group, maker in makers.items() if not os.path.exists(f"/proc/{maker}")], [])

    def test_lines_results_page_and_picture(self):
        done = self.demo(self.library, "--output", "out", "--markdown", "page.md")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        text = " ".join(done.stdout.split())
        for words in (
            r"redis 2 s after FLUSHALL: .*tslab is (ahead of|behind|level with) glibc \(1 round\)\.",
            r"Survivors 2 s after the requests: .*tslab, epochs [\d.]+.* MiB; tslab is .*\(1 round\)\.",
            r"Buffers at rest: .*\(1 round\)\.",
            r"Four threads: .* M objects/s; tslab is .*\(1 round\)\.",
            r"PostgreSQL: .* transactions/s; tslab is .*\(1 round\)\.",
            r"Gained against glibc: .+\. Paid: .+ Not for you.*\.",
            rf"Your own program: LD_PRELOAD={self.library} PROGRAM lab/lab rss -- PROGRAM",
        ):
            self.assertRegex(text, re.compile(words, re.IGNORECASE))
        self.assert_narrow(done.stdout.partition("More rounds")[0])
        header, *records = map(json.loads, (self.own / "out/results.jsonl").read_text().splitlines())
        self.assertEqual((header["command"], tuple(header["cases"])), ("demo", SCENES))
        runs = {(line["case"], line["allocator"]): line for line in records if line["kind"] == "run"}
        for case in SCENES:
            for name in ("glibc", "tslab"):
                for figure in ("operations", "seconds", "peak_kib"):
                    self.assertGreater(runs[case, name][figure], 0, (case, name, figure))
        series = {(line["case"], line["allocator"]) for line in records if line["kind"] == "series"}
        self.assertEqual(series, {key for key in runs if key[0] in ("redis", "survivors", "buffers")})
        self.assertIn(("survivors", WITH_EPOCHS), series)
        self.assertLess(runs["survivors", WITH_EPOCHS]["rss_kib"], runs["survivors", "glibc"]["rss_kib"])
        self.assertEqual((self.own / "out/demo.png").read_bytes()[:4], b"\x89PNG")
        page = (self.own / "page.md").read_text()
        self.assertIn("](page.png)", page)
        self.assertEqual(page.count("tslab against glibc |"), len(SCENES))
        self.assert_nothing_left()

    def test_an_interrupt_ends_all(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            for wanted in (r"It comes back", r"It fits", r"PostgreSQL under"):
                with self.subTest(number=number, at=wanted):
                    self.interrupted(number, wanted)

    def interrupted(self, number, wanted):
        argv = self.lab_argv(*self.words(self.library))
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        environment = self.environment | {"PYTHONUNBUFFERED": "1"}
        with subprocess.Popen(argv, env=environment, cwd=self.own, **pipes) as process:
            while not re.search(wanted, process.stdout.readline().decode()):
                self.assertIsNone(process.poll())
            self.soon(lambda: len(self.processes()) >= 2)  # its first run has begun
            process.send_signal(number)
            _, error = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 130)
        self.assertRegex(error.decode(), r"^lab: interrupted.*\n$")
        self.assert_nothing_left()


if __name__ == "__main__":
    main()
