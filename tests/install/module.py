"""A module of C++20 that includes tslab.hpp in its global part, by the compilers that are there.

usage: module.py LIBRARY
"""

import pathlib
import shutil
import sys

from ways import SOURCE, empty_directory, output_of

MODULE = """
module;
#include <tslab/tslab.hpp>
export module units;
export int live() { tslab::epoch epoch; return static_cast<tslab_epoch>(epoch).id != 0; }
"""
PROGRAM = """
import units;
int main() { return live() == 1 ? 0 : 1; }
"""


def main():
    library = sys.argv[1]
    with empty_directory():
        pathlib.Path("units.cppm").write_text(MODULE)
        pathlib.Path("main.cpp").write_text(PROGRAM)
        options = ["-std=c++20", f"-I{SOURCE}/include"]
        link = [library, f"-Wl,-rpath,{pathlib.Path(library).parent}"]
        if shutil.which("g++"):
            output_of("g++", *options, "-fmodules-ts", "-x", "c++", "units.cppm", "main.cpp", "-x", "none", *link, "-o", "by-gcc")
            output_of("./by-gcc")
        if shutil.which("clang++"):
            output_of("clang++", *options, "--precompile", "units.cppm", "-o", "units.pcm")
            output_of("clang++", *options, "-fprebuilt-module-path=.", "main.cpp", "units.pcm", *link, "-o", "by-clang")
            output_of("./by-clang")


main()
