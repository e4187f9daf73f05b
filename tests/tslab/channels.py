"""What processes answer, as the library would and as it would not, and processes that answer so."""

import contextlib
import json
import os
import signal
import subprocess

import tslab_test  # noqa: F401  # the path of the tools
from tslab_tools.live import answers, figures, processes

NOBODY = 65534


def document(value=1, labels=("request",), **own):
    """Figures as the library writes them. All numbers are this one, but for those that are named."""
    every = [row[0] for row in (*figures.PROCESS_FIGURES, *figures.TOTAL_FIGURES)]
    numbers = dict.fromkeys(every, value) | own
    row = {name: value for name, *_ in figures.CLASS_COUNTED}
    return {
        "schema": answers.SCHEMA, "version": answers.VERSION, "library": "0.2.0",
        **{name: numbers[name] for name, *_ in figures.PROCESS_FIGURES},
        "totals": {name: numbers[name] for name, *_ in figures.TOTAL_FIGURES},
        "options": {"purge": "never", "profile": "524288", "stats": "2,a=b"},
        "accounts": {"committed_bytes": value}
        | {name: {"bytes": value, "untouched_bytes": value} for name in figures.ACCOUNTS},
        "classes": [row],
        "labels": [{name: value for name, *_ in figures.LABEL_FIGURES} | {"label": label} for label in labels],
        "label_limits": [
            {name: value for name, *_ in figures.LABEL_LIMIT_FIGURES} | {"label": label} for label in labels
        ],
    }  # fmt: skip


def body(*words, **more):
    return json.dumps(document(*words, **more))


def process_of(value=0, before=None, labels=("request",), **own):
    """A process whose figures all have this value, but for those that are named."""
    process = processes.Process(1 << 30)  # there is none
    if before is not None:
        process.before = answers.parse(body(before, labels), 1)
    process.figures = answers.parse(body(value, labels, **own), 2)
    return process


# Processes that pretend to run on tslab: each has a thread with the library's name, and answers as it is told. `names`: its
# own name; `open`: what has the place of its file; `head`: fields of the beginning of the file (magic, version, zero,
# process, asked, answered, bytes of the body), of the process what is added to its own; `size` of the file, its `seals` and
# `owner`; `held`: it has the lock itself; `said`, `body`, `length`: its answer (without, it is silent); with the name of a command: that to the command; `cuts`: it cuts its
# file off and back for ever; `threads`, `descriptors`: so many more.
# An open descriptor stands for any file: its link reads as the library's does, for it is a name in a root directory of
# the process's own.
FAKES = """
import ctypes, fcntl, json, os, struct, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
HEAD, BODY_AT = struct.Struct("<8sIIQIIQ"), 4096

def must(result):
    if result:
        raise OSError(ctypes.get_errno(), "refused")

def pretended(kind, folder):
    name = "memfd:tslab-export" + (kind != "file") * " (deleted)"
    ids = os.geteuid(), os.getegid()
    must(libc.unshare(0x10000000 | 0x00020000))  # CLONE_NEWUSER, CLONE_NEWNS
    for of, text in (("setgroups", "deny"), ("uid_map", f"0 {ids[0]} 1"), ("gid_map", f"0 {ids[1]} 1")):
        with open(f"/proc/self/{of}", "w") as file:
            file.write(text)
    must(libc.mount(b"none", folder.encode(), b"tmpfs", 0, None))
    os.chdir(folder)
    os.mkdir("old")
    if kind in ("folder", "fifo"):
        {"folder": os.mkdir, "fifo": os.mkfifo}[kind](name)
    else:
        open(name, "w").close()
    if kind == "device":
        must(libc.mount(b"/dev/tty", name.encode(), None, 4096, None))  # MS_BIND
    elif kind == "fuse":  # nobody serves what this file system is asked
        served = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={served},rootmode=100000,user_id=0,group_id=0"
        must(libc.mount(b"none", name.encode(), b"fuse", 0, options.encode()))
    must(libc.mount(b"/", b"old", None, 4096 | 16384, None))  # MS_BIND, MS_REC
    file = os.open(name, os.O_PATH)
    if kind == "file":
        os.unlink(name)  # the kernel says that it is deleted
    must(libc.syscall(155, b".", b"old"))  # pivot_root
    return file

def opened(told):
    before = [os.open("/dev/null", os.O_RDONLY) for _ in range(told.get("before", 0))]
    if "open" in told:
        return pretended(told["open"], told["folder"])
    if os.getuid() == 0:
        os.seteuid(told.get("owner", 65534))
    file = os.memfd_create("tslab-export", os.MFD_ALLOW_SEALING)
    if os.getuid() == 0:
        os.seteuid(0)
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
        libc.prctl(4, 1)  # PR_SET_DUMPABLE
    head = [b"TSLABASK", 3, 0, os.getpid(), 0, 0, 0]
    for place, value in told.get("head", {}).items():
        head[int(place)] = value.encode() if place == "0" else value + head[int(place)]
    os.pwrite(file, HEAD.pack(*head), 0)
    os.ftruncate(file, told.get("size", BODY_AT))
    fcntl.fcntl(file, fcntl.F_ADD_SEALS, told.get("seals", 0))
    if "held" in told:
        fcntl.lockf(file, fcntl.LOCK_EX)
    return file

def answer(told, file):
    said, seen = told["said"].encode("latin-1"), 0
    while True:
        asked = int.from_bytes(os.pread(file, 4, 24), "little")
        if asked != seen:
            seen = asked
            command = os.pread(file, 100, 40).split(bytes(1))[0].split(b" ")[-1].decode()
            body = told.get(command, told.get("body", "")).encode()
            os.pwrite(file, said + bytes(1), 40 + 1024)
            os.pwrite(file, body, BODY_AT)
            os.pwrite(file, struct.pack("<Q", told.get(command + " length", told.get("length", len(body)))), 32)
            os.pwrite(file, struct.pack("<I", asked), 28)
        if "cuts" in told:
            os.ftruncate(file, 20)
            os.ftruncate(file, BODY_AT + 100000)
        time.sleep(told.get("rests", 0.01))

def keep(told, file):
    libc.prctl(15, b"tslab-keeper")  # PR_SET_NAME
    kept = [os.dup(file) for _ in range(told.get("descriptors", 0))]
    os.write(1, f"{told['number']} {os.getpid()}\\n".encode())
    if "said" in told:
        answer(told, file)
    time.sleep(1000)

def idle():
    libc.prctl(15, b"tslab-keeper")
    time.sleep(1000)

def child(told):
    file = opened(told)
    libc.prctl(15, told.get("names", "fake").encode("latin-1"))
    threading.stack_size(65536)
    for _ in range(told.get("threads", 0)):
        threading.Thread(target=idle).start()
    threading.Thread(target=keep, args=(told, file)).start()

for number, told in enumerate(json.loads(sys.stdin.readline())):
    told["number"] = number
    if os.fork() == 0:
        try:
            child(told)
        except OSError:
            os.write(1, f"{number} 0\\n".encode())
            os._exit(1)
        break
os.read(0, 1)  # until the test ends
os._exit(0)
"""


