"""Which glibc the shared libraries need: they ask for no symbol of a version later than the one given.

usage: glibc.py VERSION LIBRARY...
"""

import re
import sys

from ways import expect, output_of


def numbers(version):
    return tuple(int(part) for part in version.split("."))


def main():
    most, *libraries = sys.argv[1:]
    for library in libraries:
        wanted = {version: line.split()[-1] for line in output_of("objdump", "-T", library).splitlines() if "*UND*" in line
                  for version in re.findall(r"GLIBC_([\d.]+)", line)}  # fmt: skip
        expect(wanted, f"{library} needs no glibc at all?")
        later = {version: symbol for version, symbol in wanted.items() if numbers(version) > numbers(most)}
        expect(not later, f"{library} needs a glibc later than {most}: {later}")
        print(library, "needs glibc", max(wanted, key=numbers))


main()
