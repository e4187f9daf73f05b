"""Makes the manual pages, and has man and mandoc complain about them, where they are there. Nothing may be missing.

usage: manual.py
"""

import shutil
import subprocess
import sys

from ways import SOURCE, empty_directory, expect, output_of, skip

sys.path.insert(0, str(SOURCE / "tools"))
import options  # noqa: E402

GOLDEN = (SOURCE / "tests/golden/symbols-tslab.txt").read_text().split()


def complaints(page):
    """What man's formatter and mandoc say of a page."""
    if shutil.which("man") and shutil.which("troff"):
        result = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page], capture_output=True, text=True)
        yield from result.stderr.splitlines()
    if shutil.which("mandoc"):
        yield from subprocess.run(["mandoc", "-Tlint", page], capture_output=True, text=True).stdout.splitlines()


def check_contents(root):
    library = (root / "man3/tslab.3").read_text().replace("\\-", "-")
    for name in GOLDEN:
        if name.startswith("tslab_"):
            expect(f"{name}(" in library, f"tslab(3) lacks {name}")
            alias = root / f"man3/{name}.3"
            expect(name.endswith("_sized") or alias.read_text() == ".so man3/tslab.3\n", f"there is no {alias.name}")
    for heading in ("EPOCHS", "HANDLES", "INSTANCES", "UNITS OF WORK", "STATISTICS"):
        expect(f".SH {heading}\n" in library, f"tslab(3) lacks {heading}")
    expect(".SH NAMES A STATUS\n" not in library and ".SH ENDS A UNIT\n" not in library, "tslab(3) takes functions for chapters")
    expect("\n    return tslab_" not in library, "tslab(3) shows bodies of inline functions")
    dropin = (root / "man1/tslab-malloc.1").read_text()
    for option in options.options():
        there = f"TSLAB_{option.name.upper()}\n" in dropin
        expect(there == (option.when != "FOR_TESTS"), f"tslab-malloc(1) should{' not' * there} have {option.name}")
    command = (root / "man1/tslab.1").read_text()
    for name in ("run", "top", "profile", "timeline"):
        expect(f".SS {name}\n" in command, f"tslab(1) lacks {name}")


def main():
    try:
        import rich  # noqa: F401
    except ImportError:
        skip("the command's help needs rich")
    with empty_directory() as root:
        output_of(SOURCE / "tools/manual.py", root)
        check_contents(root)
        found = [line for page in ("man3/tslab.3", "man1/tslab-malloc.1", "man1/tslab.1") for line in complaints(page)]
        expect(not found, "\n".join(found))


main()