def start(test, fakes):
    """Begins processes that are told these. Returns the PID of each; 0: the system has no such thing. Where the test is root,
    they are another user's, but for those that pretend to have a file."""
    argv = ["/usr/bin/python3", "-c", FAKES]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": "/"}
    program = subprocess.Popen(argv, **pipes, start_new_session=True)
    for cleanup in (program.stdin.close, program.stdout.close, program.wait):
        test.addCleanup(cleanup)
    test.addCleanup(end, program)
    print(json.dumps(fakes), file=program.stdin, flush=True)
    found = dict(map(int, program.stdout.readline().split()) for _ in fakes)
    return [found[number] for number in range(len(fakes))]


def end(program):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(program.pid, signal.SIGKILL)


HONEST = {"said": "done: figures", "body": body(1 << 20)}
SEAL_WRITE = 8
# What it does, and what is said of it.
LIES = {
    "silent": ({}, "did not answer"),
    "another magic": ({"head": {0: "TSLABASX"}}, "another form"),
    "a newer version": ({"head": {1: 1}}, "speaks version 4: update"),
    "an older version": ({"head": {1: -1}}, "another form"),
    "another process": ({"head": {3: 1}}, "another form"),
    "nothing in the file": ({"size": 0}, "cut off"),
    "half of a head": ({"size": 39}, "cut off"),
    "sealed": ({"seals": SEAL_WRITE}, "cannot be written"),
    "the lock held": ({"held": 1}, "another command|did not answer"),
    "a body of a terabyte": (HONEST | {"length": 1 << 40}, "are read at most"),
    "a body too short": (HONEST | {"length": 100}, "no JSON"),
    "no body": ({"said": "done: figures"}, "no JSON"),
    "garbage": ({"said": "done: ", "body": "\0\xff" * 50}, "no JSON"),
    "much nesting": ({"said": "done: ", "body": "[" * 100000}, "no JSON"),
    "a list": ({"said": "done: ", "body": "[]"}, "another form"),
    "a newer form": ({"said": "done: ", "body": body().replace('"version": 2', '"version": 3')}, "version 3: update"),
    "a number too large": ({"said": "done: ", "body": body(1 << 64)}, "lack"),
    "a number of many digits": ({"said": "done: ", "body": '{"version":' + "9" * 100000 + "}"}, "no JSON"),
    "a figure that lacks": ({"said": "done: ", "body": body().replace('"retained"', '"regained"')}, "lack retained"),
    "too many rows": ({"said": "done: ", "body": body(labels=["x"] * 200)}, "another form"),
    "refuses": ({"said": "refused: \x1b[2J"}, r"\\x1b\[2J"),
    "refuses without a word": ({"said": "refused"}, "does not say why"),
    "no answer": ({"said": "\x1b[2J"}, "another form"),
    "cuts its file": (HONEST | {"cuts": 1, "rests": 0.001}, "cut off|no JSON|did not answer"),
}
