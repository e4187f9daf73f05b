"""Work: redis-server under redis-benchmark. The client always runs on the system's malloc."""

import csv
import io
import shutil
import socket
import tempfile
import time
from pathlib import Path

from tslab_lab.base import processes

START_SECONDS = 20
KEYSPACE = 50000
CANARIES = 500  # keys with known contents, written before the load and read back after it

# One line per call of redis-benchmark: the size of the values, and the tests.
LOAD = ((128, "set,get,incr,lpush,rpop,sadd,hset,zadd"),)

SERVER_OPTIONS = (
    ("port", "0"),
    ("save", ""),
    ("appendonly", "no"),
    ("io-threads", "1"),
    ("daemonize", "no"),
    ("activedefrag", "no"),
    ("jemalloc-bg-thread", "no"),
    ("loglevel", "warning"),
    ("crash-log-enabled", "no"),  # its pages would hide what the allocator said last
)


def requests_per_second(text):
    """The figures of one `redis-benchmark --csv`, by test."""
    rows = list(csv.DictReader(io.StringIO(text)))
    try:
        found = {row["test"]: float(row["rps"]) for row in rows}
    except (KeyError, TypeError, ValueError):
        found = {}
    if not found or min(found.values()) <= 0:
        raise processes.Failure(f"redis-benchmark gave no figures to read:\n{text.strip()}")
    return found


class Connection:
    """As much of the protocol as is needed to ask a few questions."""

    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(processes.TIMEOUT_SECONDS)
        try:
            self._socket.connect(path)
        except OSError:
            self._socket.close()
            raise
        self._file = self._socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()
        self._socket.close()

    def ask(self, *words):
        parts = [b"*%d\r\n" % len(words)]
        parts += [b"$%d\r\n%s\r\n" % (len(word), word) for word in (str(word).encode() for word in words)]
        self._socket.sendall(b"".join(parts))
        line = self._file.readline().rstrip(b"\r\n").decode()
        if line.startswith("$") and line != "$-1":
            return self._file.read(int(line[1:]) + 2)[:-2].decode()
        if line[:1] in "+:" and line:
            return line[1:]
        raise processes.Failure(f"redis-server answered '{line}' to {words[0]}.")


def find(name):
    path = shutil.which(name)
    if path is None:
        raise processes.Failure(f"{name} is not installed. Run `make setup` to install what the demo needs.")
    return path


def canary(number):
    return f"{number}:" + "x" * (number * 7 % 2000)


class Work:
    title, unit = "redis-server", "requests/s"

    def __init__(self, quick):
        self._server = find("redis-server")
        self._client = find("redis-benchmark")
        self._requests = 10000 if quick else 100000
        self.probe = [self._server, "--version"]

    def run(self, env, who):
        # The kernel allows 107 bytes for the name of a socket.
        parent = tempfile.gettempdir()
        with tempfile.TemporaryDirectory(prefix="tslab-", dir=parent if len(parent) < 80 else "/tmp") as directory:
            return self._run_in(Path(directory), env, who)

    def _run_in(self, directory, env, who):
        path = str(directory / "socket")
        argv = [self._server, "--unixsocket", path, "--dir", str(directory)]
        for name, value in SERVER_OPTIONS:
            argv += ["--" + name, value]
        log = directory / "log"
        with open(log, "wb") as out, processes.started(argv, env, out, out) as server:
            try:
                with self._connect(path, server) as connection:
                    return self._measure(connection, path, server)
            except (OSError, processes.Failure, ValueError) as error:
                time.sleep(0.2)  # a server that dies may still be on its way out
                code = server.poll()
                reason = error if code is None else f"it {processes.how_it_ended(code)}"
                raise processes.Failure(f"{who}: {reason}. The server's last words:\n{processes.tail(log)}") from None

    @staticmethod
    def _connect(path, server):
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                return Connection(path)
            except OSError:
                if server.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def _measure(self, connection, path, server):
        for number in range(CANARIES):
            connection.ask("SET", f"canary:{number}", canary(number))
        rates = {}
        for size, tests in LOAD:
            argv = [self._client, "-s", path, "--csv", "-P", "16", "-c", "20", "-r", KEYSPACE]
            argv += ["-n", self._requests, "-d", size, "-t", tests]
            text = processes.run(argv, processes.environment(), "redis-benchmark")
            rates |= {f"{test} {size}": rate for test, rate in requests_per_second(text).items()}
        for number in range(CANARIES):
            if connection.ask("GET", f"canary:{number}") != canary(number):
                raise processes.Failure(f"the contents of key canary:{number} were damaged")
        connection.ask("FLUSHALL", "SYNC")
        if connection.ask("DBSIZE") != "0":
            raise processes.Failure("FLUSHALL left keys behind")
        time.sleep(1)
        return {
            "operations": self._requests * len(rates),
            "seconds": sum(self._requests / rate for rate in rates.values()),
            **processes.memory_kib(server.pid),
            **processes.spent_by(server.pid),
            "requests_per_second": rates,
        }

    @staticmethod
    def remark(runs):
        del runs
        return "redis: values of 128 bytes."
