#!/usr/bin/python3
"""No place of the library calls the system without a test in which that very call fails.

    sites.py libc LIBRARY RECORDS             every function that the library needs of libc is known here, and every call of one
                                              that can fail has failed under the interposing library (interpose.c). So has every
                                              system call
    sites.py table SOURCES RECORDS PROGRAM... every call of the engine through the table of system calls (src/os/os.h) has failed
                                              in the programs that replace its entries (tests/common/faults.h)

RECORDS is the directory in which tests have noted the calls that they let fail: in files TEST.libc and PROGRAM.table."""

import glob
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

# What the library needs of libc and cannot fail, or cannot fail for want of anything: why that is no subject here.
HARMLESS = {
    "abort": "does not return",
    "__tsan_init": "is there or not", "__msan_init": "is there or not", "__sanitizer_set_report_fd": "is there or not",
    "dladdr": "asks the loader for what it has in its tables; where it fails, the library behaves as without the drop-in",
    "dladdr1": "as dladdr", "dlvsym": "looks into tables of the loader; NULL is an older libc",
    "dlclose": "gives back what dlopen has counted",
    "dlsym": "looks into tables of the loader; NULL is handled where dlopen has failed, too (faults-new)",
    "environ": "a variable",
    "__environ": "a variable",
    "__errno_location": "a variable",
    "fprintf": "to the caller's own stream (malloc_info), whose error it carries",
    "pthread_attr_init": "memory of the caller's", "pthread_attr_destroy": "memory of the caller's",
    "pthread_join": "of a thread that is there, by one that holds the lock on it",
    "pthread_setcancelstate": "a word of the calling thread's",
    "pthread_attr_setstacksize": "refuses only what is less than the least stack, and then the default one serves",
    "sigaction": "refuses only numbers that the option stats_signal does not take", "raise": "a signal that there is, to this thread",
    "pthread_self": "cannot fail", "__libc_current_sigrtmin": "cannot fail", "__progname": "a variable", "program_invocation_short_name": "a variable",
    "getauxval": "a look at what the kernel left on the stack",
    "memchr": "memory", "memcpy": "memory", "memmove": "memory", "memset": "memory", "strchr": "memory", "strcspn": "memory", "strlen": "memory", "strspn": "memory",
    "strncmp": "memory", "strncpy": "memory", "strrchr": "memory", "strstr": "memory", "strnlen": "memory", "memcmp": "memory", "strcmp": "memory",
    "__libc_single_threaded": "a variable", "_IO_file_doallocate": "not called: its address tells a caller",
    "_IO_list_lock": "libc's own lock", "_IO_list_unlock": "libc's own lock", "_IO_list_resetlock": "libc's own lock",
    "sigaddset": "memory", "sigfillset": "memory", "sigemptyset": "memory", "sigismember": "memory",
    "__cxa_finalize": "of the start files", "__gmon_start__": "of the start files",
    "_ITM_deregisterTMCloneTable": "of the start files", "_ITM_registerTMCloneTable": "of the start files",
    "__stack_chk_fail": "does not return",
    "_Unwind_Resume": "of the compiler",
    "__pthread_key_create": "of the unwinder, which looks whether there are threads",
    "pthread_mutex_lock": "of the unwinder's own lock", "pthread_mutex_unlock": "of the unwinder's own lock",
    "pthread_once": "of the unwinder, once", "dl_iterate_phdr": "a walk over what is loaded",
    "__gcc_personality_v0": "of the compiler",
}

# The same of system calls.
HARMLESS_CALLS = {
    "capget": "the keeper gives up rights, where it can", "capset": "as capget",
    "getpid": "cannot fail", "geteuid": "cannot fail",
    "mincore": "is called only in a process without a filter, and the programs of these tests have one",
    "newfstatat": "when a file was written to: one that tells no time is taken to be none, and is written",
    "rt_sigprocmask": "refused, there are no naps, and no pointer is taken to be readable",
    "rt_sigpending": "as without signals", "rt_sigaction": "as rt_sigpending", "fcntl": "a file that is not there blocks nobody",
    "ppoll": "a file that cannot be asked is ready: the call itself tells", "pselect6": "as ppoll",
    "personality": "a question; without an answer, addresses are chosen at random",
    "prctl": "a name for those who look, and whether there is a filter: a kernel that does not tell has none",
}

