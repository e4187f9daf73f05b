"""What the tests of the command share."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMAND = ROOT / "lab/requests.py"
TIMEOUT = 90


class CommandTest(unittest.TestCase):
    library = ""

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="tslab-test-")
        self.addCleanup(directory.cleanup)
        self.own = Path(directory.name)
        self.temporary = self.own / "tmp"
        self.temporary.mkdir()
        self.environment = os.environ | {"TMPDIR": str(self.temporary), "COLUMNS": "80"}

    def argv(self, *options):
        little = ("--quick", "--requests", "200", "--rate", "1000")
        own = ("--figures", self.own / "figures", "--library", self.library)
        return [sys.executable, "-B", *map(str, (COMMAND, *little, *own, *options))]

    def command(self, *options):
        return subprocess.run(
            self.argv(*options), env=self.environment, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )


def main():
    """The first argument is the library."""
    CommandTest.library = sys.argv.pop(1)
    unittest.main()
