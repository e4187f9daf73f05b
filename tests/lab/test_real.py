"""Real programs as workloads: quick, on glibc and on tslab; and what goes wrong, said. usage: test_real.py LIBRARY"""

import contextlib
import http.server
import io
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
from tslab_lab.real import inputs, nginx, paced, programs, spending

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
            self.assertEqual((run["base_kib"], run["live_kib"]), (0, None))
            self.assertGreater(run["peak_kib"], MIB)
            self.assertLess(run["peak_kib"], 400 * MIB)
            if name in ("redis", "redis-save", "python", "nginx", "postgres"):
                self.assertTrue(0 < run["rss_kib"] <= run["peak_kib"], run)
            else:
                self.assertIsNone(run["rss_kib"])
        self.assertEqual(runs[0]["hash"], runs[1]["hash"])
        self.assertEqual(contents(self.cache / "tslab"), inputs)  # no run writes to its inputs
        self.assert_nothing_left()
        return runs

    def test_redis(self):
        self.check("redis")

    def test_redis_saves_while_it_is_written_to(self):
        for run in self.check("redis-save"):
            self.assertGreater(run["copied_kib"], 100)
            self.assertLess(run["copied_kib"], run["peak_kib"])

    def test_postgres(self):
        self.check("postgres")

    def test_clang(self):
        self.check("clang")

    def test_db_bench(self):
        self.check("db_bench")

    def test_start(self):
        for run in self.check("start"):
            self.assertGreater(run["faults"] / run["operations"], 20)

    def test_python(self):
        self.check("python")

    def test_sqlite3(self):
        self.check("sqlite3")

    def test_lua(self):
        self.check("lua")

    def test_perl(self):
        self.check("perl")

    def test_cc1plus(self):
        self.check("cc1plus")

    def test_git(self):
        self.check("git")

    def test_nginx(self):
        self.check("nginx")

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


class Selection(unittest.TestCase):
    def select(self, word, absent=()):
        """Names and what was said, on a machine where everything is but for these commands."""
        programs._said.clear()
        said = io.StringIO()
        find = {"new": lambda command: None if command in absent else f"/usr/bin/{command}"}
        compiler = {"new": lambda *_: "/usr/lib/cc1plus"}
        with (
            unittest.mock.patch.object(programs, "find", **find),
            unittest.mock.patch.object(programs, "_told_by", **compiler),
        ):
            with contextlib.redirect_stderr(said), unittest.mock.patch("os.path.exists", lambda _: True):
                names = [program.name for program in programs.select(word)]
                self.assertEqual([program.name for program in programs.select(word)], names)
                self.listing = dict(programs.listing())
        return names, said.getvalue()

    def test_those_that_are_not_installed_are_left_out_and_said_once(self):
        names, said = self.select("programs", absent=("lua5.4", "wrk"))
        self.assertEqual(set(programs.PROGRAMS) - set(names), {"lua", "nginx"})
        lua = "lua5.4 is not installed. To install it: apt-get install lua5.4"
        wrk = "wrk is not installed. To install it: apt-get install wrk"
        self.assertEqual(said, f"lab: lua is left out: {lua}\nlab: nginx is left out: {wrk}\n")
        self.assertEqual(self.listing["lua"], f"cannot run here: {lua}")


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

    def test_processor_time_counts_children(self):
        work = "import time\nwhile time.process_time() < 0.2: pass\nprint(time.process_time())"
        output, alone = self.spent(PYTHON, "-c", work)
        self.assertGreaterEqual(alone["seconds"] + 0.01, float(output))
        output, both = self.spent("/bin/sh", "-c", '"$0" -c "$1"; true', PYTHON, work)
        self.assertGreaterEqual(both["seconds"] + 0.01, float(output))

    def test_processor_time_of_a_process_that_goes_on(self):
        before, start = spending.processor_seconds(os.getpid()), time.process_time()
        while time.process_time() - start < 0.1:
            pass
        taken = spending.processor_seconds(os.getpid()) - before
        self.assertAlmostEqual(taken, time.process_time() - start, delta=0.05)


class Inputs(RealTest):
    def made(self, recipe, make):
        return inputs.made("things", recipe, make)

    def test_are_made_once_for_each_recipe(self):
        made = []

        def make(folder):
            made.append(folder)
            (folder / "file").write_text(f"number {len(made)}")

        first = self.made(b"one", make)
        self.assertEqual(self.made(b"one", make), first)
        self.assertEqual((first / "file").read_text(), "number 1")
        self.assertEqual((self.made(b"other", make) / "file").read_text(), "number 2")


class Answers(unittest.TestCase):
    """The check of what nginx answers, asked of another server."""

    def serve(self, change):
        answers = nginx.answers()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                status, text = change(self.path, answers[self.path])
                self.send_response(status)
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server.server_address[1]

    def test_right(self):
        nginx.check(self.serve(lambda path, text: (200, text)))

    def test_damaged(self):
        port = self.serve(lambda path, text: (200, text.replace("7", "8") if path == "/again/large" else text))
        with self.assertRaisesRegex(processes.Failure, "answered wrongly to /again/large"):
            nginx.check(port)


if __name__ == "__main__":
    main()
