"""Compiles the request server and the program of the scattered survivors into build/lab/server."""

import os
import subprocess
from pathlib import Path

import programs

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "lab/server"
BUILT = ROOT / "build/lab/server"
SERVER, SCATTERED = BUILT / "server", BUILT / "scattered"
FLAGS = ["-std=gnu17", "-D_GNU_SOURCE", "-O3", "-g", "-pthread", "-fno-builtin-malloc", "-fno-builtin-free"]
PARTS = {
    SERVER: (["server.c", "request.c", "session.c", "measure.c", "json.c"], ["-lmicrohttpd", "-lm"]),
    SCATTERED: (["scattered.c"], []),
}


def _is_fresh(target):
    inputs = [*SOURCES.glob("*.[ch]"), ROOT / "include/tslab/tslab.h"]
    return target.exists() and target.stat().st_mtime >= max(file.stat().st_mtime for file in inputs)


def build(target, compiler):
    """Compiles a program when it is missing, or older than any source."""
    if _is_fresh(target):
        return
    sources, libraries = PARTS[target]
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(f"{target.name}.{os.getpid()}")
    argv = [*compiler, *FLAGS, f"-I{ROOT / 'include'}", *(SOURCES / name for name in sources), "-o", fresh, *libraries]
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            hint = ""
            if "microhttpd" in done.stderr:
                hint = "\nlibmicrohttpd is missing. Run `make setup`, or: apt-get install libmicrohttpd-dev"
            raise programs.Failure(f"{SOURCES} does not compile with {compiler[0]}:\n{done.stderr.strip()}{hint}")
        fresh.replace(target)
    except FileNotFoundError:
        raise programs.Failure(f"There is no C compiler '{compiler[0]}'. Run `make setup` to install one.") from None
    finally:
        fresh.unlink(missing_ok=True)
