"""190 MiB of buffers of malloc's are replaced twelve times by larger ones (4 KB, a quarter more each time). Two in a hundred of each
generation stay. Then half of all is freed. A second thread waits, as in a server."""

import ctypes
import random
import threading
import time

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
GOAL, GENERATIONS = 200_000_000, 12


def rss():
    lines = open("/proc/self/smaps_rollup", encoding="ascii").read().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("Rss:"))


def filled(size, goal):
    buffers = []
    while goal > 0:
        length = random.randint(size // 2, size * 3 // 2)
        buffers.append((libc.malloc(length), length))
        ctypes.memset(*buffers[-1][:1], 1, length)
        goal -= length
    return buffers


threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
random.seed(1)
size, live = 4000, filled(4000, GOAL)
for _ in range(GENERATIONS):
    size = size * 5 // 4
    random.shuffle(live)
    stay = [pair for pair in live if random.random() < 0.02]
    for pair in set(live) - set(stay):
        libc.free(pair[0])
    live = stay + filled(size, GOAL - sum(length for _, length in stay))
full = rss()
for pair in live:
    if random.random() < 0.5:
        libc.free(pair[0])
time.sleep(2.5)
print(f"full {full} MiB, after {rss()} MiB")
