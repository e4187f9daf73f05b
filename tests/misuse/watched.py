#!/usr/bin/python3
"""AddressSanitizer and valgrind see the objects of the checked library, those in epochs, too.

    watched.py asan PROGRAM        built with AddressSanitizer
    watched.py valgrind PROGRAM    and valgrind there, as when the library was built

A program that is right ends as always. In one that is wrong the tool names the very line."""

import os
import re
import shutil
import subprocess
import sys

CASES = (1, 2, 3, 4, 5)
FINDING = {"asan": r"ERROR: AddressSanitizer: use-after-poison", "valgrind": r"Invalid (read|write) of size 1"}


def run(tool, program, case):
    command = [program, str(case)]
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    if tool == "valgrind":
        command = ["valgrind", "-q", "--error-exitcode=9", *command]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, check=False)


def line_of(source, case):
    """The number of the line that is wrong: the last one of the case."""
    with open(source, encoding="utf-8") as file:
        lines = file.read().splitlines()
    at = next(i for i, line in enumerate(lines) if line.strip().startswith(f"case {case}:"))
    return next(i for i in range(at, len(lines)) if lines[i].strip() == "break;")


def main():
    tool, program = sys.argv[1:]
    if tool == "valgrind" and (shutil.which("valgrind") is None or not os.path.exists("/usr/include/valgrind/memcheck.h")):
        print("there is no valgrind here, or the library was built without its header")
        return 77
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "watched.c")
    good = run(tool, program, 0)
    if good.returncode != 0 or good.stdout != "end\n" or good.stderr:
        print(f"a program that is right ends with {good.returncode}:\n{good.stdout}{good.stderr}")
        return 1
    for case in CASES:
        bad = run(tool, program, case)
        found = re.search(FINDING[tool] + r"(?s:.{0,400}?)watched\.c:(\d+)", bad.stderr)
        if bad.returncode == 0 or found is None or int(found[found.lastindex]) != line_of(source, case):
            print(f"{tool} does not find case {case}: it ends with {bad.returncode}\n{bad.stdout}{bad.stderr}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
