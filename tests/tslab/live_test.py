"""What the tests of processes that run share: programs on the library, and what is read of them."""

import contextlib
import os
import signal
import subprocess
import time

from tslab_test import TslabTest
from tslab_tools.live import processes

PATIENCE = 90
# Ever more objects of ever other sizes: such a program comes by a slow path again and again.
BUSY = (
    "import time\nkept = []\nwhile True:\n    kept.append(bytearray(len(kept) % 5000 + 600))\n    time.sleep(0.0005)\n"
)
IDLE = "import os, time\nkept = [bytearray(3000) for _ in range(1000)]\nprint('idle', flush=True)\ntime.sleep(1000)\n"


class Live(TslabTest):
    def start(self, source, export="1", stderr=subprocess.DEVNULL, **more):
        variables = {"LD_PRELOAD": self.library, "TSLAB_EXPORT": export, "PYTHONMALLOC": "malloc"} | more
        program = subprocess.Popen(
            ["/usr/bin/python3", "-c", source], env=self.environment | variables, stdout=subprocess.PIPE, text=True,
            stderr=stderr, start_new_session=True,
        )  # fmt: skip
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.wait)
        self.addCleanup(self.end, program)
        return program

    def end(self, program):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)

    def figures(self, pids, holds=lambda found: True, mapped=True):
        """What is read of these processes as soon as it is as it should be."""
        end = time.monotonic() + PATIENCE
        with processes.Watched(pids if mapped else ()) as watched:
            while True:
                found = [process for process in watched.look() if process.pid in pids]
                if len(found) == len(pids) and all(map(holds, found)):
                    return found
                self.assertLess(time.monotonic(), end, [process.figures for process in found])
                time.sleep(0.05)
