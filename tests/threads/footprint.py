"""The memory that tslab costs a program that hardly uses it, against the figures that are promised.

usage: footprint.py DROPIN FOOTPRINT_PROGRAM
"""

import os
import statistics
import subprocess
import sys

RUNS = 9
IDLE_KIB = 1024  # more than on the system's malloc
THREAD_KIB = 64  # a thread that allocates a little, its stack included


def resident(program, mode, environment):
    """The median of what the program says, over several runs: the kernel maps file pages in batches that vary."""
    figures = [
        int(subprocess.run([program, mode], env=environment, check=True, capture_output=True, timeout=30).stdout)
        for _ in range(RUNS)
    ]
    return statistics.median(figures)


def main(library, program):
    system = dict(os.environ)
    system.pop("LD_PRELOAD", None)
    tslab = system | {"LD_PRELOAD": library}
    idle = resident(program, "idle", tslab) - resident(program, "idle", system)
    thread = resident(program, "threads", tslab)
    print(f"idle: {idle} KiB more than on the system's malloc, {IDLE_KIB} are allowed")
    print(f"a thread that allocates a little: {thread} KiB, {THREAD_KIB} are allowed")
    return idle > IDLE_KIB or thread > THREAD_KIB


sys.exit(main(*sys.argv[1:]))
