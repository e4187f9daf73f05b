"""The processor time and the peak RSS that programs take: of those that run to their end, and of servers."""

import hashlib
import json
from pathlib import Path
from typing import TypedDict

from tslab_lab.base import compiling, places, processes
from tslab_lab.base.shapes import Environment, Words

JOBS = Path(__file__).with_name("jobs")
_STARTER = places.BUILT / "spent"
# Settings of the user's that a program would heed, and its figures or its answers would be others.
_HEEDED = ("GIT_", "LC_", "LANG", "PERL", "LUA_", "SQLITE_", "GCC_", "TZ")


class Spent(TypedDict):
    """Of a program and its children."""

    seconds: float  # of a processor
    system_seconds: float  # and of it in the kernel
    peak_kib: int  # of the largest of them
    faults: int  # of pages


def prepare() -> None:
    """Compiles the program that starts the others; see there why there is one."""
    compiling.build(_STARTER, [JOBS / "spent.c"], ["-std=gnu17", "-O2", "-static"])


def plain(environment: Environment, more: Environment) -> Environment:
    """The environment without settings that programs would heed, and with `more`."""
    return {key: value for key, value in environment.items() if not key.startswith(_HEEDED)} | {"LC_ALL": "C"} | more


def run(argv: Words, environment: Environment, who: str, times: int = 1) -> tuple[str, Spent]:
    """Standard output, and what was spent, of all times together."""
    text = processes.run([_STARTER, times, *argv], environment, who)
    output, _, figures = text.rpartition("\n")
    return output, json.loads(figures)


def processor_seconds(pid: int) -> float:
    """What a process that goes on has taken so far, with all its threads, to the nanosecond."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def hash_of(*texts: str) -> str:
    """Of what programs answered."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
