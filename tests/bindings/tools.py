"""What the tests of the bindings share: the ways of the tests of installation, and how to tell a missing network from a fault."""

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "install"))

from ways import SOURCE, empty_directory, expect, fail, need, output_of, skip, version  # noqa: E402, F401

BINDINGS = SOURCE / "bindings"
EXAMPLES = SOURCE / "examples"


def or_skip(reason, *command, unless=None, **environment):
    """Runs a command that fetches from a registry; where it cannot, the test is skipped, unless it says that something else is wrong."""
    print("+", *command, flush=True)
    done = subprocess.run([str(word) for word in command], env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode != 0:
        if unless and unless in done.stderr:
            fail(done.stderr)
        print(done.stderr)
        skip(reason)
    return done.stdout
