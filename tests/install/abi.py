"""Compares the library with the binary interface on record, and shows that a change would be found.

usage: abi.py LIBRARY
"""

import re
import subprocess
import sys

from ways import SOURCE, empty_directory, expect, need, output_of

(LIBRARY,) = sys.argv[1:]
RECORD = SOURCE / "tests/install/libtslab.abi"
SCRIPT = SOURCE / "tools/abi.sh"


def changed(text):
    """Records of interfaces that this library would break: a function is gone, members move, a value differs."""
    gone = text.replace("tslab_trim", "tslab_trim_all")
    yield "a function", gone
    # The members of a report: as if one had become larger.
    yield "a member", re.sub(r"(<class-decl name='tslab_epoch_report' size-in-bits=)'384'", r"\1'320'", text).replace(
        "layout-offset-in-bits='128'", "layout-offset-in-bits='64'")  # fmt: skip
    yield "a value", re.sub(r"(name='TSLAB_STALE' value=)'-1'", r"\1'-7'", text)


def main():
    need("abidiff")
    print("If a change is meant, and the version is a new one: tools/abi.sh record", LIBRARY)
    output_of(SCRIPT, "check", LIBRARY)
    with empty_directory() as root:
        for what, text in changed(RECORD.read_text()):
            expect(text != RECORD.read_text(), f"{what} is not on record")
            (root / "changed.abi").write_text(text)
            result = subprocess.run([SCRIPT, "check", LIBRARY, root / "changed.abi"], capture_output=True, text=True)
            expect(result.returncode & 12, f"{what} that differs is not found: {result.returncode} {result.stdout}{result.stderr}")


main()
