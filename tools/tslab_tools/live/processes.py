"""Processes that have a board (docs/export.md): how they are found, and how their boards are read and watched."""

import contextlib
import fcntl
import os
import re
import struct
import time
from collections.abc import Iterable
from typing import Self

from tslab_tools.failure import Failure
from tslab_tools.live import board

FILE = "/memfd:tslab-export"
_NUMBER_LEAST = 100  # of the descriptor: the library chooses no lower one
_TRIES = 5
PATIENCE = 2.5  # seconds: a library that is watched posts each second, if a thread of it runs
# struct flock: a lock to read. The library sees that somebody holds one, and posts more often. A lock of this kind goes
# with its descriptor, so it ends with us.
_WATCH = struct.pack("hh4xqqi4x", fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
_F_OFD_SETLK = 37
_MAPPED = re.compile(rb"^([0-9a-f]+)-([0-9a-f]+) \S+ 0+ .*/memfd:tslab-export.*", re.MULTILINE)


def now() -> float:
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def inner_pid(pid: int) -> int:
    """Its number in its own name space."""
    found = re.search(rb"^NSpid:.*?(\d+)$", _read(f"/proc/{pid}/status"), re.MULTILINE)
    return int(found[1]) if found else pid


def descriptor(pid: int, name: str = FILE) -> str | None:
    """The path of the descriptor of the board, or of the inbox; None: it has none."""
    folder = f"/proc/{pid}/fd"
    for number in os.listdir(folder):
        if int(number) >= _NUMBER_LEAST:
            try:
                if os.readlink(f"{folder}/{number}").startswith(name):
                    return f"{folder}/{number}"
            except OSError:  # it was just closed
                continue
    return None


class Process:
    """A process with a board. `figures` are the newest that were read, `before` others that are older, for rates."""

    def __init__(self, pid: int) -> None:
        self.pid, self.inner_pid = pid, inner_pid(pid)
        self.figures: board.Figures = None  # type: ignore[assignment]  # whoever is given a process has read it
        self.before: board.Figures | None = None
        self._file: int | None = None
        self._inode: int | None = None
        self._path: str | None = None
        self._line: bytes | None = None  # in its maps, and where in its memory, if its descriptor is closed
        self._mapped: tuple[int, int] | None = None

    def open(self, mapped: bool = False) -> bool:
        """False: it has no board. `mapped`: also look for one whose descriptor is closed."""
        self.close()
        self.figures = self.before = None  # type: ignore[assignment]
        path = descriptor(self.pid)
        if path is None and mapped:
            return self._open_mapped()
        if path is None:
            return False
        self._file, self._path = os.open(path, os.O_RDONLY | os.O_CLOEXEC), path
        self._inode = os.fstat(self._file).st_ino
        self._watch()
        return True

    def _open_mapped(self) -> bool:
        """Root may open the file by its place in memory; others may read the memory if they may trace the process."""
        found = _MAPPED.search(_read(f"/proc/{self.pid}/maps"))
        if found is None:
            return False
        start, end = (int(found[i], 16) for i in (1, 2))
        self._line = found[0]
        try:
            self._file = os.open(f"/proc/{self.pid}/map_files/{start:x}-{end:x}", os.O_RDONLY | os.O_CLOEXEC)
            self._watch()
        except OSError:
            self._file = os.open(f"/proc/{self.pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
            self._mapped = (start, end)
        return True

    def _watch(self) -> None:
        with contextlib.suppress(OSError):  # some sandboxes know no such locks: the figures are older
            fcntl.fcntl(self._opened(), _F_OFD_SETLK, _WATCH)

    def _opened(self) -> int:
        assert self._file is not None
        return self._file

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
        self._file = self._mapped = self._path = None

    def _bytes(self) -> bytes:
        if self._mapped:
            return os.pread(self._opened(), self._mapped[1] - self._mapped[0], self._mapped[0])
        return os.pread(self._opened(), os.fstat(self._opened()).st_size, 0)

    def _is_the_one(self) -> bool:
        """Whether the descriptor is still the same board: the program may have closed it, or be another one now."""
        if self._path is None:
            return self._file is not None and self._line is not None and self._line in _read(f"/proc/{self.pid}/maps")
        try:
            return os.stat(self._path).st_ino == self._inode
        except OSError:
            return False

    def read(self, mapped: bool = False) -> bool:
        """Reads the newest figures. False: it has none (any more)."""
        if not self._is_the_one() and not self.open(mapped):
            return False
        for left in reversed(range(_TRIES)):
            try:
                found = board.parse(self._bytes())
                break
            except board.Torn:
                if left == 0:
                    raise
                time.sleep(0.002)
        if found.pid != self.inner_pid:  # a child that has not posted yet has its parent's
            return False
        if self.figures is None or found.number != self.figures.number:
            self.before, self.figures = self.figures, found
        return True

    @property
    def age(self) -> float:
        """Seconds since the figures were posted."""
        return max(0.0, now() - self.figures.written)

    @property
    def program(self) -> str:
        """The kernel's name for it: what the program itself knows may be overwritten by a title of its own."""
        return _read(f"/proc/{self.pid}/comm").decode(errors="replace").rstrip("\n")

    @property
    def rss(self) -> int:
        """Bytes, of this moment."""
        fields = _read(f"/proc/{self.pid}/statm").split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") if fields else self.figures.process["rss_bytes"]

    @property
    def not_ours(self) -> int:
        """What of the RSS is not the library's, when the figures were posted. May be below 0."""
        process = self.figures.process
        return int(process["rss_bytes"] - sum(process[name] for name in TERMS))

    def rate(self, name: str) -> float | None:
        """How much a counter grew, in a second; None: not known."""
        if self.before is None or self.figures.written <= self.before.written:
            return None
        grown = self.figures.process[name] - self.before.process[name]
        return float(max(0, grown) / (self.figures.written - self.before.written))


TERMS = ("live", "waste", "caches", "retained", "metadata")


def why_not(pid: int) -> str:
    maps = _read(f"/proc/{pid}/maps")
    if not os.path.exists(f"/proc/{pid}"):
        return f"there is no process {pid}"
    if not maps and not os.access(f"/proc/{pid}/fd", os.R_OK | os.X_OK):
        return f"process {pid} belongs to another user, or lets nobody look at it"
    if b"/libtslab" in maps:
        return f"process {pid} runs on tslab and exports no figures (yet): start it with TSLAB_EXPORT=1"
    return f"process {pid} does not export figures of tslab: start it on tslab with TSLAB_EXPORT=1"


class Watched:
    """The processes that are asked for, or all. Boards stay open, so their libraries post each second."""

    def __init__(self, pids: Iterable[int] = ()) -> None:
        self.wanted = list(pids)
        self._known: dict[int, Process] = {}
        self.unreadable: dict[int, str] = {}  # PID: why

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._known.values():
            process.close()

    def look(self) -> list[Process]:
        """Those that have figures, as they are now."""
        self.unreadable = {}
        pids = self.wanted or [int(name) for name in os.listdir("/proc") if name.isdecimal()]
        for gone in self._known.keys() - set(pids):
            self._known.pop(gone).close()
        return [process for process in map(self._look_at, pids) if process]

    def _look_at(self, pid: int) -> Process | None:
        process = self._known.get(pid) or Process(pid)
        try:
            there = process.read(mapped=bool(self.wanted))
        except board.Unreadable as problem:
            self.unreadable[pid] = f"process {pid}: {problem}"
            there = False
        except OSError:  # it has ended, or is another user's
            there = False
        if there:
            self._known[pid] = process
            return process
        process.close()
        self._known.pop(pid, None)
        return None

    def look_afresh(self, patience: float = PATIENCE) -> list[Process]:
        """Waits for figures of now, as long as that may take: processes that do nothing post none. Then rates are
        known, too, of those that have posted."""
        asked = now()
        found = self.look()
        while found and now() < asked + patience and any(one.figures.written < asked for one in found):
            time.sleep(0.05)
            found = self.look()
        return found

    def require(self, found: list[Process]) -> None:
        """Ends with a message if a process that was asked for has no figures."""
        for pid in self.wanted:
            if pid not in [process.pid for process in found]:
                raise Failure(self.unreadable.get(pid) or why_not(pid))
