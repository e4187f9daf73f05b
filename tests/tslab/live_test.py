"""What the tests of processes that run share: programs on the library, and what is read of them."""

import contextlib
import os
import signal
import subprocess
from pathlib import Path

from tslab_test import TslabTest
from tslab_tools.live import processes

PATIENCE = 90
# Ever more objects of ever other sizes.
BUSY = (
    "import time\nkept = []\nwhile True:\n    kept.append(bytearray(len(kept) % 5000 + 600))\n    time.sleep(0.0005)\n"
)
IDLE = "import os, time\nkept = [bytearray(3000) for _ in range(1000)]\nos.write(1, b'idle\\n')\ntime.sleep(1000)\n"


class Live(TslabTest):
    def start(self, source, export="1", stderr=subprocess.DEVNULL, before=(), **more):
        """A program on the library, begun by the words `before`, if there are any."""
        variables = {"LD_PRELOAD": self.library, "TSLAB_EXPORT": export, "PYTHONMALLOC": "malloc"} | more
        words = ["env", *(f"{name}={value}" for name, value in variables.items()), "/usr/bin/python3", "-c", source]
        program = self.started([*before, *words], stderr=stderr, start_new_session=True)
        self.addCleanup(self.end, program)
        return program

    def children(self, pid, count=1):
        """As soon as there are so many."""
        path = Path(f"/proc/{pid}/task/{pid}/children")
        return self.soon(lambda: len(found := [int(word) for word in path.read_text().split()]) >= count and found)

    def end(self, program):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)

    def figures(self, pids, holds=lambda found: True):
        """What these processes answer as soon as it is as it should be."""
        found = []
        with processes.Watched(pids) as watched:

            def are_good():
                found[:] = sorted(watched.look(), key=lambda process: pids.index(process.pid))
                return len(found) == len(pids) and all(map(holds, found))

            self.soon(are_good, lambda: [process.figures for process in found])
        return found
