"""Compiles the programs that measure epochs."""

import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tslab_lab.base import compiling, places

SOURCES = Path(__file__).with_name("c")
BUILT = places.BUILT / "epochs"
# Aligned, so that no loop and no function has more luck with its place than another.
FLAGS = ["-std=gnu17", "-D_GNU_SOURCE", "-O2", "-g", "-falign-functions=64", "-falign-loops=64"]
FLAGS += ["-fno-builtin-malloc", "-fno-builtin-free"]
POOL_PACKAGES = ("libapr1-dev", "pkg-config")
ARCHIVE = "libtslab.a"  # beside the drop-in


@dataclass(frozen=True)
class Program:
    name: str
    source: str
    options: tuple[str, ...] = ()  # for the source
    libraries: tuple[str, ...] = ()


def _pool_options(*words: str) -> tuple[str, ...] | None:
    """What pkg-config says of APR; None: it is not installed."""
    try:
        done = subprocess.run(["pkg-config", *words, "apr-1"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return tuple(shlex.split(done.stdout)) if done.returncode == 0 else None


def pool_programs() -> list[Program]:
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


def request_programs(library: Path | None) -> Iterator[Program]:
    """Those that need no more than a C compiler, and, where the archive is there, one that is linked with it."""
    yield from (Program(name, f"{name}.c") for name in ("request", "crowd", "reclaim", "many"))
    archive = library and library.absolute().parent / ARCHIVE
    if archive and archive.is_file():
        libraries = ("-pthread", "-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive")
        yield Program("request-static", "request.c", libraries=libraries)


def build(program: Program) -> None:
    """Compiles a program when any source changed, or the archive that it is linked with."""
    inputs: list[Path | str] = [places.ROOT / "include/tslab/tslab.h"] if places.ROOT else []
    inputs += [word for word in program.libraries if word.endswith(".a") and word.startswith("/")]
    flags = [*FLAGS, *places.HEADERS, *program.options]
    compiling.build(BUILT / program.name, [SOURCES / program.source], flags, program.libraries, inputs)
