#!/usr/bin/python3
"""Records the system calls of a program on the drop-in and on the system's malloc. What it makes only on the drop-in must be in
the table of docs/limits.md (System calls), which is read here: calls, constants, files, descriptors and mappings of files.

Calls count from the constructor of a library on that is preloaded beside the drop-in, in each program that the program starts.

usage: calls.py LIMITS_PAGE MARK_LIBRARY DROPIN PROGRAM ARGUMENT...
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
PATIENCE = 250
RUNS = 2  # of the program on the system's malloc: what it does in one of them is its own
KEEPER = "tslab-keeper"
# Of the keeper's beginning, its end, and its watch over a control group.
KEEPER_CALLS = {"set_robust_list", "rseq", "prctl", "close_range", "openat", "fstat", "close", "pread64", "exit", "rt_sigprocmask", "madvise",
                "munmap", "futex", "capget", "capset", "sched_getaffinity", "sched_setaffinity", "sched_getscheduler", "sched_setscheduler"}  # fmt: skip
KEEPER_FILES = re.compile(r"/proc/self/cgroup|/proc/self/status|/sys/fs/cgroup/.*")
FILES = ("open", "openat", "openat2", "creat", "access", "faccessat", "faccessat2", "stat", "newfstatat", "statx", "readlink",
         "readlinkat", "memfd_create")  # fmt: skip
LINE = re.compile(r"^(\d+) +(?:<\.\.\. )?(\w+)(?:\(| resumed>)(.*)$")
CONSTANT = re.compile(r"\b(?:MAP|PROT|MREMAP|MADV|FUTEX|SIG)_[A-Z_]+\b")


def table(page):
    """The calls of the table, with their constants."""
    with open(page, encoding="utf-8") as file:
        section = file.read().split("\n## System calls\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \|([^|]*)\|", section, re.MULTILINE)
    assert {"mmap", "munmap", "madvise", "futex"} <= {call for call, _ in rows}, "the table is not found"
    return {call: set(CONSTANT.findall(constants)) for call, constants in rows}


def noted(call, arguments):
    """What is compared of a call: its constants, its file, the file that it maps and the descriptor that it gets."""
    if call in FILES:
        file = re.search(r'"([^"]*)"', arguments)
        descriptor = re.search(r"\) += (\d+)<", arguments) if call == "openat" else None
        yield f"{call} {file[1] if file else ''} {descriptor[1] if descriptor else ''}".strip()
        return
    yield call
    for constant in CONSTANT.findall(arguments):
        yield f"{call} {constant}"
    mapped = re.search(r"\d+<([^>]*)>, ", arguments) if call == "mmap" else None
    if mapped:
        yield f"mmap of {mapped[1]}"


def calls_of(record):
    """What each thread did after the mark. Threads and children go on where the one that made them was."""
    marked, of_thread, keepers = {}, {}, set()
    first = None
    for line in record:
        parts = LINE.match(line)
        if not parts:
            continue
        thread, call, arguments = parts.groups()
        first = first or thread
        if call == "execve":
            marked[thread] = False
        elif '"constructed"' in arguments:
            marked[thread] = True
        elif marked.get(thread, thread != first) and " resumed>" not in line:
            if call == "prctl" and KEEPER in arguments:
                keepers.add(thread)
            of_thread.setdefault(thread, set()).update(noted(call, arguments))
    assert any(marked.values()), "the mark is not in the record"
    return of_thread, keepers


def recorded(preload, command):
    """The calls of one run."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "record")
        plain = {name: value for name, value in os.environ.items() if not name.startswith("TSLAB_")}
        strace = ["strace", "-f", "-qq", "-y", "-s", "200", "-e", "signal=none", "-o", path, "-E", "LD_PRELOAD=" + ":".join(preload)]
        run = subprocess.run([*strace, *command], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=plain | {"HOME": folder},
                             cwd=folder, timeout=PATIENCE, check=False)  # fmt: skip
        if "ptrace" in run.stderr and run.returncode != 0:
            print(f"skipped: strace is not allowed here: {run.stderr}")
            sys.exit(SKIPPED)
        assert run.returncode == 0, f"{command} ends with {run.returncode}: {run.stderr}"
        with open(path, encoding="utf-8", errors="replace") as file:
            return calls_of(line.replace(folder, "FOLDER") for line in file)


def main(page, mark, dropin, *command):
    if shutil.which("strace") is None or shutil.which(command[0]) is None:
        print(f"skipped: there is no strace, or no {command[0]}")
        return SKIPPED
    allowed = table(page)
    own = set()
    for _ in range(RUNS):
        of_thread, _ = recorded([mark], command)
        own |= set().union(*of_thread.values())
    listed = set(allowed) | {f"{call} {constant}" for call, constants in allowed.items() for constant in constants}
    of_thread, keepers = recorded([dropin, mark], command)
    wrong = set()
    for thread, calls in of_thread.items():
        for call in calls - own - listed:
            name, _, rest = call.partition(" ")
            of_keeper = thread in keepers and name in KEEPER_CALLS
            if not of_keeper or (name == "openat" and not KEEPER_FILES.match(rest)):
                wrong.add(f"{call}{' (keeper)' if thread in keepers else ''}")
    print(f"{len(own)} calls and constants of the program's own, {len(of_thread)} threads on the drop-in")
    for call in sorted(wrong):
        print(f"only on the drop-in, and not in {os.path.basename(page)}: {call}")
    used = set().union(*of_thread.values())
    unused = {call for call in listed if call not in used and command[0].endswith("calls_allocates")}
    print(f"listed, and not made: {', '.join(sorted(unused))}" if unused else "")
    return 1 if wrong else 0


sys.exit(main(*sys.argv[1:]))
