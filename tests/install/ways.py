"""What the tests of the ways to get tslab share: each begins in an empty directory, and skips itself where a tool is missing."""

import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CONSUMER = pathlib.Path(__file__).with_name("consumer")
SKIPPED = 77


def version():
    """As the public header says it."""
    header = (SOURCE / "include/tslab/tslab.h").read_text()
    return ".".join(re.search(rf"^#define TSLAB_VERSION_{part} (\d+)$", header, re.M)[1] for part in ("MAJOR", "MINOR", "PATCH"))


def interface_version():
    """What the soname ends with: before 1.0 each minor version has an interface of its own."""
    major, minor, _ = version().split(".")
    return f"{major}.{minor}" if major == "0" else major


def skip(reason):
    print("skipped:", reason)
    sys.exit(SKIPPED)


def fail(reason):
    sys.exit(str(reason))


def need(*programs):
    for program in programs:
        if shutil.which(program) is None:
            skip(f"there is no {program}")


@contextlib.contextmanager
def empty_directory():
    with tempfile.TemporaryDirectory() as name:
        before = os.getcwd()
        os.chdir(name)
        try:
            yield pathlib.Path(name)
        finally:
            os.chdir(before)


def output_of(*command, **environment):
    """Runs the command, which must succeed, and returns what it printed. An environment value of None unsets a variable."""
    print("+", *command, flush=True)
    wanted = {name: value for name, value in {**os.environ, **environment}.items() if value is not None}
    result = subprocess.run([str(word) for word in command], env=wanted, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        fail(f"{result.stdout}{command[0]} failed with {result.returncode}.")
    return result.stdout


def expect(holds, complaint):
    if not holds:
        fail(complaint)


def libraries_needed(program):
    return re.findall(r"NEEDED\s+(libtslab\S*)", output_of("objdump", "-p", program))


def run_consumer(program, *arguments, needed=None, emulator=(), **environment):
    """Runs a program made of consumer/main.c, and checks that it needs exactly the shared library `needed`, or none of ours."""
    found = libraries_needed(program)
    expect(found == ([needed] if needed else []), f"{program} needs {found}, not {needed}.")
    said = output_of(*emulator, pathlib.Path(program).resolve(), *arguments, **environment).strip()
    expect(said == version(), f"{program} says that tslab is {said!r}; the header says {version()!r}.")


def copy_of_sources(target):
    """What git has of the sources, as they are now: committed or not."""
    listed = subprocess.run(["git", "-C", SOURCE, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], stdout=subprocess.PIPE)
    if listed.returncode == 0:
        for name in filter(None, listed.stdout.decode().split("\0")):
            if (SOURCE / name).is_file():
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(SOURCE / name, target / name)
    else:
        shutil.copytree(SOURCE, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("build", "__pycache__", ".git"))
