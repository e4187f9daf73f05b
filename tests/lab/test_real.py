"""Real programs as workloads: quick, on glibc and on tslab; and what goes wrong, said. usage: test_real.py LIBRARY"""

import os
import re
import socketserver
import tempfile
import threading
import time
import unittest
import unittest.mock
from pathlib import Path

from lab_test import LabTest, main
from tslab_lab.allocators import installed
from tslab_lab.base import processes
from tslab_lab.real import paced, programs, spending

PYTHON = "/usr/bin/python3"
MIB = 1024

# A whole library to preload.
DIES_AT_ONCE = """
#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void start(void) { fputs("the last word\\n", stderr); abort(); }
void *__libc_malloc(size_t size);
void *malloc(size_t size) { return __libc_malloc(size); }
"""


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class RealTest(LabTest):
    """What is run from within has its temporary files in `own`, too, and a cache for all tests of the class."""

    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="tslab-cache-")
        cls.addClassCleanup(directory.cleanup)
        cls.cache = Path(directory.name)

    def setUp(self):
        super().setUp()
        variables = {"TMPDIR": str(self.temporary), "XDG_CACHE_HOME": str(self.cache)}
        self.enterContext(unittest.mock.patch.dict(os.environ, variables))
        self.enterContext(unittest.mock.patch.object(tempfile, "tempdir", str(self.temporary)))


class Programs(RealTest):
    def environments(self, program):
        found, _ = installed.found(["tslab", "glibc"], self.library)
        return {name: installed.proven_environment(found[name], program.probe(), program.name) for name in found}

    def check(self, name):
        program = programs.PROGRAMS[name]
        if why := program.missing():
            self.skipTest(why)
        program.prepare()
        inputs = contents(self.cache / "tslab")
        runs = [
            program.measure(environment, True, f"{name} on {allocator}")
            for allocator, environment in self.environments(program).items()
        ]
        for run in runs:
            self.assertGreater(run["operations"], 0)
            self.assertGreater(run["seconds"], 0)
            self.assertRegex(run["hash"], "^[0-9a-f]{16}$")
            self.assertGreater(run["peak_kib"], MIB)
            self.assertLess(run["peak_kib"], 400 * MIB)
            if name in ("redis", "redis-save", "python", "nginx", "postgres"):
                self.assertTrue(0 < run["rss_kib"] <= run["peak_kib"], run)
            else:
                self.assertIsNone(run.get("rss_kib"))
        self.assertEqual(runs[0]["hash"], runs[1]["hash"])
        self.assertEqual(contents(self.cache / "tslab"), inputs)  # no run writes to its inputs
        self.assert_nothing_left()
        return runs

    def test_each(self):
        for name in programs.PROGRAMS:
            if name != "redis-save":
                with self.subTest(name):
                    self.check(name)

    def test_redis_saves_while_it_is_written_to(self):
        for run in self.check("redis-save"):
            self.assertGreater(run["copied_kib"], 100)
            self.assertLess(run["copied_kib"], run["peak_kib"])

    def test_a_library_under_which_programs_die(self):
        library = self.compiled(DIES_AT_ONCE)
        for name, program in programs.PROGRAMS.items():
            if program.missing():
                continue
            program.prepare()
            with self.subTest(name), self.assertRaises(processes.Failure) as caught:
                program.measure(processes.environment(library), True, f"{name} on it")
            text = str(caught.exception)
            self.assertRegex(text, f"^{name} on it.* died of SIGABRT")
            self.assertIn("the last word", text)
        self.assert_nothing_left()


class Paced(RealTest):
    """Loads of a fixed rate."""

    def test_every_server(self):
        found, _ = installed.found(["tslab"], self.library)
        for name in ("redis", "nginx", "postgres"):
            program = programs.PROGRAMS[name]
            if program.missing():
                continue
            program.prepare_paced()
            environment = installed.proven_environment(found["tslab"], program.probe(), name)
            with self.subTest(name):
                run = program.measure_paced(environment, True, name)
                (line,) = run["latency"]
                self.assertEqual((line["operation"], line["count"]), (paced.OPERATION, run["operations"]))
                self.assertEqual(sum(count for _, count in line["buckets"]), line["count"])
                self.assertGreater(line["max_ns"], 1000)
        self.assert_nothing_left()

    def test_who_waits_is_counted_from_when_it_was_due(self):
        """The server does not answer for half a second, and the client sends on meanwhile."""
        stalled = 0.5
        path = str(self.temporary / "socket")

        class Stalls(socketserver.BaseRequestHandler):
            def handle(self):
                rest, first = b"", True
                while data := self.request.recv(1 << 16):
                    time.sleep(stalled if first else 0)
                    first = False
                    *asked, rest = re.split(rb"\$3\r\n(?:GET|SET|DEL)\r\n", rest + data)
                    rest = rest[-16:]
                    self.request.sendall(b"+OK\r\n" * len(asked))

        paced.prepare()
        with socketserver.ThreadingUnixStreamServer(path, Stalls) as server:
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, daemon=True).start()
            with unittest.mock.patch.object(paced, "REDIS_RATE", 1000):
                count, _, line = paced.redis(path, True)
            server.shutdown()
        self.assertEqual(sum(number for _, number in line["buckets"]), count)
        self.assertGreaterEqual(line["max_ns"], stalled * 1e9)
        late = sum(number for least, number in line["buckets"] if least > stalled * 1e9 / 2)
        self.assertGreater(late, count * stalled / 4)


class Spent(RealTest):
    def spent(self, *argv):
        spending.prepare()
        return spending.run(argv, processes.environment(), "it")

    def test_the_peak_is_that_of_the_program_and_not_ours(self):
        ballast = b"x" * (200 * MIB * 1024)
        _, small = self.spent("/bin/true")
        _, large = self.spent(PYTHON, "-c", "ballast = b'x' * (64 << 20)")
        del ballast
        self.assertTrue(100 < small["peak_kib"] < 8 * MIB, small)
        self.assertTrue(64 * MIB < large["peak_kib"] < 96 * MIB, large)


if __name__ == "__main__":
    main()
