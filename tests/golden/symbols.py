"""Compares the symbols that a library defines for others with golden lists, and prints the difference.

usage: symbols.py NM LIBRARY LIST...
"""

import pathlib
import subprocess
import sys


def defined_symbols(nm, library):
    table = "--extern-only" if library.endswith(".a") else "--dynamic"
    command = [nm, table, "--defined-only", "--format=posix", library]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = (line.split() for line in output.splitlines())
    return {row[0] for row in rows if len(row) > 1}  # an archive's members have a line of one word each


def main():
    nm, library, *lists = sys.argv[1:]
    directory = pathlib.Path(__file__).parent
    golden = {symbol for name in lists for symbol in (directory / name).read_text().split()}
    defined = defined_symbols(nm, library)
    for symbol in sorted(golden - defined):
        print(f"missing: {symbol}")
    for symbol in sorted(defined - golden):
        print(f"not in the golden list: {symbol}")
    if defined != golden:
        sys.exit(f"{library} does not define exactly what {', '.join(lists)} list.")
    print(f"{library} defines the {len(golden)} symbols of {', '.join(lists)}.")


main()
