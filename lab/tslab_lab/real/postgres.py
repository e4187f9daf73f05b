"""Work: a PostgreSQL server of its own under pgbench: many small queries, and some that sort, aggregate and build JSON. Its
processes are forked from one, so its memory is the PSS of all."""

import contextlib
import os
import pwd
import re
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from pathlib import Path

from tslab_lab.base import processes
from tslab_lab.real import paced

START_SECONDS, STOP_SECONDS = 30, 20
USER = "nobody"  # PostgreSQL refuses to run as root
CLIENTS = 4
SCALE = 2  # 100,000 rows each
ROWS = 100_000 * SCALE
LOOK_SECONDS = 0.1
SETTINGS = {
    "listen_addresses": "", "shared_buffers": "32MB", "fsync": "off", "autovacuum": "off", "jit": "off", "huge_pages": "off",
    "max_connections": "20", "logging_collector": "off", "log_min_messages": "warning", "max_wal_size": "512MB",
}  # fmt: skip
QUERIES = r"""
\set from random(1, 190000)
SELECT abalance FROM pgbench_accounts WHERE aid = :from;
SELECT abalance FROM pgbench_accounts WHERE aid = :from + 1;
SELECT abalance FROM pgbench_accounts WHERE aid = :from + 2;
SELECT aid % 100 AS part, count(*), string_agg(aid::text, ',' ORDER BY aid DESC)
    FROM pgbench_accounts WHERE aid BETWEEN :from AND :from + 1000 GROUP BY part;
SELECT length(jsonb_object_agg(aid, jsonb_build_array(bid, abalance, filler))::text)
    FROM pgbench_accounts WHERE aid BETWEEN :from AND :from + 500;
"""
_VERSION = re.compile(r"(\d+)")


def folder():
    """Of the server's programs: Debian keeps them out of the PATH."""
    every = Path("/usr/lib/postgresql").glob("*/bin")
    versions = [path for path in every if all((path / name).exists() for name in ("pgbench", "initdb"))]
    if versions:
        return max(versions, key=lambda path: int(_VERSION.search(str(path))[1]))
    found = shutil.which("initdb")
    if found is None or not (Path(found).resolve().parent / "pgbench").exists():
        raise processes.Failure("postgresql is not installed. Run `make setup` to install what the demo needs.")
    return Path(found).resolve().parent


def transactions_per_second(text):
    """How many there were, and how many a second."""
    found = re.search(r"^tps = ([\d.]+)", text, re.MULTILINE)
    count = re.search(r"^number of transactions actually processed: (\d+)", text, re.MULTILINE)
    if not found or not count or float(found[1]) <= 0:
        raise processes.Failure(f"pgbench gave no figures to read:\n{text.strip()}")
    return int(count[1]), float(found[1])


def _open_to_all(path):
    """Whether any user may go through these folders."""
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in (path, *path.parents))


def _parent():
    """Where the folder of a run may be: the kernel allows 107 bytes for the name of a socket, and another user goes there."""
    wanted = Path(tempfile.gettempdir())
    fits = len(str(wanted)) < 80 and (os.geteuid() != 0 or _open_to_all(wanted))
    return wanted if fits else Path("/tmp")


class Work:
    title, unit = "PostgreSQL", "transactions/s"

    def __init__(self, quick, paced_load=False):
        """`paced_load`: at a fixed rate, with the times of all transactions."""
        self._folder = folder()
        count = 100 if quick else 400  # of each client
        self._words = paced.postgres_words(quick) if paced_load else ["-t", str(count)]
        self.probe = [str(self._folder / "postgres"), "--version"]

    def run(self, env, who):
        with tempfile.TemporaryDirectory(prefix="tslab-", dir=_parent()) as directory:
            return _Run(self._folder, Path(directory), self._words, who).measure(env)

    @staticmethod
    def remark(runs):
        del runs
        return f"PostgreSQL: {CLIENTS} clients; memory is the PSS of all its processes."


