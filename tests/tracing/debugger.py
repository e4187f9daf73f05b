"""`info tslab` of tools/gdb/tslab.py, in a process and in its core file, by libraries with symbols and without.

usage: debugger.py SOURCES PROGRAM LIBRARY
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
# What is said of each variable's pointer, and of the address so many bytes behind it.
WANTED = (
    ("live", 0, r"live: slot \d+ at {0}, 1024 bytes\n  slab 0x\w+, size class \d+: \d+ slots of 1024 bytes, \d+ of them in it; partial\n  of the process"),
    ("live", 24, r"live: slot \d+ at {0}, 1024 bytes; the address is 24 bytes inside"),
    ("freed", 0, r"free, in its slab: slot"),
    ("cached", 0, r"free, in the magazine of thread \d+: slot"),
    ("large", 0, r"live: large object at {0}, 3145728 bytes, 3145728 with its run\n  of the process"),
    ("large", 2000000, r"live: large object at {0}, .*; the address is 2000000 bytes inside"),
    ("freed_large", 0, r"free: in empty memory of \d+ bytes at 0x\w+, (clean|dirty|absent)"),
    ("freed_large", 5000000, r"free: in empty memory"),
    ("hot", 0, r"free: a large object was here; its run of 409600 bytes is kept for the next one by thread \d+"),
    ("in_epoch", 0, r"live: object at {0}, 208 bytes\n  chunk 0x\w+ of 65536 bytes, 2 objects live in it\n  of epoch 0x\w+ 'request', open, opened \d+\.\d+ s after the start"),
    ("in_epoch", 100, r"live: object at {0}, 208 bytes; the address is 100 bytes inside"),
    ("in_epoch", 9000, r"free: not handed out yet since the chunk was opened"),
    ("ended_in_epoch", 0, r"free: an object was here"),
    ("handled", 0, r"live: slot \d+ at {0}, 64 bytes\n.*\n  of epoch 0x\w+ 'request', open"),
    ("foreign", 0, r"foreign: no memory of tslab's"),
)  # fmt: skip


def asked():
    for name, offset, _ in WANTED:
        yield from ("-ex", f"info tslab *(unsigned long *)&{name} + {offset}")


def gdb(script, *commands, program, core=(), library=None):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TSLAB_", "LD_"))}
    command = ["gdb", "-batch", "-nx", "-ex", "set debuginfod enabled off", "-ex", "set pagination off"]
    command += ["-ex", f"set environment LD_PRELOAD {library}"] if library else []
    command += ["-ex", f"source {script}", *commands[:2], "-ex", "info tslab", *asked(), *commands[2:], str(program), *core]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=100, check=False)


def complaints(what, done):
    answers = re.split(r"^(?=0x[0-9a-f]+: )", done.stdout, flags=re.M)[1:]
    if len(answers) != len(WANTED):
        yield f"{what}: {len(answers)} answers, not {len(WANTED)}: {done.stdout}{done.stderr}"
        return
    for (name, offset, pattern), answer in zip(WANTED, answers, strict=True):
        address, _, rest = answer.partition(": ")
        if not re.match(pattern.format(hex(int(address, 16) - offset)), rest):
            yield f"{what}: of {name} + {offset} it says {answer}"
    for pattern in (r"^tslab \d+\.\d+\.\d+ in ", r"^runs: .* used", r"^threads: \d+$", r"^epochs: 3 that are not over\n  'request': 2 open, 1 draining, the oldest opened \d+\.\d+ s after the start\n(?=0x)"):
        if not re.search(pattern, done.stdout, re.M):
            yield f"{what}: the summary has no {pattern}: {done.stdout}"


def main():
    sources, program, library = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    script = sources / "tools/gdb/tslab.py"
    if shutil.which("gdb") is None:
        print("there is no gdb here")
        sys.exit(SKIPPED)
    found = []
    with tempfile.TemporaryDirectory() as directory:
        stripped = pathlib.Path(directory, library.name)
        subprocess.run(["strip", "-o", str(stripped), str(library)], check=True)
        for what, preloaded in (("plain", None), ("stripped", stripped)):
            core = pathlib.Path(directory, f"core.{what}")
            done = gdb(script, "-ex", "run", "-ex", f"generate-core-file {core}", program=program, library=preloaded)
            if "ptrace" in done.stderr and "not permitted" in done.stderr:
                print("gdb may not trace here")
                sys.exit(SKIPPED)
            found += complaints(f"{what}, process", done)
            found += complaints(f"{what}, core file", gdb(script, program=program, core=[str(core)]))
    print("\n".join(found))
    sys.exit(1 if found else 0)


main()
