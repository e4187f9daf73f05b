"""Compiles the programs that measure epochs into build/lab/epochs."""

import os
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

import programs

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "lab/epochs"
BUILT = ROOT / "build/lab/epochs"
# Aligned, so that no loop and no function has more luck with its place than another.
FLAGS = ["-std=gnu17", "-D_GNU_SOURCE", "-O2", "-g", "-falign-functions=64", "-falign-loops=64"]
FLAGS += ["-fno-builtin-malloc", "-fno-builtin-free"]
POOL_PACKAGES = ("libapr1-dev", "pkg-config")
ARCHIVE = "libtslab.a"  # beside the drop-in


@dataclass(frozen=True)
class Program:
    name: str
    source: str
    options: tuple = ()  # for the source
    libraries: tuple = ()
    linked_anew: bool = False  # each time: the archive may be another one


def _pool_options(*words):
    """What pkg-config says of APR; None: it is not installed."""
    try:
        done = subprocess.run(["pkg-config", *words, "apr-1"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return tuple(shlex.split(done.stdout)) if done.returncode == 0 else None


def pool_programs():
    """None where APR is not installed: then the pools take no part."""
    options, libraries = _pool_options("--cflags"), _pool_options("--libs")
    archive = _pool_options("--static", "--libs")
    if options is None or libraries is None or archive is None:
        return []
    archive = tuple("-l:libapr-1.a" if word == "-lapr-1" else word for word in archive)
    return [
        Program("pool", "pool.c", options, libraries),
        Program("pool-static", "pool.c", options, archive),
    ]


def request_programs(library):
    """Those that need no more than a C compiler, and, where the archive is there, one that is linked with it."""
    yield from (Program(name, f"{name}.c") for name in ("request", "crowd", "reclaim", "many"))
    archive = library.absolute().parent / ARCHIVE
    if archive.is_file():
        libraries = ("-pthread", "-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive")
        yield Program("request-static", "request.c", libraries=libraries, linked_anew=True)


def _is_fresh(target):
    inputs = [*SOURCES.glob("*.[ch]"), ROOT / "include/tslab/tslab.h"]
    return target.exists() and target.stat().st_mtime >= max(file.stat().st_mtime for file in inputs)


def build(program, compiler):
    """Compiles a program when it is missing, or older than any source."""
    target = BUILT / program.name
    if _is_fresh(target) and not program.linked_anew:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(f"{target.name}.{os.getpid()}")
    source = SOURCES / program.source
    argv = [*compiler, *FLAGS, f"-I{ROOT / 'include'}", *program.options, source, "-o", fresh, *program.libraries]
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise programs.Failure(f"{source} does not compile with {compiler[0]}:\n{done.stderr.strip()}")
        fresh.replace(target)
    except FileNotFoundError:
        raise programs.Failure(f"There is no C compiler '{compiler[0]}'. Run `make setup` to install one.") from None
    finally:
        fresh.unlink(missing_ok=True)
