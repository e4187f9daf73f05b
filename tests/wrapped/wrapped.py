#!/usr/bin/python3
"""Runs a program on a library of tslab, behind and before a library that wraps one function of those which tslab needs of libc, for
each of them in turn (wrapper.c). The wrapper allocates at its first call, so tslab must not hold a lock by then under which it
serves an allocation.

usage: wrapped.py LIBRARY PROGRAM SOURCE_OF_WRAPPER
"""

import concurrent.futures
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

SKIPPED = 77
PATIENCE = 60
# Not wrapped, with the reason.
LEFT = {
    "abort": "ends the program",
    **dict.fromkeys(
        ("__errno_location", "memchr", "memcmp", "memcpy", "memset", "pthread_self", "strchr", "strcmp", "strcspn", "strlen", "strncmp",
         "strncpy", "strnlen", "strrchr", "strstr"),
        "looks at memory alone: who wraps it, as sanitizers do, cannot allocate there, because every malloc and the loader call it"),
    "__cxa_finalize": "of the start files", "__gmon_start__": "of the start files",
    "_ITM_deregisterTMCloneTable": "of the start files", "_ITM_registerTMCloneTable": "of the start files",
    "__sanitizer_set_report_fd": "looked at, not called", "__tsan_init": "looked at, not called", "__msan_init": "looked at, not called",
    "__pthread_key_create": "looked at, not called",
}  # fmt: skip
CONFIGURATIONS = {
    "default": {},
    "reports": {"TSLAB_STATS": "2,/dev/null,20", "TSLAB_PROFILE": "64K,/dev/null", "TSLAB_EXPORT": "1", "TSLAB_KEEPER": "2"},
}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def symbols(path, *options):
    """{name: its kind, by nm's letter}"""
    lines = (line.split() for line in output("nm", "-D", *options, path).splitlines())
    return {words[-1].split("@")[0]: words[-2] for words in lines}


def functions_of(library):
    """The functions of libc that the library needs."""
    libc = {}
    for line in output("ldd", library).splitlines():
        path = line.partition("=> ")[2].split(" (")[0]
        libc |= symbols(path, "--defined-only") if path.startswith("/") and "libtslab" not in path else {}
    functions = {name for name, kind in libc.items() if kind in "TWi"}
    return sorted((symbols(library, "--undefined-only").keys() & functions) - LEFT.keys())


def failure(program, preload, environment):
    """How the program fails, or nothing."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("TSLAB_")}
    try:
        run = subprocess.run([program], env=plain | environment | {"LD_PRELOAD": ":".join(map(str, preload))}, timeout=PATIENCE,
                             capture_output=True, text=True, errors="replace", check=False)  # fmt: skip
    except subprocess.TimeoutExpired:
        return "hangs"
    if run.returncode != 0:
        return f"ends with {run.returncode}: {run.stderr.strip()[-300:]}"
    return "" if "<malloc version" in run.stdout else "has said nothing"


def try_function(name, library, program, source, folder):
    wrapper = pathlib.Path(folder) / f"{name}.so"
    output("cc", "-D_GNU_SOURCE", "-O1", "-fPIC", "-shared", f"-DWRAPPED={name}", "-o", wrapper, source)
    found = []
    for configuration, environment in CONFIGURATIONS.items():
        for preload in ([wrapper, library], [library, wrapper]):
            how = failure(program, preload, environment)
            if how:
                order = "wrapper first" if preload[0] == wrapper else "library first"
                found.append(f"{name}, {order}, {configuration}: {how}")
    return found


def main(library, program, source):
    if platform.machine() != "x86_64":
        print("skipped: the wrapper is written for x86-64")
        return SKIPPED
    names = functions_of(library)
    assert len(names) > 20 and "pthread_key_create" in names, names
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        tried = pool.map(lambda name: try_function(name, library, program, source, folder), names)
        complaints = [complaint for found in tried for complaint in found]
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    print(f"{len(names)} functions, {len(complaints)} complaints")
    return 1 if complaints else 0


sys.exit(main(*sys.argv[1:]))
