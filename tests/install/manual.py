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


def is_page_of(root, name):
    """Whether man shows a page of this function: with its declaration and what it does, and without those of all others."""
    page = root / f"man3/{name}.3"
    text = page.read_text().replace("\\-", "-")
    if text.startswith(".so "):
        text = (root / text.split()[1]).read_text().replace("\\-", "-")
    named = text.partition(".SH NAME\n")[2].partition("\n.SH ")[0]
    names, _, purpose = " ".join(named.split()).partition(" - ")
    synopsis = text.partition(".SH SYNOPSIS\n")[2].partition(".SH")[0]
    return name in names.split(", ") and 10 < len(purpose) < 130 and f"{name}(" in synopsis and len(text) < 6000


def check_contents(root):
    library = (root / "man3/tslab.3").read_text().replace("\\-", "-")
    for name in GOLDEN:
        if name.startswith("tslab_"):
            expect(f"{name}(" in library, f"tslab(3) lacks {name}")
            expect(is_page_of(root, name), f"there is no page of {name}")
    for heading in ("EPOCHS", "HANDLES", "INSTANCES", "UNITS OF WORK", "STATISTICS"):
        expect(f".SH {heading}\n" in library, f"tslab(3) lacks {heading}")
    expect(".SH NAMES A STATUS\n" not in library and ".SH ENDS A UNIT\n" not in library, "tslab(3) takes functions for chapters")
    dropin = (root / "man1/tslab-malloc.1").read_text()
    for option in options.options():
        there = f"TSLAB_{option.name.upper()}\n" in dropin
        expect(there == (option.when != "FOR_TESTS"), f"tslab-malloc(1) should{' not' * there} have {option.name}")
    command = (root / "man1/tslab.1").read_text()
    for name in ("run", "top", "doctor", "profile"):
        expect(f".SS {name}\n" in command, f"tslab(1) lacks {name}")


def main():
    try:
        import rich  # noqa: F401
    except ImportError:
        skip("the command's help needs rich")
    with empty_directory() as root:
        output_of(SOURCE / "tools/manual.py", root)
        check_contents(root)
        pages = [str(page.relative_to(root)) for page in sorted(root.glob("man?/*")) if not page.read_text().startswith(".so ")]
        found = [f"{page}: {line}" for page in pages for line in complaints(page)]
        expect(not found, "\n".join(found))


main()
