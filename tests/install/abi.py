"""Compares the header and the library with the binary interface on record (abi.c), and shows that a change would be found.

usage: abi.py COMPILER LIBRARY
"""

import pathlib
import subprocess
import sys

from ways import SOURCE, empty_directory, expect, output_of

COMPILER, LIBRARY = sys.argv[1:]
RECORD = pathlib.Path(__file__).with_name("abi.c")
HEADER = SOURCE / "include/tslab/tslab.h"
CHANGES = [
    ("size_t tslab_trim(void)", "uint32_t tslab_trim(void)"),
    ("uint64_t survivor_bytes;", ""),
    ("uint64_t survivors; ", "int64_t survivors; "),
    ("uint64_t age_ms;          /* since it was opened */\n};", "uint64_t age_ms, more;\n};"),
    ("TSLAB_STALE = -1,", "TSLAB_STALE = -7,"),
]


def main():
    with empty_directory() as root:
        output_of(COMPILER, "-shared", "-fPIC", f"-I{SOURCE}/include", RECORD, "-Wl,-z,defs", LIBRARY, "-o", "abi.so")
        (root / "tslab").mkdir()
        text = HEADER.read_text(encoding="utf-8")
        for before, after in CHANGES:
            expect(before in text, f"the header has no {before}")
            (root / "tslab/tslab.h").write_text(text.replace(before, after), encoding="utf-8")
            result = subprocess.run([COMPILER, "-fsyntax-only", f"-I{root}", RECORD], capture_output=True, check=False)
            expect(result.returncode, f"{after or 'nothing'} in the place of {before} is not found")


main()
