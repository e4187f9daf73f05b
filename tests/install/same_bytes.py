"""Builds the drop-in twice, from copies of the sources at places of different length, and compares the bytes.

usage: same_bytes.py CMAKE CC
"""

import shutil
import sys

from ways import copy_of_sources, empty_directory, expect, output_of

CMAKE, CC = sys.argv[1:]


def build(root, sources, binary):
    copy_of_sources(root / sources)
    output_of(CMAKE, "-S", root / sources, "-B", root / binary, f"-DCMAKE_C_COMPILER={CC}", "-DTSLAB_TWINS=OFF",
              CMAKE_C_COMPILER_LAUNCHER=None)  # fmt: skip
    output_of(CMAKE, "--build", root / binary, "--target", "tslab-malloc")
    library = (root / binary / "libtslab-malloc.so").read_bytes()
    expect(str(root).encode() not in library, "the library names the directory that it was built in")
    shutil.rmtree(root / sources)
    return library


def main():
    with empty_directory() as root:
        expect(build(root, "a", "a/build") == build(root, "another/place", "built/elsewhere"), "two builds differ")


main()
