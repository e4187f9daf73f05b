"""Compiles the workloads."""

import os
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tslab_lab.base import compiling, places, processes
from tslab_lab.base.shapes import Environment
from tslab_lab.workloads.catalogue import SOURCES, Case

FLAGS = ["-std=gnu17", "-O2", "-Wall", "-Wextra", "-Wshadow", "-pthread"]
FLAGS += [f"-fno-builtin-{name}" for name in ("malloc", "free", "calloc", "realloc")]
LATENCY_FLAGS = ["-DLATENCY=1"]
LATENCY_LIBRARIES = ("-lm",)
LITTER = "litter"


def build(cases: Collection[Case], latency: bool = False) -> Path:
    """Compiles what the cases need. Returns the directory that argv() is to be given. `latency`: with every operation
    timed, which costs more than many an operation: nothing else is to be read from such a run."""
    directory = places.BUILT / ("workloads-latency" if latency else "workloads")
    libraries = LATENCY_LIBRARIES if latency else ()
    flags = FLAGS + LATENCY_FLAGS if latency else FLAGS

    def compile_one(program: str) -> None:
        compiling.build(directory / program, [SOURCES / f"{program}.c"], flags, libraries)

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(compile_one, sorted({one.program for one in cases})))  # list: a failure is raised here
    return directory


def littered(environment: Environment) -> Environment:
    """The environment in which each program begins on a heap that is littered already."""
    library = places.BUILT / "workloads" / f"{LITTER}.so"
    compiling.build(library, [SOURCES / f"{LITTER}.c"], [*FLAGS, "-shared", "-fPIC"])
    if set(str(library)) & set(" :"):
        raise processes.Failure(f"LD_PRELOAD cannot name {library}.")
    return environment | {"LD_PRELOAD": ":".join(filter(None, [environment.get("LD_PRELOAD"), str(library)]))}
