"""Work: redis-server under redis-benchmark. The client always runs on the system's malloc."""

import contextlib
import csv
import io
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Self

from tslab_lab.base import processes
from tslab_lab.base.shapes import Environment, Figures

KEYSPACE = 50000
CANARIES = 500  # keys with known contents, written before the load and read back after it

VALUE_BYTES, TESTS = 128, "set,get,incr,lpush,rpop,sadd,hset,zadd"
# The pages of its crash log would hide what the allocator said last.
SERVER_OPTIONS = {"port": "0", "save": "", "appendonly": "no", "io-threads": "1", "daemonize": "no", "activedefrag": "no",
                  "jemalloc-bg-thread": "no", "loglevel": "warning", "crash-log-enabled": "no"}  # fmt: skip


def requests_per_second(text: str) -> dict[str, float]:
    """The figures of one `redis-benchmark --csv`, by test."""
    rows = list(csv.DictReader(io.StringIO(text)))
    try:
        found = {row["test"]: float(row["rps"]) for row in rows}
    except (KeyError, TypeError, ValueError):
        found = {}
    if not found or min(found.values()) <= 0:
        raise processes.Failure(f"redis-benchmark gave no figures to read:\n{text.strip()}")
    return found


# Of a server that saves while it is written to: it takes so long for each key that all writes come meanwhile.
SAVED_KEYS, SAVED_BYTES, SAVE_DELAY_US, SAVE_SECONDS = KEYSPACE, 512, 12, 60
WRITTEN_SHARE = 0.1  # of the keys


class Connection:
    """As much of the protocol as is needed to ask a few questions."""

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(processes.TIMEOUT_SECONDS)
        try:
            self._socket.connect(path)
        except OSError:
            self._socket.close()
            raise
        self._file = self._socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._socket.close()

    def set_all(self, keys: Collection[bytes], value: bytes) -> None:
        """At once."""
        head, tail = b"*3\r\n$3\r\nSET\r\n", b"\r\n$%d\r\n%s\r\n" % (len(value), value)
        self._socket.sendall(b"".join(b"%b$%d\r\n%b%b" % (head, len(key), key, tail) for key in keys))
        good = b"+OK\r\n" * len(keys)
        if self._file.read(len(good)) != good:
            raise processes.Failure("redis-server refused to set a key.")

    def ask(self, *words: object) -> str:
        parts = [b"*%d\r\n" % len(words)]
        parts += [b"$%d\r\n%s\r\n" % (len(word), word) for word in (str(word).encode() for word in words)]
        self._socket.sendall(b"".join(parts))
        line = self._file.readline().rstrip(b"\r\n").decode()
        if line.startswith("$") and line != "$-1":
            return self._file.read(int(line[1:]) + 2)[:-2].decode(errors="replace")
        if line[:1] in "+:" and line:
            return line[1:]
        raise processes.Failure(f"redis-server answered '{line}' to {words[0]}.")

    def flush(self) -> None:
        self.ask("FLUSHALL", "SYNC")
        if self.ask("DBSIZE") != "0":
            raise processes.Failure("FLUSHALL left keys behind")


def find(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise processes.Failure(f"{name} is not installed. Run `make setup` to install what the demo needs.")
    return path


def canary(number: int) -> str:
    return f"{number}:" + "x" * (number * 7 % 2000)


@contextlib.contextmanager
def serving(env: Environment, who: str) -> Iterator[tuple[subprocess.Popen[bytes], Connection, str]]:
    """A server of one's own: its process, a connection to it, and its socket."""
    # The kernel allows 107 bytes for the name of a socket.
    parent = tempfile.gettempdir()
    with tempfile.TemporaryDirectory(prefix="tslab-", dir=parent if len(parent) < 80 else "/tmp") as name:
        path, log = f"{name}/socket", Path(name) / "log"
        argv: list[str] = [find("redis-server"), "--unixsocket", path, "--dir", name]
        for option, value in SERVER_OPTIONS.items():
            argv += ["--" + option, value]
        with processes.serving(argv, env, who, log) as server:
            with processes.answered(lambda: Connection(path), server) as connection:
                yield server, connection, path


class Work:
    def __init__(self, quick: bool) -> None:
        self._client = find("redis-benchmark")
        self._quick = quick
        self._requests = 10000 if quick else 100000

    def run(self, env: Environment, who: str) -> Figures:
        with serving(env, who) as (server, connection, path):
            return self._measure(connection, path, server)

    def _measure(self, connection: Connection, path: str, server: subprocess.Popen[bytes]) -> Figures:
        for number in range(CANARIES):
            connection.ask("SET", f"canary:{number}", canary(number))
        done = self._load(connection, path)
        for number in range(CANARIES):
            if connection.ask("GET", f"canary:{number}") != canary(number):
                raise processes.Failure(f"the contents of key canary:{number} were damaged")
        connection.flush()
        time.sleep(1)
        return done | processes.memory_kib(server.pid) | processes.spent_by(server.pid)

    def _load(self, connection: Connection, path: str) -> Figures:
        """What it did, as operations and seconds."""
        del connection
        rates = self._benchmark(path, VALUE_BYTES, TESTS, self._requests)
        return {
            "operations": self._requests * len(rates),
            "seconds": sum(self._requests / rate for rate in rates.values()),
            "requests_per_second": rates,
        }

    def _benchmark(self, path: str, size: int, tests: str, requests: int) -> dict[str, float]:
        argv = [self._client, "-s", path, "--csv", "-P", "16", "-c", "20", "-r", KEYSPACE]
        argv += ["-n", requests, "-d", size, "-t", tests]
        return requests_per_second(processes.run(argv, processes.environment(), "redis-benchmark"))


class SavingWork(Work):
    """The server's child writes what there is while the parent goes on; each page that either changes is there twice. redis itself
    tells how much that was: the child's private dirty memory at its end."""

    def _load(self, connection: Connection, path: str) -> Figures:
        written = int(SAVED_KEYS * WRITTEN_SHARE)
        rates = {"fill": self._set(path, 2 * SAVED_KEYS)}
        connection.ask("CONFIG", "SET", "rdb-key-save-delay", SAVE_DELAY_US)
        connection.ask("BGSAVE")
        rates["write"] = self._set(path, written)
        deadline = time.monotonic() + SAVE_SECONDS
        while told(connection, "rdb_bgsave_in_progress") and time.monotonic() < deadline:
            time.sleep(0.05)
        copied = told(connection, "rdb_last_cow_size")
        if told(connection, "rdb_saves") != 1 or not copied:
            raise processes.Failure("it did not save what it has")
        return {
            "operations": 2 * SAVED_KEYS + written,
            "seconds": 2 * SAVED_KEYS / rates["fill"] + written / rates["write"],
            "copied_kib": copied / 1024,
        }

    def _set(self, path: str, requests: int) -> float:
        return self._benchmark(path, SAVED_BYTES, "set", requests)["SET"]


def told(connection: Connection, name: str) -> int:
    """A number that the server tells of its saving."""
    text = connection.ask("INFO", "persistence")
    found = re.search(rf"^{name}:(\d+)", text, re.MULTILINE)
    if not found:
        raise processes.Failure(f"redis-server does not tell {name}")
    return int(found[1])