class _Run:
    """One server, from its making to its end."""

    def __init__(self, programs, directory, words, who):
        self._programs, self._directory, self._words, self._who = programs, directory, words, who
        self._options = {"cwd": directory}
        if os.geteuid() == 0:
            user = pwd.getpwnam(USER)
            os.chown(directory, user.pw_uid, user.pw_gid)
            self._options |= {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": ()}

    def measure(self, env):
        plain = processes.environment() | {"LC_ALL": "C", "HOME": str(self._directory), "TZ": "UTC"}
        self._call(["initdb", "-D", "data", "-U", "tslab", "-A", "trust", "-N", "-E", "UTF8", "--no-locale"], plain)
        log = self._directory / "log"
        argv = [str(self._programs / "postgres"), "-D", "data", "-k", str(self._directory)]
        for name, value in SETTINGS.items():
            argv += ["-c", f"{name}={value}"]
        own = plain | self._preloading(env)
        with open(log, "wb") as out, processes.started(argv, own, out, out, **self._options) as server:
            try:
                return self._measure(server, plain)
            except processes.Failure as error:
                code = server.poll()
                reason = error if code is None else f"it {processes.how_it_ended(code)}"
                raise processes.Failure(
                    f"{self._who}: {reason}. The server's last words:\n{processes.tail(log)}"
                ) from None
            finally:
                self._stop(server)

    def _preloading(self, env):
        """The server's user may not be allowed to see the library where it is."""
        copies = []
        for library in filter(None, env.get("LD_PRELOAD", "").split(":")):
            copies.append(library)
            if "/" in library:
                copies[-1] = str(self._directory / Path(library).name)
                shutil.copyfile(library, copies[-1])
                Path(copies[-1]).chmod(0o644)
        return env | ({"LD_PRELOAD": ":".join(copies)} if copies else {})

    def _measure(self, server, plain):
        self._wait(server, plain)
        self._require_preloaded(server)
        self._call(["pgbench", *self._database(), "-i", "-q", "-s", str(SCALE), "--unlogged-tables"], plain)
        (self._directory / "queries").write_text(QUERIES, encoding="ascii")
        words = ["-n", "-M", "prepared", "-c", str(CLIENTS), "-j", "2", *self._words, "-f", "queries"]
        peak, spent = 0, _processor_seconds(server.pid)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            argv = [str(self._programs / "pgbench"), *self._database(), *words]
            deadline = time.monotonic() + processes.TIMEOUT_SECONDS
            with processes.started(argv, plain, out, err, **self._options) as client:
                while client.poll() is None and time.monotonic() < deadline:
                    peak = max(peak, _pss_kib(server.pid))
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        client.wait(LOOK_SECONDS)
                if client.returncode != 0:
                    err.seek(0)
                    raise processes.Failure(f"pgbench failed: {err.read().decode(errors='replace').strip()[-300:]}")
            out.seek(0)
            count, rate = transactions_per_second(out.read().decode())
        query = "SELECT count(*), sum(aid) FROM pgbench_accounts"
        told = self._call(["psql", *self._database(), "-At", "-c", query], plain).strip()
        if told != f"{ROWS}|{ROWS * (ROWS + 1) // 2}":
            raise processes.Failure(f"the table was damaged: {told}")
        time.sleep(1)
        found = {"operations": count, "seconds": count / rate, "peak_kib": peak, "rss_kib": _pss_kib(server.pid)}
        found |= {"processor_seconds": _processor_seconds(server.pid) - spent} | processes.spent_by(server.pid)
        return found | ({"latency": [paced.postgres(self._directory)]} if "-R" in self._words else {})

    def _database(self):
        return ["-h", str(self._directory), "-U", "tslab", "postgres"]

    def _call(self, words, env):
        argv = [str(self._programs / words[0]), *words[1:]]
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            with processes.started(argv, env, out, err, **self._options) as process:
                try:
                    code = process.wait(processes.TIMEOUT_SECONDS)
                except subprocess.TimeoutExpired:
                    raise processes.Failure(f"{words[0]} hung") from None
            if code != 0:
                err.seek(0)
                raise processes.Failure(f"{words[0]} failed: {err.read().decode(errors='replace').strip()[-300:]}")
            out.seek(0)
            return out.read().decode()

    def _wait(self, server, plain):
        """Until it answers."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                self._call(["psql", *self._database(), "-c", "SELECT 1"], plain)
                return
            except processes.Failure:
                if server.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def _require_preloaded(self, server):
        library = next(self._directory.glob("*.so*"), None)
        if library and str(library) not in Path(f"/proc/{server.pid}/maps").read_text():
            raise processes.Failure(f"it runs without {library.name}")

    @staticmethod
    def _stop(server):
        """At once, and in order: a server that is killed leaves a segment of shared memory behind."""
        if server.poll() is None:
            server.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.wait(STOP_SECONDS)


def _processor_seconds(pid):
    """Of a process and of the children that have ended; pgbench's servers end with it."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _pss_kib(pid):
    """Of a process and its children."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    total = 0
    for one in (str(pid), *children.read_text().split()):
        with contextlib.suppress(OSError):  # it has ended
            text = Path(f"/proc/{one}/smaps_rollup").read_text()
            total += int(re.search(r"^Pss: +(\d+)", text, re.MULTILINE)[1]) if text else 0
    return total