# Calls through the table that fail in programs which keep no records of that: where.
GUARDS = "guard pages of the checked library: security-faults, security-epoch-faults"
ELSEWHERE = {
    ("commit", "common/guard.c"): GUARDS, ("purge", "common/guard.c"): GUARDS, ("reserve", "common/guard.c"): GUARDS,
    ("unmap", "common/guard.c"): GUARDS, ("commit", "slab/large.c"): GUARDS, ("forbid", "slab/large.c"): GUARDS,
    ("commit", "space/trap.c"): GUARDS,
    ("futex_wait", "os/helper_thread.c"): "a wait that ends early asks again",
    ("now_ms", "malloc/engine.c"): "a clock that fails makes the uptime in reports wrong, and nothing else",
    ("now_ms", "report/black_box.c"): "a clock that fails has a file come sooner or later, and nothing else",
    ("now_ms", "report/channel.c"): "a clock that fails has the time of an option end at another time, and nothing else",
    ("now_ms", "report/statistics.c"): "a clock that fails makes the uptime in reports wrong, and nothing else",
    ("now_ms", "report/summary.c"): "a clock that fails makes the uptime in reports wrong, and nothing else",
    ("now_ms", "thread/sampling.c"): "a clock that fails makes the age of a sample wrong, and nothing else",
    ("now_ms", "report/profile.c"): "a clock that fails makes ages in the profile wrong, and nothing else",
    ("now_ms", "space/depot.c"): "a clock that fails makes a run old, and nothing else; half of these need pages larger than a unit",
    ("now_ms", "space/free_runs.c"): "a clock that fails makes a run old, and nothing else; half of these need pages larger than a unit",
}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def recorded(path):
    """Pairs of a call and the place it returns to."""
    pairs = set()
    for name in glob.glob(path):
        with open(name, encoding="utf-8") as file:
            for line in file:
                call, place = line.split()
                pairs.add((call, int(place, 16)))
    return pairs


def injectable():
    """The calls that the interposing library knows."""
    with open(os.path.join(HERE, "interpose.c"), encoding="utf-8") as file:
        return set(re.findall(r"^    _\((\w+)\)", file.read(), re.MULTILINE))


def source_lines(program, places):
    """For each place after a call, where the call stands: all frames of it, the innermost (that was inlined) first."""
    text = subprocess.run(["addr2line", "-a", "-i", "-e", program], input="".join(f"{place - 1:#x}\n" for place in places),
                          check=True, capture_output=True, text=True).stdout
    frames = re.split(r"^0x[0-9a-f]+\n", text, flags=re.MULTILINE)[1:]
    return [[(os.path.realpath(path), number) for path, number in re.findall(r"^(.*?):(\d+|\?)", one, re.MULTILINE)] for one in frames]


def system_calls_at(path, number):
    """The names of the system calls in a line of a source."""
    with open(os.path.join(HERE, "../../src", path.rpartition("/src/")[2]), encoding="utf-8") as file:
        names = re.findall(r"\bSYSTEM_CALL\((\w+)", file.read().splitlines()[number - 1])
    assert names, f"{path}:{number} makes no system call by its name"
    return names


def libc_calls(library):
    """Where the library calls which function of libc, or the kernel: pairs of it and the place after the call."""
    calls, jumps, function, called = [], {}, None, None
    for line in output("objdump", "-d", "--no-show-raw-insn", library).splitlines():
        if re.search(r"\t(syscall|svc\t#0x0)\s*$", line):
            called = "syscall"
            continue
        label = re.match(r"[0-9a-f]+ <(.+)>:$", line)
        function = label[1] if label else function
        place = re.match(r"\s*([0-9a-f]+):", line)
        if place and called:
            calls.append((called, int(place[1], 16)))
            called = None
        branch = re.search(r"\b(call|jmp|bl|b)q?\s+(?:[0-9a-f]+ )?<(\w+)(?:@plt)?>", line)
        if branch and branch[1] in ("call", "bl"):
            called = branch[2]
        elif branch and "@plt" in line:
            jumps[function] = branch[2]  # who calls this function calls that one
    return {(jumps.get(name, name), place) for name, place in calls}


