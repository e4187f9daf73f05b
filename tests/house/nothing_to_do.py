"""A program of the tests that is asked for nothing, or for something that it does not know, fails: a test of nothing would
pass for ever.

usage: nothing_to_do.py SOURCES BINARIES"""

import pathlib
import subprocess
import sys

TIMEOUT = 100
# What each is asked for, in the folder of binaries; and scripts, in that of sources.
PROGRAMS = """
sim/sim quick nonsense
sim/sim full slab nonsense
sim/sim canary nonsense
sim/sim nonsense
sim/sim random 0 0
sim/sim random-epoch 0 x
fuzz/fuzz_seeded 1 0
fuzz/fuzz_seeded 1 5x
fuzz/fuzz_replay
fuzz/fuzz_replay nonsense
misuse/misuse nonsense
misuse/security-kinds nonsense
storms/stress-traffic 0 1
storms/stress-traffic 1 0
storms/stress-contend 0 80
storms/stress-begin 0
storms/stress-grow x
storms/stress-forks 0
soak/soak --rounds 0
soak/soak --rounds 1 --requests 0
soak/soak --rounds 1 --policy nonsense
storms/storms_forks 0
storms/storms_waves come 0
storms/storms_waves nonsense 100000
storms/storms_signals nonsense 1000
storms/storms_spawn 0
storms/storms_handlers 0
storms/storms_cancel 0
storms/storms_contexts 0
storms/storms_plugins nonsense
soak/soak --nonsense 1
forks/forks_streams nonsense
company/company nonsense
faults/faults-limits nonsense
"""
SCRIPTS = """
tests/mutants/mutants.py list nonsense
tests/mutants/mutants.py run nonsense
tests/mutants/mutants.py sample 0
tests/soak/soak.py nonsense
tests/fuzz/long.py nonsense 0
tests/programs/run.py /bin/true nonsense
tests/glibc/suite.py complete /nowhere
tests/faults/sites.py nonsense
lab/lab bench nonsense
lab/lab rss nonsense
lab/lab campaign --pieces nonsense
lab/lab variants nonsense
lab/lab epochs --groups nonsense
lab/lab requests --allocators nonsense
lab/lab peers install nonsense
"""


def complaints(sources, binaries):
    for folder, before, words in ((binaries, [], PROGRAMS), (sources, ["/usr/bin/python3", "-B"], SCRIPTS)):
        for line in words.split("\n"):
            if not line:
                continue
            name, *arguments = line.split()
            argv = [*before, str(folder / name), *arguments]
            done = subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=TIMEOUT, check=False)
            if done.returncode not in (1, 2):
                yield f"{line}: ends with {done.returncode}"
            elif not done.stdout + done.stderr:
                yield f"{line}: says nothing"
            elif "Traceback" in done.stderr:
                yield f"{line}: has a traceback"


def main():
    sources, binaries = map(pathlib.Path, sys.argv[1:])
    found = list(complaints(sources, binaries))
    for complaint in found:
        print(complaint)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
