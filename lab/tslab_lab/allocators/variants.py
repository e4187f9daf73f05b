"""Builds of tslab that decide a question in another way, for comparisons in the lab alone (src/base/limits.h)."""

import subprocess
from dataclasses import dataclass, field, replace

from tslab_lab.allocators import installed
from tslab_lab.allocators.catalogue import OURS
from tslab_lab.base import places, processes

COUNTER = "golden-locked"  # prints what operations cost in locked instructions and locks; a test's program


@dataclass(frozen=True)
class Variant:
    """`settings`: of CMake. `environment`: of the programs that run on it."""

    name: str
    settings: dict = field(default_factory=dict, hash=False)
    environment: dict = field(default_factory=dict, hash=False)

    @property
    def folder(self):
        """Variants with the same settings share a build."""
        words = [f"{key}-{value}".lower().removeprefix("tslab_") for key, value in sorted(self.settings.items())]
        return places.BUILT / "variants" / ("_".join(words) or "default")


def build(variants, counted):
    """Brings the builds of all variants up to date, each in a folder of its own. `counted`: the program that counts,
    too, which needs what the tests need."""
    if not places.ROOT:
        raise processes.Failure("Variants are built from the sources, and this lab was installed without them.")
    for folder, settings in {variant.folder: variant.settings for variant in variants}.items():
        every = settings | {"CMAKE_BUILD_TYPE": "Release", "TSLAB_TESTS": "ON" if counted else "OFF"}
        _run(["cmake", "-S", places.ROOT, "-B", folder, "-G", "Ninja", *(f"-D{k}={v}" for k, v in every.items())])
        _run(["cmake", "--build", folder, "--target", "tslab-malloc", *([COUNTER] if counted else [])])


def libraries(variants):
    """dict name -> Library, of what was built."""
    found = {}
    for variant in variants:
        here, _ = installed.found([OURS], variant.folder / installed.DROP_IN)
        source = " ".join(f"{key}={value}" for key, value in variant.settings.items()) or "built as users get it"
        found[variant.name] = replace(
            here[OURS], name=variant.name, title=variant.name, source=source, environment=variant.environment
        )
    return found


def counts(variant):
    """dict operation -> (locked read-modify-writes, locks that threads may wait for), each for one operation."""
    program = variant.folder / "tests/golden" / COUNTER
    env = {name: value for name, value in processes.environment().items() if not name.startswith("TSLAB_")}
    return counts_in(processes.run([program], env | variant.environment, f"{COUNTER} of {variant.name}"))


def counts_in(text):
    found = {}
    for line in text.splitlines():
        name, times, locked, _, *locks = line.split("\t")
        shared = sum(int(count) for rank, count in (lock.split() for lock in locks) if rank != "gate")
        found[name] = int(locked) / int(times), shared / int(times)
    return found


def _run(words):
    words = [str(word) for word in words]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise processes.Failure(f"There is no {words[0]}. `make build` installs it.") from None
    if done.returncode != 0:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-20:])
        raise processes.Failure(f"'{' '.join(words)}' failed:\n{last}")
