#!/usr/bin/python3 -B
"""Makes what a linker needs to link for an older glibc than the one here: `-L DIRECTORY`, and shared libraries that are linked with it
run on VERSION of glibc and later. The linker fails at a function that this version lacks.

usage: glibc_stubs.py DIRECTORY [--version 2.17] [--machine x86_64|aarch64|riscv64] [--environment DIRECTORY]

The tables of glibc's symbols are those of the compiler Zig, which comes from PyPI the first time, into the environment (by default
build/zig). Exit code 3: it could not be fetched.
"""

import argparse
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import venv

ROOT = pathlib.Path(__file__).resolve().parents[1]
REQUIREMENTS = ROOT / "tools/zig-requirements.txt"
NOT_FETCHED = 3


def zig(environment):
    """The command of the compiler, in an environment that is kept."""
    python = environment / "bin/python"
    if not python.exists():
        venv.create(environment, with_pip=True)
    fetched = subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "-r", REQUIREMENTS])
    if fetched.returncode != 0:
        sys.exit(NOT_FETCHED)
    return [python, "-m", "ziglang"]


def make(command, target, directory):
    """Zig makes the libraries when it links something. They say what is there, and have no code."""
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        (work / "empty.c").write_text("extern int nothing;\n")
        variables = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": name, "ZIG_LOCAL_CACHE_DIR": name}
        link = ["-O2", "-shared", "-fPIC", "empty.c", "-o", "empty.so", "-pthread", "-ldl"]
        subprocess.run([*command, "cc", "-target", target, *link], cwd=work, env=variables, check=True)
        (libc,) = work.rglob("libc.so.6")
        (nonshared,) = work.rglob("libc_nonshared.a")
        for path in (*libc.parent.glob("lib*.so.*"), nonshared):
            shutil.copy(path, directory)
    for path in directory.glob("lib*.so.*"):
        # As glibc's own: some functions are linked into each library (pthread_atfork, which then knows for whom it is).
        script = f"GROUP ( {directory / nonshared.name} {path} )\n"
        (directory / path.name.partition(".so.")[0]).with_suffix(".so").write_text(script)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--version", default="2.17")
    parser.add_argument("--machine", default=platform.machine())
    parser.add_argument("--environment", type=pathlib.Path, default=ROOT / "build/zig")
    choice = parser.parse_args()
    directory = choice.directory.resolve()
    directory.mkdir(parents=True, exist_ok=True)
    make(zig(choice.environment), f"{choice.machine}-linux-gnu.{choice.version}", directory)


main()
