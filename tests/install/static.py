"""Links programs with the archive of the drop-in, dynamically and with -static, and runs them.

usage: static.py CC CXX ARCHIVE
"""

import sys

from ways import CONSUMER, SOURCE, empty_directory, expect, libraries_needed, output_of

CC, CXX, ARCHIVE = sys.argv[1:]
INCLUDE = f"-I{SOURCE}/include"
# No object of libstdc++.a comes into a program of itself: these two are asked for.
CXX_STATIC = ["-static", "-Wl,-u,_ZSt17__throw_bad_allocv,-u,_ZSt15get_new_handlerv"]


def main():
    with empty_directory() as root:
        for name, options in (("dynamic", []), ("static", ["-static"])):
            output_of(CC, "-O2", *options, INCLUDE, CONSUMER / "static.c", "-Wl,-u,malloc", ARCHIVE, "-pthread", "-o", name)
            expect(not libraries_needed(name), "the program needs a library of ours, which it has inside")
            output_of(root / name)
        output_of(CXX, CONSUMER / "static.cpp", "-Wl,-u,malloc", ARCHIVE, "-o", "cxx-dynamic")
        output_of(root / "cxx-dynamic")
        output_of(CXX, CONSUMER / "static.cpp", *CXX_STATIC, "-Wl,-u,malloc", ARCHIVE, "-o", "cxx-static")
        output_of(root / "cxx-static", "no-loader")


main()
