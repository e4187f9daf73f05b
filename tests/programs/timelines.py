"""The file of the option trace: which process writes which, what stays of it, and what is said where there is none."""

import glob
import os
import resource
import signal
import struct

from run import PYTHON, entry, expect, tslab_lines

ALLOCATES = "x = [bytes(300 + i % 3000) for i in range(30000)]\n"
HEADER = struct.Struct("<8s4I3Q64s")
PLACES = 4096


def header_of(path):
    """Process, program, and how many records are whole."""
    with open(path, "rb") as file:
        raw = file.read()
    magic, _, begin, record_bytes, records, process, _, _, program = HEADER.unpack_from(raw)
    expect((magic, begin, record_bytes) == (b"tslabrng", PLACES, 64) and len(raw) >= begin + records * record_bytes, f"{path} is no timeline")
    sequences = [struct.unpack_from("<Q", raw, begin + place * record_bytes)[0] for place in range(records)]
    return process, program.rstrip(b"\0").decode(), sum(sequence != 0 and sequence % 2 == 0 for sequence in sequences)


def traced(runner, program, path, rc=0, **extra):
    """The files that a Python program leaves, by the names behind its own."""
    extra = {"PYTHONMALLOC": "malloc", "TSLAB_TRACE": runner.path(path), **extra}
    runner.run([PYTHON, "-S", "-c", "import os, signal\n" + program], extra=extra, expect=rc)
    names = glob.glob(runner.path(path.replace("%p", "*") + "*"))
    return {name[len(runner.path(path.partition("%")[0])):]: header_of(name) for name in names}


@entry
def trace(runner):
    found = traced(runner, ALLOCATES, "a")
    expect(list(found) == [""] and found[""][1].startswith("python3") and found[""][2] > 0, f"{found}")
    # What is there already stays: another run has another file, up to a number.
    found = traced(runner, ALLOCATES, "a")
    expect(set(found) == {"", ".1"}, f"{found}")
    # A process that is killed leaves what it has written.
    found = traced(runner, ALLOCATES + "os.kill(os.getpid(), signal.SIGKILL)", "killed", rc=-signal.SIGKILL)
    expect(found[""][2] > 0, f"{found}")
    # The child of a fork has a file of its own once it has something to say; so has a program that is executed.
    fork = ALLOCATES + "if os.fork() == 0:\n {}\n os._exit(0)\nos.wait()\n"
    found = traced(runner, fork.format(ALLOCATES.strip()), "b.%p")
    expect(len(found) == 2 and all(name == str(process) and whole > 0 for name, (process, _, whole) in found.items()), f"{found}")
    found = traced(runner, fork.format(ALLOCATES.strip()), "d")
    expect(set(found) == {"", ".1"} and found[""][0] != found[".1"][0], f"{found}")
    found = traced(runner, "os.execv('/bin/ls', ['ls', '/'])", "e.%p")
    expect(len(found) == 2 and {program for _, program, _ in found.values()} >= {"ls"}, f"{found}")
    # Its length.
    traced(runner, ALLOCATES, "f", TSLAB_TRACE=runner.path("f") + ",64K")
    expect(os.path.getsize(runner.path("f")) == 65536, "the file is not as long as the option says")


@entry
def trace_refused(runner):
    """Where there can be no file, the program goes on, and the library says why."""
    def said(path, program=ALLOCATES, **options):
        extra = {"PYTHONMALLOC": "malloc", "TSLAB_TRACE": path}
        _, stderr = runner.run([PYTHON, "-S", "-c", program], extra=extra, quiet=False, **options)
        lines = tslab_lines(stderr)
        expect(all(line.startswith("tslab: no timeline in ") for line in lines) and len(lines) <= 1, stderr)
        return lines[0] if lines else ""
    expect(said("/nowhere/x").endswith(": its directory is not there"), "a directory that is not there")
    expect(said(runner.directory + "/").endswith(": it is a directory"), "a directory")
    expect(said("%e" * 120 + "y" * 15).endswith(": its name is too long"), "a name that is too long")
    for _ in range(10):
        expect(said(runner.path("many")) == "", "there is room for ten")
    expect("10 files" in said(runner.path("many")), "there is none for eleven")
    # A limit on the length of files, whose signal would end the program.
    for program in (ALLOCATES, "import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n" + ALLOCATES):
        wanted = said(runner.path("limited"), program, preexec_fn=limit_files)
        expect("a limit forbids files of that length" in wanted or "no room" in wanted, f"a limit on files: {wanted!r}")
    expect(not os.path.exists(runner.path("limited")), "a file without its room stays")


def limit_files():
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
