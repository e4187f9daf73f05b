"""What the tests of the command share: the command in an environment of its own, bad libraries to preload, the check that
nothing is left behind."""

import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tools"
sys.path.insert(0, str(TOOLS))
TIMEOUT = PATIENCE = 90


class TslabTest(unittest.TestCase):
    """Each test has a directory of its own, `own`, and TMPDIR in it."""

    library = ""  # our drop-in: the first argument of the test program

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="tslab-test-")
        self.addCleanup(directory.cleanup)
        self.own = Path(directory.name)
        self.temporary = self.own / "tmp"
        self.temporary.mkdir()
        self.environment = os.environ | {"TMPDIR": str(self.temporary), "COLUMNS": "80"}

    def argv(self, *words):
        """Of the command `tslab` in the checkout."""
        return [str(word) for word in (TOOLS / "tslab", *words)]

    def run_argv(self, argv, **options):
        options = {"env": self.environment, "cwd": self.own, "timeout": TIMEOUT} | options
        return subprocess.run(
            [str(word) for word in argv],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
            **options,
        )

    def tslab(self, *words, **options):
        return self.run_argv(self.argv(*words), **options)

    def soon(self, find, told=lambda: None):
        """Returns the first thing that is found, and fails with the words of `told()` where nothing comes."""
        end = time.monotonic() + PATIENCE
        while not (found := find()):
            self.assertLess(time.monotonic(), end, told())
            time.sleep(0.02)
        return found

    def started(self, argv, **options):
        """A program that is gone when the test is, with pipes."""
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
        program = subprocess.Popen(argv, **{"env": self.environment} | pipes | options)
        for cleanup in (program.stdin.close, program.stdout.close, program.wait, program.kill):
            self.addCleanup(cleanup)
        return program

    def compiled(self, source):
        """A library to preload."""
        library = self.own / "libbad.so"
        options = ["-shared", "-fPIC", "-w", "-O1", "-fno-builtin", "-D_GNU_SOURCE", "-x", "c", "-", "-o", library]
        subprocess.run(["cc", *options], input=source, text=True, check=True)
        return library

    def processes(self):
        """Those that are still there: they inherited TMPDIR, or (redis-server writes its title over its environment)
        work in it."""
        wanted = str(self.temporary)
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if wanted.encode() in (entry / "environ").read_bytes() or wanted in os.readlink(entry / "cwd"):
                    found.append(int(entry.name))
            except OSError:
                pass  # gone, or not ours to read
        return found

    def assert_nothing_left(self):
        self.assertEqual(list(self.temporary.iterdir()), [])
        # Who was killed beside the one that was waited for may need a moment to be gone.
        for _ in range(200):
            if not self.processes():
                break
            time.sleep(0.01)
        self.assertEqual(self.processes(), [])

    def assert_narrow(self, text, width=80):
        self.assertLessEqual(max(map(len, text.splitlines()), default=0), width)
        self.assertNotIn("\N{HORIZONTAL ELLIPSIS}", text)


class Result(unittest.TextTestResult):
    """Says why a test is skipped, for tests/skipped.py."""

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print(f"SKIP: {test.id().removeprefix('__main__.')}: {reason}", flush=True)


class Runner(unittest.TextTestRunner):
    resultclass = Result


def main():
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        TslabTest.library = os.path.abspath(sys.argv.pop(1))
    unittest.main(testRunner=Runner)