def check_libc(library, records):
    complaints = []
    needed = {line.split()[-1].split("@")[0] for line in output("nm", "-D", "--undefined-only", library).splitlines()}
    known = injectable()
    for name in sorted(needed - known - set(HARMLESS)):
        complaints.append(f"the library needs {name} of libc: have interpose.c let it fail, or say in sites.py why it cannot")
    for name in sorted(known - needed):
        complaints.append(f"interpose.c lets {name} fail, which the library does not need")

    def lines(calls):
        """A function that was inlined is in the library several times: its calls are told by their line, a system call by that
        which makes it."""
        calls = [call for call in calls if call[0] in known | {"syscall"}]
        for (name, _), frames in zip(calls, source_lines(library, [place for _, place in calls])):
            path, number = next(frame for frame in frames if not frame[0].endswith("/os/system_call.h"))
            if name != "syscall" or not set(system_calls_at(path, int(number))) & set(HARMLESS_CALLS):
                yield name, (path, number)

    wanted = set(lines(libc_calls(library)))
    failed = set(lines(recorded(os.path.join(records, "*.libc"))))
    for name, (path, number) in sorted(wanted - failed):
        complaints.append(f"no test lets the call of {name} fail in {path}:{number}")
    return complaints, len(wanted)


def table_calls(sources):
    """Where the engine calls through the table, by its source: {(entry, file:line)}."""
    with open(os.path.join(sources, "os", "os.h"), encoding="utf-8") as file:
        header = file.read()
    entries = dict(re.findall(r"^#define (os_\w+) +os_calls\.(\w+)$", header, re.MULTILINE))
    calls = set()
    for path in glob.glob(os.path.join(sources, "*", "*.c")) + glob.glob(os.path.join(sources, "*", "*.h")):
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                code = line.split("/*")[0]
                for name in re.findall(r"\bos_\w+(?=\()", code):
                    if name in entries and not path.endswith("os/os.h"):
                        calls.add((entries[name], f"{os.path.relpath(path, sources)}:{number}"))
    # What is called inside of a helper of the header is called where the helper is used; os_ms_since is one.
    for helper in re.findall(r"^static inline [\w *]*?(os_\w+)\([^;]*?\)\n\{\n[^}]*\bos_now_ms\(", header, re.MULTILINE):
        for path in glob.glob(os.path.join(sources, "*", "*.c")):
            with open(path, encoding="utf-8") as file:
                for number, line in enumerate(file, 1):
                    if re.search(rf"\b{helper}\(", line):
                        calls.add((entries["os_now_ms"], f"{os.path.relpath(path, sources)}:{number}"))
    return calls


def failed_calls(program, records):
    """The same calls, as they were noted by a program."""
    pairs = sorted(recorded(os.path.join(records, f"{os.path.basename(program)}.table")))
    calls = set()
    for (call, _), frames in zip(pairs, source_lines(program, [place for _, place in pairs])):
        # The innermost place that is not in the header of the table itself. What stands before src is not compared: a compiler
        # cache may have built the object in another clone.
        outside = [(path.rpartition("/src/")[2], number) for path, number in frames if "/os/os.h" not in path]
        if outside:
            calls.add((call, f"{outside[0][0]}:{outside[0][1]}"))
    return calls


def check_table(sources, records, programs):
    wanted = {(call, place) for call, place in table_calls(sources) if (call, place.split(":")[0]) not in ELSEWHERE}
    failed = set().union(*(failed_calls(program, records) for program in programs))
    return [f"no test lets {call} fail at src/{place}" for call, place in sorted(wanted - failed)], len(wanted)


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "libc":
        complaints, count = check_libc(*sys.argv[2:])
    elif len(sys.argv) >= 5 and sys.argv[1] == "table":
        complaints, count = check_table(sys.argv[2], sys.argv[3], sys.argv[4:])
    else:
        print(__doc__, file=sys.stderr)
        return 2
    for complaint in complaints:
        print(f"sites: {complaint}", file=sys.stderr)
    print(f"{count} calls can fail, and {count - len(complaints)} did" if count else "there are no calls")
    return 1 if complaints or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
