"""A Python job that builds and drops object graphs, generation after generation.

It is meant to be run with PYTHONMALLOC=malloc, so that every object goes through malloc. Each generation builds the
records of an imaginary order book (classes, dicts, lists, strings, references back and forth), keeps one record in ten
for later generations, and drops the rest. At the end everything is dropped; after a second of rest one line of JSON
says what was done, how fast, and how much memory the process used.

    PYTHONMALLOC=malloc objects_job.py [generations] [records per generation]
"""

import gc
import json
import random
import sys
import time
import zlib

SURVIVOR_GENERATIONS = 4


class Item:
    __slots__ = ("name", "price", "order")

    def __init__(self, name, price, order):
        self.name = name
        self.price = price
        self.order = order


class Order:
    def __init__(self, number, rng):
        self.number = number
        self.note = "order %d " % number + "x" * rng.randrange(200)
        self.items = [Item("item-%d-%d" % (number, i), rng.random(), self) for i in range(rng.randrange(1, 6))]
        self.fields = {"customer": "customer-%d" % (number % 997), "weight": rng.random() * 100}
        self.history = []

    def check(self):
        return self.note.startswith("order %d " % self.number) and all(item.order is self for item in self.items)


def generation(first_number, count, rng, old):
    """Builds `count` orders that refer to each other and to old ones, works on them, and returns the survivors."""
    orders = {}
    for number in range(first_number, first_number + count):
        order = Order(number, rng)
        orders[number] = order
        order.history.append(orders[rng.randrange(first_number, number + 1)])
        if old:
            order.history.append(old[rng.randrange(len(old))])
    names = sorted(item.name for order in orders.values() for item in order.items)
    text = ",".join(names)
    if len(text.split(",")) != len(names) or not all(order.check() for order in orders.values()):
        raise SystemExit("objects_job: an object was damaged while it was alive")
    survivors = [order for order in orders.values() if order.number % 10 == 0]
    for order in survivors:
        order.history.clear()  # else the survivors would keep everything alive
    return survivors


def proc_kib(path, key):
    with open(path, "rb") as file:
        for line in file:
            if line.startswith(key):
                return int(line.split()[1])
    raise SystemExit(f"objects_job: {path} has no line {key.decode()}")


def main(generations, count):
    rng = random.Random(1)
    kept, crc = [], 0
    start = time.monotonic()
    for turn in range(generations):
        old = [order for survivors in kept for order in survivors]
        kept.append(generation(turn * count, count, rng, old))
        crc = zlib.crc32("".join(order.note for order in kept[-1]).encode(), crc)
        del old
        if len(kept) > SURVIVOR_GENERATIONS:
            del kept[0]
    kept.clear()
    gc.collect()
    seconds = time.monotonic() - start

    time.sleep(1)
    result = {
        "operations": generations * count,
        "seconds": seconds,
        "hash": f"{crc:08x}",
        "peak_kib": proc_kib("/proc/self/status", b"VmHWM:"),
        # smaps_rollup counts page by page, where the VmRSS of status may lag by many pages per processor.
        "rss_kib": proc_kib("/proc/self/smaps_rollup", b"Rss:"),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:]]
    main(*(numbers + [12, 10000][len(numbers) :]))
