"""tslab-timeline makes a page of a running program: its epochs as slices, from open to close, and draining.

usage: timeline.py SOURCES LIBRARY
"""

import json
import os
import pathlib
import subprocess
import sys

SKIPPED = 77
PROGRAM = """
import ctypes, time
library = ctypes.CDLL(None)
library.tslab_epoch_malloc.restype = ctypes.c_void_p
class Epoch(ctypes.Structure): _fields_ = [("id", ctypes.c_uint64)]
library.tslab_epoch_open.restype = Epoch
print("ready", flush=True)
while True:
    epoch = library.tslab_epoch_open(None)
    kept = library.tslab_epoch_malloc(epoch, ctypes.c_size_t(100))
    library.tslab_epoch_close(epoch, 0, None)
    library.tslab_free(ctypes.c_void_p(kept))
    time.sleep(0.01)
"""


def can_trace():
    """Whether the kernel lets a tracer in, and bpftrace is there."""
    try:
        done = subprocess.run(["bpftrace", "-e", "BEGIN { exit(); }"], capture_output=True, timeout=60)
    except FileNotFoundError:
        return False
    return os.geteuid() == 0 and done.returncode == 0


def main():
    sources, library = pathlib.Path(sys.argv[1]), sys.argv[2]
    script = sources / "tools/tslab-timeline"
    for words in ([], ["x"], ["1", "x"]):
        done = subprocess.run([script, *words], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (2, "") and done.stderr.startswith("usage: tslab-timeline PID"), done
    done = subprocess.run([script, str(os.getpid())], capture_output=True, text=True)
    assert done.returncode == 1 and "does not run on tslab" in done.stderr, done
    if not can_trace():
        print("no tracer is let in here")
        sys.exit(SKIPPED)
    environment = dict(os.environ, LD_PRELOAD=library)
    with subprocess.Popen(["/usr/bin/python3", "-c", PROGRAM], env=environment, stdout=subprocess.PIPE) as program:
        try:
            assert program.stdout.readline() == b"ready\n"
            done = subprocess.run([script, str(program.pid), "3"], capture_output=True, text=True, timeout=120)
        finally:
            program.kill()
    events = json.loads(done.stdout)["traceEvents"]
    found = {(event["ph"], event["name"].split()[0]) for event in events}
    wanted = {("b", "epoch"), ("e", "epoch"), ("b", "draining"), ("e", "draining"), ("C", "all"), ("M", "process_name")}
    assert wanted <= found, (found, done.stderr)
    begun = {event["id"] for event in events if event["ph"] == "b" and event["cat"] == "epoch"}
    assert len(begun) > 1 and all(event["pid"] == program.pid for event in events), events


main()
