#!/usr/bin/python3
"""Runs a program on a library of tslab beside libraries that wrap functions of libc, before and behind them: those that are named,
or else those of Debian's packages.

usage: packages.py LIBRARY PROGRAM [WRAPPER...]
"""

import glob
import os
import subprocess
import sys

SKIPPED = 77
PATIENCE = 60
FOLDER = "/usr/lib/*-linux-gnu"
# A pattern of the library, and what it takes in the environment.
WRAPPERS = {
    "faketime": (f"{FOLDER}/faketime/libfaketime.so.1", {"FAKETIME": "@2020-01-01 00:00:00", "FAKETIME_NO_CACHE": "1"}),
    "faketime for threads": (f"{FOLDER}/faketime/libfaketimeMT.so.1", {"FAKETIME": "@2020-01-01 00:00:00"}),
    "torsocks": (f"{FOLDER}/torsocks/libtorsocks.so", {}),
    "uid_wrapper": (f"{FOLDER}/libuid_wrapper.so", {"UID_WRAPPER": "1"}),
}


def run(command, preload, environment):
    plain = {name: value for name, value in os.environ.items() if not name.startswith("TSLAB_")}
    return subprocess.run(command, env=plain | environment | {"LD_PRELOAD": ":".join(preload)}, timeout=PATIENCE, capture_output=True,
                          text=True, check=False)  # fmt: skip


def main(library, program, *wrappers):
    libraries = {wrapper: (wrapper, {}) for wrapper in wrappers} or WRAPPERS
    found = {name: glob.glob(pattern) for name, (pattern, _) in libraries.items()}
    missing = [name for name, paths in found.items() if not paths]
    if missing:
        print(f"skipped: tools/setup.sh test installs what is missing: {', '.join(missing)}")
        return SKIPPED
    for name, (_, environment) in libraries.items():
        wrapper = found[name][0]
        for preload in ([wrapper, library], [library, wrapper]):
            done = run([program], preload, environment)
            assert done.returncode == 0 and "<malloc version" in done.stdout, f"{preload}: {done}"
            if "FAKETIME" in environment:
                said = run(["/bin/date", "+%Y"], preload, environment)
                assert said.returncode == 0 and said.stdout == "2020\n", f"{preload}: {said}"
    print(f"{len(libraries)} libraries, each in both orders")
    return 0


sys.exit(main(*sys.argv[1:]))
