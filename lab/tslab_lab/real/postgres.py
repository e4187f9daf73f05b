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
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tslab_lab.base import processes
from tslab_lab.base.shapes import Environment, Figures
from tslab_lab.real import paced

STOP_SECONDS = 20
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


def folder() -> Path:
    """Of the server's programs: Debian keeps them out of the PATH."""
    every = Path("/usr/lib/postgresql").glob("*/bin")
    versions = [path for path in every if all((path / name).exists() for name in ("pgbench", "initdb"))]
    if versions:
        return max(versions, key=_version)
    found = shutil.which("initdb")
    if found is None or not (Path(found).resolve().parent / "pgbench").exists():
        raise processes.Failure("postgresql is not installed. Run `make setup` to install what the demo needs.")
    return Path(found).resolve().parent


def _version(path: Path) -> int:
    found = _VERSION.search(str(path))
    return int(found[1]) if found else 0


def transactions_per_second(text: str) -> tuple[int, float]:
    """How many there were, and how many a second."""
    found = re.search(r"^tps = ([\d.]+)", text, re.MULTILINE)
    count = re.search(r"^number of transactions actually processed: (\d+)", text, re.MULTILINE)
    if not found or not count or float(found[1]) <= 0:
        raise processes.Failure(f"pgbench gave no figures to read:\n{text.strip()}")
    return int(count[1]), float(found[1])


def _open_to_all(path: Path) -> bool:
    """Whether any user may go through these folders."""
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in (path, *path.parents))


def _parent() -> Path:
    """Where the folder of a run may be: the kernel allows 107 bytes for the name of a socket, and another user goes there."""
    wanted = Path(tempfile.gettempdir())
    fits = len(str(wanted)) < 80 and (os.geteuid() != 0 or _open_to_all(wanted))
    return wanted if fits else Path("/tmp")


@contextlib.contextmanager
def serving(env: Environment, who: str) -> "Iterator[Server]":
    """A server of one's own, with a table: a Server."""
    with tempfile.TemporaryDirectory(prefix="tslab-", dir=_parent()) as directory:
        server = Server(Path(directory), who)
        with server.started(env):
            yield server


def run(env: Environment, who: str, quick: bool, paced_load: bool = False) -> Figures:
    """The figures of one server under pgbench; `paced_load`: at a fixed rate, with the times of all transactions."""
    words = paced.postgres_words(quick) if paced_load else ["-t", "100" if quick else "400"]  # of each client
    with serving(env, who) as server:
        pid, loading = server.process.pid, server.load(words)
        spent = _processor_seconds(pid)
        while True:
            try:
                next(loading)
            except StopIteration as end:
                found: Figures = end.value
                break
            time.sleep(LOOK_SECONDS)
        time.sleep(1)
        found |= {"rss_kib": _pss_kib(pid), "processor_seconds": _processor_seconds(pid) - spent}
        found |= processes.spent_by(pid)
        return found | ({"latency": [paced.postgres(server.directory)]} if paced_load else {})


class Server:
    """One server, from its making to its end."""

    process: subprocess.Popen[bytes]  # once it is started

    def __init__(self, directory: Path, who: str) -> None:
        self._programs, self.directory, self._who = folder(), directory, who
        self._options: dict[str, Any] = {"cwd": directory}
        self._plain = processes.environment() | {"LC_ALL": "C", "HOME": str(directory), "TZ": "UTC"}
        if os.geteuid() == 0:
            user = pwd.getpwnam(USER)
            os.chown(directory, user.pw_uid, user.pw_gid)
            self._options |= {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": ()}

    @contextlib.contextmanager
    def started(self, env: Environment) -> Iterator[None]:
        self._call(["initdb", "-D", "data", "-U", "tslab", "-A", "trust", "-N", "-E", "UTF8", "--no-locale"])
        log = self.directory / "log"
        argv = [str(self._programs / "postgres"), "-D", "data", "-k", str(self.directory)]
        for name, value in SETTINGS.items():
            argv += ["-c", f"{name}={value}"]
        own = self._plain | self._preloading(env)
        with processes.serving(argv, own, self._who, log, _stop, **self._options) as self.process:
            processes.answered(lambda: self._call(["psql", *self._database(), "-c", "SELECT 1"]), self.process)
            self._require_preloaded()
            self._call(["pgbench", *self._database(), "-i", "-q", "-s", str(SCALE), "--unlogged-tables"])
            (self.directory / "queries").write_text(QUERIES, encoding="ascii")
            yield

    def _preloading(self, env: Environment) -> Environment:
        """The server's user may not be allowed to see the library where it is."""
        copies: list[str] = []
        for library in filter(None, env.get("LD_PRELOAD", "").split(":")):
            copies.append(library)
            if "/" in library:
                copies[-1] = str(self.directory / Path(library).name)
                shutil.copyfile(library, copies[-1])
                Path(copies[-1]).chmod(0o644)
        return env | ({"LD_PRELOAD": ":".join(copies)} if copies else {})

    def load(self, words: Iterable[str]) -> Generator[None, None, Figures]:
        """Runs pgbench with these words, which say how much, and yields meanwhile, again and again. Returns the figures."""
        words = ["-n", "-M", "prepared", "-c", str(CLIENTS), "-j", "2", *words, "-f", "queries"]
        peak = 0
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            argv = [str(self._programs / "pgbench"), *self._database(), *words]
            deadline = time.monotonic() + processes.TIMEOUT_SECONDS
            looked = 0.0
            with processes.started(argv, self._plain, out, err, **self._options) as client:
                while client.poll() is None and time.monotonic() < deadline:
                    if time.monotonic() > looked + LOOK_SECONDS:
                        peak, looked = max(peak, _pss_kib(self.process.pid)), time.monotonic()
                    yield
                if client.returncode != 0:
                    err.seek(0)
                    raise processes.Failure(f"pgbench failed: {err.read().decode(errors='replace').strip()[-300:]}")
            out.seek(0)
            count, rate = transactions_per_second(out.read().decode())
        told = self._call(["psql", *self._database(), "-At", "-c", "SELECT count(*), sum(aid) FROM pgbench_accounts"])
        if told.strip() != f"{ROWS}|{ROWS * (ROWS + 1) // 2}":
            raise processes.Failure(f"the table was damaged: {told}")
        return {"operations": count, "seconds": count / rate, "peak_kib": peak}

    def _database(self) -> list[str]:
        return ["-h", str(self.directory), "-U", "tslab", "postgres"]

    def _call(self, words: Sequence[str]) -> str:
        return processes.run([self._programs / words[0], *words[1:]], self._plain, words[0], **self._options)

    def _require_preloaded(self) -> None:
        library = next(self.directory.glob("*.so*"), None)
        if library and str(library) not in Path(f"/proc/{self.process.pid}/maps").read_text():
            raise processes.Failure(f"it runs without {library.name}")


def _stop(server: subprocess.Popen[bytes]) -> None:
    """At once, and in order: a server that is killed leaves a segment of shared memory behind."""
    if server.poll() is None:
        server.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(STOP_SECONDS)


def _processor_seconds(pid: int) -> float:
    """Of a process and of the children that have ended; pgbench's servers end with it."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _pss_kib(pid: int) -> int:
    """Of a process and its children."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    total = 0
    for one in (str(pid), *children.read_text().split()):
        with contextlib.suppress(OSError):  # it has ended
            found = re.search(r"^Pss: +(\d+)", Path(f"/proc/{one}/smaps_rollup").read_text(), re.MULTILINE)
            total += int(found[1]) if found else 0
    return total
