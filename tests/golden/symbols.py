"""Compares the symbols that a library defines for others with golden lists, and prints the difference.

In a shared library each name of the interface has the version of the interface, and the names of libc and C++ have none: so they
serve programs that were linked against a version of libc's.

usage: symbols.py NM LIBRARY LIST...
"""

import pathlib
import re
import subprocess
import sys


def defined_symbols(nm, library):
    """The names that a library defines: name -> version, which is empty where it has none."""
    table = "--extern-only" if library.endswith(".a") else "--dynamic"
    command = [nm, table, "--defined-only", "--with-symbol-versions", "--format=posix", library]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in output.splitlines()]
    # An archive's members have a line of one word each; the versions themselves are absolute symbols.
    names = [row[0].partition("@") for row in rows if len(row) > 1 and row[1] != "A"]
    return {name: version.lstrip("@") for name, _, version in names}


def interface_version():
    header = (pathlib.Path(__file__).parents[2] / "include/tslab/tslab.h").read_text(encoding="utf-8")
    major, minor = (re.search(rf"#define TSLAB_VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR"))
    return f"TSLAB_{major}.{minor}" if major == "0" else f"TSLAB_{major}"


def wrong_versions(library, defined):
    for symbol, version in sorted(defined.items()):
        wanted = interface_version() if symbol.startswith("tslab_") and not library.endswith(".a") else ""
        if version != wanted:
            yield f"{symbol} has the version {version or 'none'}, not {wanted or 'none'}"


def main():
    nm, library, *lists = sys.argv[1:]
    directory = pathlib.Path(__file__).parent
    golden = {symbol for name in lists for symbol in (directory / name).read_text().split()}
    defined = defined_symbols(nm, library)
    for symbol in sorted(golden - defined.keys()):
        print(f"missing: {symbol}")
    for symbol in sorted(defined.keys() - golden):
        print(f"not in the golden list: {symbol}")
    wrong = list(wrong_versions(library, defined))
    print("\n".join(wrong))
    if defined.keys() != golden or wrong:
        sys.exit(f"{library} does not define exactly what {', '.join(lists)} list.")
    print(f"{library} defines the {len(golden)} symbols of {', '.join(lists)}.")


main()
