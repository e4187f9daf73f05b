"""A profiler that reads the probes of OpenTelemetry knows what is allocated and what lives.

usage: otel.py LIBRARY
"""

import os
import re
import subprocess
import sys

SKIPPED = 77
PERIOD = 48 << 10  # so that there are fewer samples than bpftrace keeps keys
SMALL, LARGE = (1000, 1024, 100000), (400000, 401408, 200)  # asked for, what an object has, and how many
# Half of the objects die. Objects in chunks of epochs are not told.
PROGRAM = f"""
import ctypes, sys
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
libc.realloc.restype, libc.realloc.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t]
print("ready", flush=True)
sys.stdin.readline()
for size, _, count in {SMALL, LARGE}:
    kept = [0] * count
    for i in range(count):
        kept[i] = libc.malloc(size)
    for p in kept[::2]:
        libc.free(p)
print("done", flush=True)
sys.stdin.readline()
"""
PROFILER = """
usdt:LIBRARY:otel_memory:alloc { @allocated += arg2; @sizes[arg1]++; @live[arg0] = arg2; @in_use += arg2; @allocs++ }
usdt:LIBRARY:otel_memory:free /@live[arg0]/ { @in_use -= @live[arg0]; delete(@live[arg0]); @frees++ }
BEGIN { printf("begins\\n") }
END { clear(@live) }
"""


def main():
    library = sys.argv[1]
    try:
        done = subprocess.run(["bpftrace", "-e", "BEGIN { exit(); }"], capture_output=True, timeout=60)
        can_trace = os.geteuid() == 0 and done.returncode == 0
    except FileNotFoundError:
        can_trace = False
    if not can_trace:
        print("no tracer is let in here")
        sys.exit(SKIPPED)
    environment = os.environ | {"LD_PRELOAD": library, "TSLAB_PROFILE": str(PERIOD)}
    with subprocess.Popen(["/usr/bin/python3", "-c", PROGRAM], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as program:  # fmt: skip
        assert program.stdout.readline() == "ready\n"
        script = PROFILER.replace("LIBRARY", library)
        with subprocess.Popen(["bpftrace", "-p", str(program.pid), "-e", script], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True) as profiler:  # fmt: skip
            for line in profiler.stdout:
                if line == "begins\n":
                    break
            program.stdin.write("go\n")
            program.stdin.flush()
            assert program.stdout.readline() == "done\n"
            profiler.terminate()
            said = profiler.stdout.read()
        program.kill()
    found = {name: int(number) for name, number in re.findall(r"^@(\w+): (\d+)$", said, re.M)}
    sizes = {int(size): int(count) for size, count in re.findall(r"^@sizes\[(\d+)\]: (\d+)$", said, re.M)}
    whole = sum(size * count for _, size, count in (SMALL, LARGE))
    print(found, sizes, whole)
    for name, wanted in (("allocated", whole), ("in_use", whole / 2)):
        assert 0.9 * wanted <= found[name] <= 1.1 * wanted, (name, wanted, said)
    assert 2 * SMALL[1] * SMALL[2] / PERIOD > sizes[SMALL[1]] > SMALL[1] * SMALL[2] / PERIOD / 2, sizes
    assert LARGE[2] - 4 <= sizes[LARGE[1]] <= LARGE[2] + 4 and found["frees"] > found["allocs"] / 3, sizes  # nearly each is sampled


main()
