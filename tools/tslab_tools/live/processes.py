"""Processes that have a board (docs/export.md): how they are found, and how their boards are read and watched."""

import contextlib
import errno
import fcntl
import os
import pwd
import re
import resource
import struct
import time
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Self

from tslab_tools.failure import Failure
from tslab_tools.live import board, shared_memory, units
from tslab_tools.live.shared_memory import read

FILE = "/memfd:tslab-export (deleted)"
_NUMBER_LEAST = 100  # of the descriptor: the library chooses no lower one
_DESCRIPTORS_MOST = 4096  # that are looked at, of one process
_TRIES = 5
PATIENCE = 2.5  # seconds: a library that is watched posts each second, if a thread of it runs
# struct flock: a lock to read. The library sees that somebody holds one, and posts more often. A lock of this kind goes
# with its descriptor, so it ends with us.
_WATCH = struct.pack("hh4xqqi4x", fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
_F_OFD_SETLK = 37
_MAPPED = re.compile(rb"^([0-9a-f]+-[0-9a-f]+) \S+ 0+ \S+ \d+ +/memfd:tslab-export \(deleted\)$", re.MULTILINE)
_LONG_FILE_BYTES = 1 << 24  # as much is read of the mappings or the environment of a process that is asked for
_STATUS = re.compile(rb"^(Uid|NSpid):(.*)$", re.MULTILINE)


def now() -> float:
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def numbers_of(pid: int) -> tuple[int, set[int]]:
    """Its number in its own name space, and the users that its board may belong to: its own, and the root of its name
    space, as which it may have begun."""
    found = {name: [int(word) for word in rest.split()] for name, rest in _STATUS.findall(read(f"/proc/{pid}/status"))}
    owners = set(found.get(b"Uid", ()))
    owners |= {int(line.split()[1]) for line in read(f"/proc/{pid}/uid_map").splitlines() if line.split()[0] == b"0"}
    return found.get(b"NSpid", [pid])[-1], owners


def user_of(pid: int) -> str:
    """Whose rights it has; "": it has ended."""
    users = [int(rest.split()[1]) for name, rest in _STATUS.findall(read(f"/proc/{pid}/status")) if name == b"Uid"]
    try:
        return pwd.getpwuid(users[0]).pw_name if users else ""
    except KeyError:
        return str(users[0])


def root_of(pid: int) -> str:
    """What comes before the names that it calls files by, to open them from here: nothing, unless it has a root
    directory or mounts of its own, as in a container, or a service with a /tmp of its own."""
    there = f"/proc/{pid}/root"
    try:
        same = os.readlink(f"/proc/{pid}/ns/mnt") == os.readlink("/proc/self/ns/mnt")
        return "" if same and os.path.samestat(os.stat(there), os.stat("/")) else there
    except OSError:
        return ""


def _descriptors(pid: int) -> Iterator[str]:
    """Paths of descriptors that may be the board's, the likeliest first: a list costs more than a look at one."""
    yield f"/proc/{pid}/fd/{_NUMBER_LEAST}"
    with os.scandir(f"/proc/{pid}/fd") as folder:
        for _, entry in zip(range(_DESCRIPTORS_MOST), folder):
            if int(entry.name) > _NUMBER_LEAST:
                yield entry.path


def descriptor(pid: int, name: str = FILE) -> str | None:
    """The path of the descriptor of the board, or of the inbox; None: it has none."""
    for path in _descriptors(pid):
        with contextlib.suppress(FileNotFoundError):  # there is none, or it was just closed
            if os.readlink(path) == name:
                return path
    return None


def _mapped(pid: int) -> str | None:
    """Where root finds the board of a process that has closed its descriptor."""
    found = _MAPPED.search(read(f"/proc/{pid}/maps", _LONG_FILE_BYTES))
    return f"/proc/{pid}/map_files/{found[1].decode()}" if found else None


class Process:
    """A process with a board. `figures` are the newest that were read, `before` others that are older, for rates."""

    def __init__(self, pid: int) -> None:
        self.pid, self.inner_pid = pid, pid
        self.figures: board.Figures = None  # type: ignore[assignment]  # whoever is given a process has read it
        self.before: board.Figures | None = None
        self.inode = 0  # of its board
        self.program = self.unit = ""
        self._resident = 0
        self._file: int | None = None
        self._path, self._size = "", 0
        self._raw: bytes | None = None
        self.torn = False

    def open(self, mapped: bool = False) -> bool:
        """False: it has no board. `mapped`: also look for one whose descriptor is closed."""
        self.close()
        self.figures = self.before = None  # type: ignore[assignment]
        path = descriptor(self.pid) or (mapped and _mapped(self.pid))
        if not path:
            return False
        self.inner_pid, owners = numbers_of(self.pid)
        self._file, status = shared_memory.opened(path, owners)
        self._path, self._size, self.inode = path, status.st_size, status.st_ino
        with contextlib.suppress(OSError):  # some sandboxes know no such locks: the figures are older
            fcntl.fcntl(self._file, _F_OFD_SETLK, _WATCH)
        return True

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
        self._file = self._raw = None

    def find(self, mapped: bool = False) -> bool:
        """Whether it has a board. The program may have closed the one that was read, or be another one now."""
        return (self._file is not None and shared_memory.is_same(self._path, self.inode)) or self.open(mapped)

    def _bytes(self) -> bytes:
        assert self._file is not None
        return os.pread(self._file, self._size, 0)

    def read(self) -> bool:
        """Reads the newest figures of its board. False: they are another process's. If the board was being written,
        `torn` says so, and the figures are those of before."""
        raw, self.torn = self._bytes(), False
        if raw == self._raw:
            return True
        try:
            found = board.parse(raw)
        except board.Torn:
            self.torn = True
            return True
        if found.pid != self.inner_pid:  # a child that has not posted yet has its parent's
            return False
        if self.figures is None or found.number != self.figures.number:
            self.before, self.figures = self.figures, found
        self._raw = raw
        return True

    def is_fresh(self, since: float) -> bool:
        return not self.torn and self.figures.written >= since

    def look_around(self) -> bool:
        """What the kernel tells of it. Its name is the kernel's: what the program itself knows may be overwritten by a
        title of its own. False: it has ended."""
        if self.figures is None:
            raise board.Torn("no copy on its board is ever whole")
        self.program = read(f"/proc/{self.pid}/comm").decode(errors="replace").rstrip("\n")
        self.unit = units.unit_of(read(f"/proc/{self.pid}/cgroup").decode(errors="replace"))
        fields = read(f"/proc/{self.pid}/statm").split()
        self._resident = int(fields[1]) * resource.getpagesize() if fields else 0
        return bool(fields)

    @property
    def age(self) -> float:
        """Seconds since the figures were posted."""
        return max(0.0, now() - self.figures.written)

    @property
    def rss(self) -> int:
        """Bytes, of the last look."""
        return self._resident or int(self.figures.process["rss_bytes"])

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


def options_at_start(pid: int) -> dict[str, str]:
    """Those in its environment, as it was at the start; none where nobody may look. A program that sets its title
    overwrites it."""
    found: dict[str, str] = {}
    for word in read(f"/proc/{pid}/environ", _LONG_FILE_BYTES).split(b"\0"):
        name, _, value = word.decode(errors="replace").partition("=")
        if name == "TSLAB_OPTIONS":
            options = (item.partition("=") for item in re.split(r",(?=[^,=]*=)", value) if "=" in item)
            found.update({option: chosen for option, _, chosen in options})
        elif name.startswith("TSLAB_"):
            found[name.removeprefix("TSLAB_").lower()] = value
    return found


def why_not(pid: int) -> str:
    """Why no figures of it can be read."""
    maps = read(f"/proc/{pid}/maps", _LONG_FILE_BYTES)
    if not os.path.exists(f"/proc/{pid}"):
        return f"there is no process {pid}"
    if not maps and not os.access(f"/proc/{pid}/fd", os.R_OK | os.X_OK):
        return f"process {pid} belongs to another user, or lets nobody look at it"
    has_board = FILE.encode() in maps  # its own or, until it posts, its parent's
    exports = has_board or options_at_start(pid).get("export") == "1"
    if exports and (has_board or b"/libtslab" in maps):
        return f"process {pid} has posted no figures yet: it does at its next slow allocation"
    if exports:
        how = "start it on tslab, or wait for its next slow allocation"
        return f"process {pid} has TSLAB_EXPORT=1 and no figures: {how}"
    if b"/libtslab" in maps:
        how = "start it with TSLAB_EXPORT=1. If it was, it posts some at its next slow allocation"
        return f"process {pid} runs on tslab and exports no figures: {how}"
    return f"process {pid} does not export figures of tslab: start it on tslab with TSLAB_EXPORT=1"


class Watched:
    """The processes that are asked for, or all. Boards stay open, so their libraries post each second. What one process
    does is no concern of the others: if it cannot be read, it is in `unreadable`."""

    def __init__(self, pids: Iterable[int] = (), first: Container[int] = ()) -> None:
        self.wanted, self._first = list(pids), first
        self._known: dict[int, Process] = {}
        self.unreadable: dict[int, str] = {}  # PID: why
        self.unseen = 0  # processes that there was no time for

    def __enter__(self) -> Self:
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # a descriptor for each process
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._known.values():
            process.close()

    def look(self, seconds: float = float("inf")) -> list[Process]:
        """Those that have figures, as they are now. After so long no more are looked for."""
        return self._settled(self._found(now() + seconds))

    def look_afresh(self, patience: float = PATIENCE, seconds: float = float("inf")) -> list[Process]:
        """Waits for figures of now, as long as that may take: processes that do nothing post none. Then rates are
        known, too, of those that have posted."""
        asked, pause = now(), 0.05
        found = self._found(asked + seconds)
        while now() < asked + patience and not all(one.is_fresh(asked) for one in found):
            time.sleep(pause)
            pause = min(0.5, 2 * pause)
            found = [one for one in found if one.is_fresh(asked) or self._guarded(one, Process.read)]
        return self._settled(found)

    def _found(self, deadline: float) -> list[Process]:
        """Those that have a board, which may be torn."""
        self.unreadable, self.unseen, found = {}, 0, []
        pids = self.wanted or [int(name) for name in os.listdir("/proc") if name.isdecimal()]
        for gone in self._known.keys() - set(pids):
            self._known.pop(gone).close()
        for number, pid in enumerate(sorted(pids, key=lambda pid: (pid not in self._known, pid not in self._first))):
            if now() > deadline:
                self.unseen = len(pids) - number
                break
            process = self._known.get(pid) or Process(pid)
            if self._guarded(process, lambda process: process.find(mapped=bool(self.wanted)) and process.read()):
                self._known[pid] = process
                found.append(process)
        return found

    def _settled(self, found: list[Process]) -> list[Process]:
        """Boards that were being written are read again, all at once."""
        for _ in range(_TRIES - 1):
            if not any(process.torn for process in found):
                break
            time.sleep(0.002)
            found = [process for process in found if not process.torn or self._guarded(process, Process.read)]
        return [process for process in found if self._guarded(process, Process.look_around)]

    def _guarded(self, process: Process, work: Callable[[Process], bool]) -> bool:
        """False: the process is not looked at any more."""
        try:
            if work(process):
                return True
        except board.Unreadable as problem:
            self.unreadable[process.pid] = f"process {process.pid}: {problem}"
        except OSError as problem:
            if problem.errno == errno.EMFILE:
                self.unreadable[process.pid] = f"process {process.pid}: {problem.strerror}"
            # else it has ended, or is another user's
        process.close()
        self._known.pop(process.pid, None)
        return False

    def require(self, found: list[Process]) -> None:
        """Ends with a message if a process that was asked for has no figures."""
        for pid in self.wanted:
            if pid not in [process.pid for process in found]:
                raise Failure(self.unreadable.get(pid) or why_not(pid))
