"""The processes that can be asked (docs/export.md): how they are found, and how all are asked at once."""

import errno
import os
import resource
import time
from collections.abc import Callable, Container, Iterable
from typing import Self

from tslab_tools.failure import Failure
from tslab_tools.live import answers, kernel, units
from tslab_tools.live.channel import PATIENCE, Channel
from tslab_tools.live.kernel import why_not

RATE_SECONDS = 0.1  # at least between two answers; the library comes by each quarter of a second
PATIENCE_WITH_ALL = 0.6  # seconds, where nobody has named the processes: strangers may never answer
_PAUSE_SECONDS = 0.005
TERMS = ("live", "waste", "caches", "retained", "metadata")


def now() -> float:
    return time.clock_gettime(time.CLOCK_MONOTONIC)


class Process:
    """A process that answers. `figures` are the newest, `before` those of the look before, for rates."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.channel = Channel(pid)
        self.figures: answers.Figures = None  # type: ignore[assignment]  # whoever is given a process has its figures
        self.before: answers.Figures | None = None
        self.program = self.unit = ""
        self._resident = 0

    @property
    def inode(self) -> int:
        """Tells the process from another one with its number."""
        return self.channel.inode

    @property
    def inner_pid(self) -> int:
        """Its number in its own name space."""
        return self.channel.inner_pid

    def find(self) -> bool:
        """Whether it can be asked. It may be another program by now."""
        if self.channel.is_there():
            return True
        self.figures = self.before = None  # type: ignore[assignment]
        return self.channel.open()

    def ask(self) -> bool:
        """Begins to ask for figures, unless that was done; somebody else may be asking. Whether it has answered."""
        is_early = self.figures is not None and now() < self.figures.taken + RATE_SECONDS
        if not self.channel.is_asked and not is_early:
            self.channel.begin("figures")
        return self.channel.is_answered()

    def take(self) -> bool:
        """The figures that it has answered with."""
        try:
            self.channel.said()
            raw = b"".join(self.channel.body(answers.BYTES_MOST))
        finally:
            self.channel.end()
        self.before, self.figures = self.figures, answers.parse(raw, now())
        return True

    def look_around(self) -> bool:
        """What the kernel tells of it. Its name is the kernel's: what the program itself knows may be overwritten by a
        title of its own. False: it has ended."""
        self.program = kernel.read(f"/proc/{self.pid}/comm").decode(errors="replace").rstrip("\n")
        self.unit = units.unit_of(kernel.read(f"/proc/{self.pid}/cgroup").decode(errors="replace"))
        fields = kernel.read(f"/proc/{self.pid}/statm").split()
        self._resident = int(fields[1]) * resource.getpagesize() if fields else 0
        return bool(fields)

    @property
    def rss(self) -> int:
        """Bytes, of the last look."""
        return self._resident or int(self.figures.process["rss_bytes"])

    @property
    def is_sampling(self) -> bool:
        return self.figures.options.get("profile", "0").partition(",")[0] != "0"

    @property
    def not_ours(self) -> int:
        """What of the RSS is not the library's. May be a little below 0: memory changes while it is counted."""
        process = self.figures.process
        return int(process["rss_bytes"] - sum(process[name] for name in TERMS))

    def rate(self, name: str) -> float | None:
        """How much a counter grew, in a second; None: not known."""
        if self.before is None or self.figures.taken <= self.before.taken:
            return None
        grown = self.figures.process[name] - self.before.process[name]
        return float(max(0, grown) / (self.figures.taken - self.before.taken))


class Watched:
    """The processes that are asked for, or all. What one process does is no concern of the others: if it cannot be
    read, or does not answer in time, it is in `unreadable`."""

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
            process.channel.close()

    def look(self, seconds: float = float("inf"), patience: float | None = None, twice: bool = False) -> list[Process]:
        """Those that answer, with their figures of now. After `seconds`, no more are looked for. `twice`: who has
        answered is asked again, for rates, if there is time left."""
        pids = self.wanted or [int(name) for name in os.listdir("/proc") if name.isdecimal()]
        patience = patience or (PATIENCE if self.wanted else PATIENCE_WITH_ALL)
        waiting = [one for one in self._found(pids, now() + seconds) if one.pid in self._known]
        answered: dict[int, Process] = {}
        last = now() + patience
        is_late = False
        while waiting and not is_late:
            is_late = now() >= last  # who has answered meanwhile is heard
            for one in waiting:
                if self._guarded(one, Process.ask, keeps=True) and self._guarded(one, Process.take):
                    answered[one.pid] = one
            waiting = [one for one in waiting if one.pid in self._known]
            waiting = [one for one in waiting if one.pid not in answered or (twice and one.before is None)]
            time.sleep(0 if is_late or not waiting else _PAUSE_SECONDS)
        for one in waiting:
            if one.pid not in answered:
                self._drop(one, f"it did not answer within {now() - last + patience:.1f} s")
        found = [one for pid, one in answered.items() if pid in self._known]
        return [one for one in found if self._guarded(one, Process.look_around)]

    def _found(self, pids: list[int], deadline: float) -> list[Process]:
        self.unreadable, self.unseen, found = {}, 0, []
        for gone in self._known.keys() - set(pids):
            self._known.pop(gone).channel.close()
        for number, pid in enumerate(sorted(pids, key=lambda pid: (pid not in self._known, pid not in self._first))):
            if now() > deadline:
                self.unseen = len(pids) - number
                break
            process = self._known.setdefault(pid, Process(pid))
            if self._guarded(process, Process.find):
                self._guarded(process, Process.ask, keeps=True)  # it answers while others are looked for
                found.append(process)
        return found

    def _drop(self, process: Process, why: str = "") -> None:
        if why:
            self.unreadable[process.pid] = f"process {process.pid}: {why}{kernel.why_silent(process.pid)}"
        process.channel.close()
        self._known.pop(process.pid, None)

    def _guarded(self, process: Process, work: Callable[[Process], bool], keeps: bool = False) -> bool:
        """False: the process is not looked at any more, or, if it is kept, not yet."""
        try:
            if work(process):
                return True
            why = ""
        except Failure as problem:
            why, keeps = str(problem).removeprefix(f"process {process.pid}: "), False
        except OSError as problem:  # it has ended, or is another user's, but where we have no descriptor left
            why, keeps = (problem.strerror or "") if problem.errno == errno.EMFILE else "", False
        if not keeps:
            self._drop(process, why)
        return False

    def require(self, found: list[Process]) -> None:
        """Ends with a message if a process that was asked for has no figures."""
        for pid in self.wanted:
            if pid not in [process.pid for process in found]:
                raise Failure(self.unreadable.get(pid) or why_not(pid))
