"""What a measurement must be read with: machine, kernel, libc, compiler, THP state, commit."""

import functools
import hashlib
import os
import platform
import subprocess
from collections.abc import Iterator, Mapping

from tslab_lab.base import compiling, places, processes
from tslab_lab.base.shapes import Record

ENGINE = ("src", "include")
BUILT_FROM = (*ENGINE, "cmake", "CMakeLists.txt", "CMakePresets.json")


def _first_line(path: str, key: str = "") -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return next((line.strip() for line in file if line.startswith(key)), "")
    except OSError:
        return ""


def _output(argv: list[str]) -> str:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def thp_state() -> str:
    """The bracketed word of the kernel's switch: always, madvise or never."""
    text = _first_line("/sys/kernel/mm/transparent_hugepage/enabled")
    return text.partition("[")[2].partition("]")[0] or "unknown"


def available_mib() -> int:
    """Of memory, as the kernel guesses."""
    return int(_first_line("/proc/meminfo", "MemAvailable").split()[1]) >> 10


def libc_name() -> str:
    return os.confstr("CS_GNU_LIBC_VERSION") or "unknown libc"


def commit() -> tuple[str | None, bool]:
    """The checkout's commit, and whether what the library is built from has changes that are not committed; None and False
    where there is none."""
    if places.ROOT is None:
        return None, False
    found = _output(["git", "-C", str(places.ROOT), "rev-parse", "HEAD"])
    changed = bool(found and _output(["git", "-C", str(places.ROOT), "status", "--porcelain", "--", *BUILT_FROM]))
    return found or None, changed


@functools.cache
def engine() -> str | None:
    """A hash of the engine's sources: what was measured on commits with the same one belongs together. None where there
    is no checkout."""
    if places.ROOT is None:
        return None
    files = sorted(path for folder in ENGINE for path in (places.ROOT / folder).rglob("*") if path.is_file())
    whole = hashlib.sha256()
    for path in files:
        whole.update(f"{path.relative_to(places.ROOT)}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return whole.hexdigest()[:12]


def name() -> str:
    """What tells one kind of machine from another."""
    return f"{len(os.sched_getaffinity(0))} CPUs, {_cpu()}"


def _cpu() -> str:
    return _first_line("/proc/cpuinfo", "model name").partition(":")[2].strip() or platform.machine()


def facts() -> Record:
    found, changed = commit()
    return {
        "cpu": _cpu(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_kib": int(_first_line("/proc/meminfo", "MemTotal").split()[1]),
        "kernel": platform.release(),
        "libc": libc_name(),
        "compiler": _output([compiling.compiler()[0], "--version"]).partition("\n")[0],
        "python": platform.python_version(),
        "thp": thp_state(),
        "load_at_start": os.getloadavg()[0],
        "commit": found and found + (" with changes" if changed else ""),
        "engine": engine(),
        "options": {name: text for name, text in processes.environment().items() if name.startswith("TSLAB_")},
    }


def setting(facts: Record, load_at_end: float, peers: str) -> Iterator[tuple[str, str]]:
    """Lines for beside the tables, as (name, text). `peers`: the versions of the other allocators, in words."""
    yield "machine", f"{facts['cpus']} CPUs, {facts['cpu']}, {facts['memory_kib'] / 1024**2:.0f} GiB"
    yield "system", f"Linux {facts['kernel'].partition('-')[0]}, {facts['libc']}, THP {facts['thp']}"
    yield "compiler", facts["compiler"]
    yield "peers", peers or "-"
    engine = f", engine {facts['engine']}" if facts.get("engine") else ""
    yield (
        "tslab",
        f"{facts['commit'] or 'no commit'}{engine}" + "".join(f", {k}={v}" for k, v in facts["options"].items()),
    )
    yield "load", f"{facts['load_at_start']:.2f} at the start, {load_at_end:.2f} at the end (runs included)"


def versions(of: Mapping[str, str]) -> str:
    """The versions of the other allocators, in words. `of`: name -> version."""
    return ", ".join(
        f"{name} {version}" for name, version in of.items() if name.partition("@")[0] not in ("tslab", "glibc", "base")
    )
