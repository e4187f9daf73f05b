"""Counts the instructions that a pair of malloc(64) and free takes inside the drop-in, and fails above the golden figure.

Two runs under callgrind differ only in their number of pairs, so start and exit cancel out. Only instructions of the drop-in
itself are counted, returns included; the program's loop and its jumps through the PLT are not.

usage: instructions.py COMPILER DROPIN PAIRS_PROGRAM
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

FEW, MANY = 1_000, 11_000


def instructions_of_object(profile, name):
    """The instructions that callgrind's output file attributes to the code of the object `name` itself."""
    objects = {}  # callgrind writes a name once, as "(number) name", and the number alone from then on
    counting = skip_call = False
    total = 0
    for line in profile.read_text().splitlines():
        if line.startswith("ob="):
            number, path = re.fullmatch(r"ob=(\(\d+\))(?: (.*))?", line).groups()
            objects.setdefault(number, path)
            counting = os.path.realpath(objects[number]) == name
        elif line.startswith("cob="):
            number, path = re.fullmatch(r"cob=(\(\d+\))(?: (.*))?", line).groups()
            objects.setdefault(number, path)
        elif line.startswith("calls="):
            skip_call = True  # the next line is the cost of the callee
        elif re.match(r"[-+*\d]", line):
            if counting and not skip_call:
                total += int(line.split()[1])
            skip_call = False
    if name not in map(os.path.realpath, filter(None, objects.values())):
        sys.exit(f"{name} does not appear in the profile: was it preloaded?")
    return total


def run(dropin, program, pairs, directory):
    profile = pathlib.Path(directory, f"callgrind.{pairs}")
    command = ["valgrind", "--tool=callgrind", "--dump-instr=no", "--dump-line=yes", f"--callgrind-out-file={profile}"]
    environment = dict(os.environ, LD_PRELOAD=dropin)
    result = subprocess.run(command + [program, str(pairs)], env=environment, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"callgrind failed:\n{result.stderr}")
    return instructions_of_object(profile, dropin)


def main():
    compiler, dropin, program = sys.argv[1], os.path.realpath(sys.argv[2]), sys.argv[3]
    golden = pathlib.Path(__file__).with_name("instructions.txt").read_text()
    allowed = {name: int(count) for name, count in map(str.split, golden.splitlines())}[compiler]
    with tempfile.TemporaryDirectory() as directory:
        few = run(dropin, program, FEW, directory)
        many = run(dropin, program, MANY, directory)
    measured = (many - few) / (MANY - FEW)
    print(f"{compiler}: malloc(64) and free take {measured:.2f} instructions, {allowed} are allowed")
    if measured < 2:
        sys.exit("That is less than two returns: the count itself is broken.")
    if measured > allowed:
        sys.exit("That is too many.")


main()
