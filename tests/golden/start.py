"""What a small program runs of the drop-in lies together (cmake/order.ld.in), so that the rest comes into no such process.

usage: start.py READELF NM DROPIN PROGRAM
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile


def functions_run(profile, library):
    """The names of the library's functions that a profile of callgrind counts. Valgrind may know no object for those far off."""
    names, objects, found, mine = {}, {}, set(), False
    for line in profile.read_text().splitlines():
        if match := re.fullmatch(r"(c?)(ob|fn)=(\(\d+\))(?: (.*))?", line):
            is_callee, kind, number, name = match.groups()
            known = objects if kind == "ob" else names
            known.setdefault(number, name)
            if kind == "ob" and not is_callee:
                mine = known[number] == "???" or os.path.realpath(known[number]) == library
            elif kind == "fn" and not is_callee and mine:
                found.add(re.sub(r"('\d+|@.*)$", "", names[number]))
    return found


def cold_functions(readelf, nm, library):
    sections = subprocess.run([readelf, "--section-headers", "--wide", library], capture_output=True, text=True, check=True).stdout
    match = re.search(r" \.text_cold +PROGBITS +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+)", sections)
    if match is None:
        sys.exit(f"{library} has no section .text_cold: was it linked by cmake/order.ld.in?")
    start, size = (int(number, 16) for number in match.groups())
    lines = subprocess.run([nm, "--defined-only", library], capture_output=True, text=True, check=True).stdout.splitlines()
    symbols = [line.split() for line in lines]
    return {name.partition("@")[0] for address, _, name in symbols if start <= int(address, 16) < start + size}


def main():
    readelf, nm, library, program = sys.argv[1:]
    library = os.path.realpath(library)
    with tempfile.TemporaryDirectory() as directory:
        profile = pathlib.Path(directory, "callgrind")
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", program]
        result = subprocess.run(command, env=dict(os.environ, LD_PRELOAD=library), capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"callgrind failed:\n{result.stderr}")
        found = functions_run(profile, library)
    cold = found & cold_functions(readelf, nm, library)
    print(f"{len(found)} functions of {os.path.basename(library)} run, {len(cold)} of them far off")
    if not {"malloc", "free", "engine_start_slow"} <= found:
        sys.exit("malloc, free and the start are not among them: was the library preloaded?")
    if cold:
        sys.exit(f"Add to cmake/hot.txt: {' '.join(sorted(cold))}")


main()
