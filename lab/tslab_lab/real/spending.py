"""The processor time and the peak RSS that programs take: of those that run to their end, and of servers."""

import hashlib
import json
from pathlib import Path

from tslab_lab.base import compiling, places, processes

JOBS = Path(__file__).with_name("jobs")
_STARTER = places.BUILT / "spent"
# Settings of the user's that a program would heed, and its figures or its answers would be others.
_HEEDED = ("GIT_", "LC_", "LANG", "PERL", "LUA_", "SQLITE_", "GCC_", "TZ")


def prepare():
    """Compiles the program that starts the others; see there why there is one."""
    compiling.build(_STARTER, [JOBS / "spent.c"], ["-std=gnu17", "-O2", "-static"])


def plain(environment, more):
    """The environment without settings that programs would heed, and with `more`."""
    return {key: value for key, value in environment.items() if not key.startswith(_HEEDED)} | {"LC_ALL": "C"} | more


def run(argv, environment, who, times=1):
    """(standard output, {seconds: processor time of the program and its children, and of it system_seconds; peak_kib: of the
    largest of them; faults: of pages}), of all times together."""
    text = processes.run([_STARTER, times, *argv], environment, who)
    output, _, figures = text.rpartition("\n")
    return output, json.loads(figures)


def processor_seconds(pid):
    """What a process that goes on has taken so far, with all its threads, to the nanosecond."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def hash_of(*texts):
    """Of what programs answered."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
