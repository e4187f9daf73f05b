"""Work for Python: object graphs, the heavier modules of the standard library, threads and forked processes."""

import collections
import decimal
import gc
import hashlib
import io
import itertools
import json
import multiprocessing
import os
import queue
import re
import sqlite3
import subprocess
import threading
import xml.etree.ElementTree as tree
import zlib


def digest(value):
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


def graphs(seed):
    """Cycles, which only the collector frees, and deep nesting."""
    nodes = [{"name": f"node {i}", "links": []} for i in range(4000)]
    for i, node in enumerate(nodes):
        node["links"] += [nodes[(i * 7 + seed) % len(nodes)], nodes[(i * 13) % len(nodes)]]
    total = sum(len(link["name"]) for node in nodes for link in node["links"])
    del nodes, node
    gc.collect()
    deep = ()
    for i in range(5000):
        deep = (i, deep)
    return total


def texts():
    words = [f"{i * 7919 % 100003:x}" for i in range(20000)]
    counted = collections.Counter(word[:2] for word in words)
    document = json.dumps({"words": words, "counted": counted, "nested": [[i] * (i % 50) for i in range(1000)]})
    again = json.loads(document)
    packed = zlib.compress(document.encode() * 3, 6)
    found = re.findall(r"([0-9a-f])\1+", " ".join(words))
    root = tree.Element("root")
    for i in range(2000):
        tree.SubElement(root, "item", number=str(i)).text = words[i]
    parsed = tree.fromstring(tree.tostring(root))
    decimal.getcontext().prec = 200
    root_of_two = decimal.Decimal(2).sqrt()
    text = io.StringIO()
    for i in range(20000):
        text.write(str(i))
    return digest((again == json.loads(document), len(packed), zlib.crc32(zlib.decompress(packed)), len(found), len(parsed),
                   str(root_of_two), zlib.crc32(text.getvalue().encode()), sorted(counted.items())[:5], 3**5000 % 10**50))


def database():
    with sqlite3.connect(":memory:") as connection:
        connection.execute("create table t (a integer primary key, b text, c real)")
        connection.executemany("insert into t values (?, ?, ?)", ((i, "text " * (i % 30), i / 7) for i in range(20000)))
        connection.execute("create index i on t (b, c)")
        rows = connection.execute("select length(b), count(*), sum(a) from t group by 1 order by 1").fetchall()
        return digest((rows, connection.execute("pragma integrity_check").fetchall()))


def threads():
    """A chain of queues: what one thread makes, another lets go."""
    first, second, results = queue.Queue(50), queue.Queue(50), []

    def make():
        for i in range(3000):
            first.put([str(i)] * (i % 100))
        first.put(None)

    def change():
        for item in iter(first.get, None):
            second.put("".join(item))
        second.put(None)

    def take():
        results.append(sum(len(item) for item in iter(second.get, None)))

    workers = [threading.Thread(target=target) for target in (make, change, take)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return results


def forked(number):
    return number, graphs(number), len(list(itertools.permutations(range(6))))


def processes():
    """Children forked while a thread of the parent is busy with memory."""
    stop = threading.Event()

    def churn():
        while not stop.is_set():
            [bytearray(i * 10) for i in range(500)]  # pylint: disable=expression-not-assigned

    busy = threading.Thread(target=churn)
    busy.start()
    with multiprocessing.get_context("fork").Pool(3) as pool:
        results = pool.map(forked, range(12))
    started = [subprocess.run(["/bin/echo", str(i)], capture_output=True, text=True, check=True).stdout for i in range(5)]
    child = os.fork()
    if child == 0:
        os._exit(0 if graphs(1) else 1)
    status = os.waitpid(child, 0)[1]
    stop.set()
    busy.join()
    return digest(results), started, status


print([graphs(seed) for seed in range(3)])
print(texts())
print(database())
print(threads())
print(processes())
print("done")
