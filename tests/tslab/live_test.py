"""What the tests of processes that run share: programs on the library, and what is read of them."""

import contextlib
import os
import signal
import subprocess
import time
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
        program = subprocess.Popen(
            [*before, "env", *(f"{name}={value}" for name, value in variables.items()), "/usr/bin/python3", "-c", source],
            env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True,
            start_new_session=True,
        )  # fmt: skip
        self.addCleanup(program.stdin.close)
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.wait)
        self.addCleanup(self.end, program)
        return program

    def children(self, pid, count=1):
        """As soon as there are so many."""
        end = time.monotonic() + PATIENCE
        while True:
            found = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
            if len(found) >= count:
                return found
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def end(self, program):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)

    def figures(self, pids, holds=lambda found: True):
        """What these processes answer as soon as it is as it should be."""
        end = time.monotonic() + PATIENCE
        with processes.Watched(pids) as watched:
            while True:
                found = sorted(watched.look(), key=lambda process: pids.index(process.pid))
                if len(found) == len(pids) and all(map(holds, found)):
                    return found
                self.assertLess(time.monotonic(), end, [process.figures for process in found])
                time.sleep(0.05)
