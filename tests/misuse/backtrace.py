"""The call stacks below a line of misuse: those of the checked library, and none of the other.

usage: backtrace.py PROGRAM LIBRARY CHECKED_LIBRARY
"""

import os
import re
import resource
import signal
import subprocess
import sys

PROGRAM, RELEASE, CHECKED = (os.path.realpath(word) for word in sys.argv[1:])
FRAME = re.compile(r"  #(\d+) (\S+?)\+(0x[0-9a-f]+)(?: \((\w+)\+0x[0-9a-f]+\))?")
FRAMES_MOST = 16


def expect(holds, complaint):
    if not holds:
        sys.exit(complaint)


def ended(what, library=CHECKED, **environment):
    """What a mistake says: the line, and the lines below it."""
    variables = {**os.environ, "LD_PRELOAD": library, **environment}
    no_core = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0))}
    done = subprocess.run([PROGRAM, what], env=variables, capture_output=True, text=True, timeout=60, **no_core)
    expect(done.returncode == -signal.SIGABRT, f"{what}: it ends with {done.returncode}: {done.stderr}")
    line, *below = done.stderr.splitlines()
    expect(line.startswith("tslab["), f"{what}: the line does not come first: {done.stderr}")
    return done, line, below


def functions(frames):
    """The functions of the program that addr2line finds at the frames."""
    found = []
    for number, frame in enumerate(frames):
        match = FRAME.fullmatch(frame)
        expect(match and int(match[1]) == number, f"this is not frame {number}: {frame}")
        if match[2] == PROGRAM:
            said = subprocess.run(["addr2line", "-f", "-e", PROGRAM, match[3]], capture_output=True, text=True, check=True)
            found.append(said.stdout.split()[0])
    return found


def main():
    _, line, below = ended("double")
    expect("double free of" in line, line)
    expect(functions(below)[:3] == ["drop_it", "drop_deep", "main"], f"where it was freed: {below}")

    _, line, below = ended("overflow", TSLAB_PROFILE="1")
    expect("write beyond the end of" in line, line)
    at = below.index("  allocated at")
    expect(functions(below[:at])[:3] == ["drop_it", "drop_deep", "main"], f"where it was seen: {below}")
    expect(functions(below[at + 1 :])[:2] == ["make_it", "main"], f"where it was allocated: {below}")

    _, _, below = ended("deep")
    expect(functions(below) == ["drop_it"] + ["drop_deep"] * (FRAMES_MOST - 1), f"a deep stack: {below}")

    _, line, below = ended("fault")
    expect("double free of" in line and below == [], f"a fault on the way: {below}")

    done, _, below = ended("handler")
    expect(done.stdout == "mine" and below, "the program's handler of SIGSEGV is not in its place again")

    _, line, below = ended("double", RELEASE)
    expect("double free of" in line and below == [], f"the release library: {below}")


main()
