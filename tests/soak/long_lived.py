"""Real programs that live through the whole soak on the drop-in, and whose answers are checked: a redis server and a Python
process. Both do the same work in every round, so their RSS is to be the same after it."""

import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

PATIENCE = 120
PYTHON = "/usr/bin/python3"


class Broken(Exception):
    """What went wrong, in a sentence."""


def resident_kib(pid):
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
        if line.startswith("Rss:"):
            return int(line.split()[1])
    raise Broken(f"process {pid} has no RSS")


class OnTheDropIn:
    """A process on the library, whose stderr is kept."""

    def __init__(self, name, command, library, folder, **options):
        self.name, self.log = name, folder / f"{name.replace(' ', '-')}.stderr"
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("TSLAB_", "LD_"))}
        environment |= {"LD_PRELOAD": str(library), "LC_ALL": "C.UTF-8", "PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}
        with self.log.open("wb") as stderr:
            self.process = subprocess.Popen(command, cwd=folder, env=environment, stderr=stderr, **options)

    def resident_kib(self):
        if Path(f"/proc/{self.process.pid}/maps").read_text(encoding="utf-8").find("libtslab-malloc") < 0:
            raise Broken(f"{self.name} runs without the library")
        return resident_kib(self.process.pid)

    def end(self):
        code = self.process.wait(timeout=PATIENCE)
        said = self.log.read_text(encoding="utf-8", errors="replace")
        if code != 0 or re.search(r"^tslab:", said, re.MULTILINE):
            raise Broken(f"{self.name} ended with {code}: {said[-2000:]}")

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Redis(OnTheDropIn):
    """Keys of every kind are written, read again and compared, saved by a forked child, and dropped."""

    KEYS, AT_ONCE = 6000, 100

    def __init__(self, library, folder):
        server = shutil.which("redis-server")
        if server is None:
            raise Broken("redis-server is not installed: it is in the package redis-server")
        self.path = str(folder / "redis.socket")
        super().__init__("redis server", [server, "--port", "0", "--unixsocket", self.path, "--dir", str(folder), "--save", "",
                                   "--appendonly", "no", "--loglevel", "warning"], library, folder,
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self.socket.connect(self.path)
                break
            except OSError as error:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise Broken(f"redis does not answer: {error}") from error
                time.sleep(0.05)
        self.answers = self.socket.makefile("rb")

    def send(self, *commands):
        def encoded(words):
            parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
            return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
        self.socket.sendall(b"".join(encoded(command) for command in commands))
        return [self.read() for _ in commands]

    def read(self):
        line = self.answers.readline().rstrip(b"\r\n")
        kind, rest = line[:1], line[1:]
        if kind == b"$":
            return None if rest == b"-1" else self.answers.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self.read() for _ in range(int(rest))]
        if kind == b":":
            return int(rest)
        if kind == b"+":
            return rest
        raise Broken(f"redis says {line!r}")

    @staticmethod
    def value(key):
        seed = hashlib.sha256(b"%d" % key).digest()
        return (seed * (key % 900 // 32 + 1))[:key % 900]

    def round(self, number):
        for at in range(0, self.KEYS, self.AT_ONCE):
            keys = range(at, at + self.AT_ONCE)
            self.send(*(("SET", f"key:{key}", self.value(key)) for key in keys))
            self.send(*(("HSET", f"hash:{key % 50}", f"field:{key}", self.value(key)) for key in keys))
            self.send(*(("RPUSH", f"list:{key % 20}", self.value(key)) for key in keys))
        if number % 4 == 1:
            self.send(("BGSAVE",))
        for at in range(0, self.KEYS, self.AT_ONCE):
            keys = range(at, at + self.AT_ONCE)
            wanted = [self.value(key) for key in keys]
            if (self.send(("MGET", *(f"key:{key}" for key in keys)))[0] != wanted
                    or self.send(*(("HGET", f"hash:{key % 50}", f"field:{key}") for key in keys)) != wanted):
                raise Broken("redis gave back other values than it was given")
        for lane in range(20):
            wanted = [self.value(key) for key in range(lane, self.KEYS, 20)]
            if self.send(("LRANGE", f"list:{lane}", 0, -1))[0] != wanted:
                raise Broken("a list of redis has other elements than it was given")
        while b"rdb_bgsave_in_progress:1" in self.send(("INFO", "persistence"))[0]:
            time.sleep(0.05)
        if b"rdb_last_bgsave_status:ok" not in self.send(("INFO", "persistence"))[0]:
            raise Broken("the forked child of redis did not save")
        self.send(("FLUSHALL", "SYNC"))

    def end(self):
        self.socket.close()
        self.process.send_signal(signal.SIGTERM)
        super().end()


# Round after round of the same work; each prints a digest of what came of it.
WORK = r'''
import hashlib, json, re, sqlite3, sys, threading

def graph():
    nodes = [{"name": f"node {i}", "edges": [], "text": "x" * (i % 500)} for i in range(4000)]
    for i, node in enumerate(nodes):
        node["edges"] = [nodes[(i * k + 7) % len(nodes)]["name"] for k in (3, 5, 11)]
    return json.loads(json.dumps(nodes))

def tables():
    base = sqlite3.connect(":memory:")
    base.execute("create table t (a integer primary key, b text)")
    base.executemany("insert into t values (?, ?)", ((i, "v%d" % (i * i)) for i in range(6000)))
    base.execute("delete from t where a % 3 = 0")
    rows = base.execute("select a, b from t order by b").fetchall()
    base.close()
    return rows

def words(found, lane):
    found[lane] = len(re.findall(r"\b\w*7\w*\b", " ".join(str(i * lane) for i in range(20000))))

for line in sys.stdin:
    found = {}
    threads = [threading.Thread(target=words, args=(found, lane)) for lane in range(1, 5)]
    for thread in threads:
        thread.start()
    made = [graph(), tables()]
    for thread in threads:
        thread.join()
    print(hashlib.sha256(json.dumps([made, sorted(found.items())]).encode()).hexdigest(), flush=True)
    del made, found, threads
'''


class Python(OnTheDropIn):
    """Graphs of objects, JSON, sqlite in memory, regular expressions on threads; the same digest as on the system's malloc."""

    def __init__(self, library, folder):
        script = folder / "work.py"
        script.write_text(WORK, encoding="utf-8")
        plain = subprocess.run([PYTHON, "-B", str(script)], input="once\n", capture_output=True, text=True, check=True)
        self.wanted = plain.stdout
        super().__init__("python process", [PYTHON, "-B", str(script)], library, folder, stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, text=True)

    def round(self, number):
        self.process.stdin.write(f"{number}\n")
        self.process.stdin.flush()
        digest = self.process.stdout.readline()
        if digest != self.wanted:
            raise Broken(f"python came to {digest!r}, not to {self.wanted!r}")

    def end(self):
        self.process.stdin.close()
        super().end()
