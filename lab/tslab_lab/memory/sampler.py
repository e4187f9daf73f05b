"""Reads the memory of a process and its descendants as it goes. Cheap readings are taken often, dear ones seldom, and
none takes more of a processor than it is allowed."""

import os
import time
from typing import Any

from tslab_lab.base.processes import PAGE_KIB
from tslab_lab.memory import family

COLUMNS = ("t_ms", "rss_kb", "vms_kb", "pss_kb", "uss_kb", "lazyfree_kb", "huge_kb")
_KEYS = (b"Pss:", b"Private_Clean:", b"Private_Dirty:", b"LazyFree:", b"AnonHugePages:")
# How often at most, in seconds, and the share of one processor that it may take at most: together under 1 %.
STATM = (0.010, 0.0055)
ROLLUP = (0.500, 0.0025)
FAMILY = (0.050, 0.0015)
_CREDIT_SECONDS = 0.02  # the share of so long may be spent at once, at the start
LOADED_SECONDS = 0.04  # after so long a program has its libraries
_FIRST_ROLLUP_SECONDS = 0.02


class Pace:
    """When something is due again."""

    def __init__(self, start: float, interval: float, share: float) -> None:
        self.due, self._interval, self._share = start, interval, share
        self._start, self.spent, self.count = start - _CREDIT_SECONDS, 0.0, 0

    def done(self, now: float, cost: float) -> None:
        """It was done, and took `cost` seconds of a processor."""
        self.spent += cost
        self.count += 1
        beat = max(self.due + self._interval, now + self._interval / 2)  # beats that were missed are not made up for
        self.due = max(beat, self._start + self.spent / self._share)

    def affords(self, now: float, cost: float) -> bool:
        """Whether so much would still be within the share."""
        return self.spent + cost <= self._share * (now - self._start)


def _rollup(pid: int) -> list[int] | None:
    """KiB of _KEYS; None where there is nothing to read. The file is opened each time: an open one stays with the
    program that the process had before it became another."""
    try:
        file = os.open(f"/proc/{pid}/smaps_rollup", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        lines = os.read(file, 4096).split(b"\n")
    except OSError:
        return None
    finally:
        os.close(file)
    found = dict.fromkeys(_KEYS, 0)
    for line in lines[1:]:
        key, *rest = line.split()[:2] or (b"",)
        if key in found:
            found[key] = int(rest[0])
    return [found[key] for key in _KEYS] if len(lines) > 2 else None


def mapped_files(pid: int) -> set[str]:
    """Paths of what a process has mapped."""
    try:
        with open(f"/proc/{pid}/maps", "rb") as file:
            return {os.fsdecode(line.split(None, 5)[5].rstrip(b"\n")) for line in file if b"/" in line}
    except OSError:
        return set()


class Sampler:
    """Call `tick` again and again, at `due` or later, and `close` at the end; `rows` are what COLUMNS says.
    `wanted`: a library that should be found mapped. It is looked for until it is found."""

    def __init__(self, pid: int, start: float, wanted: str | None = None) -> None:
        self._pid, self._start = pid, start
        self._wanted = os.path.realpath(wanted) if wanted else None
        self.rows: list[tuple[Any, ...]] = []
        self.files: dict[int, int] = {}  # by process, opened
        self.most = 0  # processes at once
        self.mapped: set[str] = set()  # by the program
        self.looked = False  # whether there was time for it
        self._rollup_cost = 0.0  # for each KiB of RSS: what is dear is known before it is done
        self._statm = Pace(start, *STATM)
        self._rollups = Pace(start + _FIRST_ROLLUP_SECONDS, *ROLLUP)
        self._family = Pace(start, *FAMILY)
        self._clock = time.thread_time()

    @property
    def due(self) -> float:
        return min(self._statm.due, self._family.due)

    @property
    def spent(self) -> float:
        """Seconds of a processor."""
        return self._statm.spent + self._rollups.spent + self._family.spent

    @property
    def seconds(self) -> float:
        """From the start to the last sample."""
        return max(self.rows[-1][0], 1) / 1000

    @property
    def looked_every_ms(self) -> float:
        """How often there was a look for new processes."""
        return round(1000 * self.seconds / max(1, self._family.count), 1)

    def _cost(self) -> float:
        before, self._clock = self._clock, time.thread_time()
        return self._clock - before

    def tick(self, now: float, last: bool = False) -> None:
        """Takes what is due; all that there is, if this is the last time."""
        if last or now >= self._family.due:
            self._look_around(now)
            self._family.done(now, self._cost())
        if not last and now < self._statm.due:
            return
        sums = self._read_statm()
        at = time.monotonic()
        self._statm.done(now, self._cost())
        if sums is None:
            return
        details: tuple[int | None, ...] = (None,) * (len(_KEYS) - 1)
        expected = self._rollup_cost * sums[0]
        if last or (now >= self._rollups.due and self._rollups.affords(now, expected)):
            details = self._read_rollups()
            family.bury_orphans((self._pid,))
            cost = self._cost()
            self._rollup_cost = cost / max(1, sums[0])
            self._rollups.done(now, cost)
        self.rows.append((round((at - self._start) * 1000), *sums, *details))

    def _look_around(self, now: float) -> None:
        members = family.family([self._pid, *self.files])
        for pid in members:
            if pid not in self.files:
                try:
                    self.files[pid] = os.open(f"/proc/{pid}/statm", os.O_RDONLY | os.O_CLOEXEC)
                except OSError:
                    continue
        if now - self._start > LOADED_SECONDS and not (self.looked and (not self._wanted or self.found)):
            for pid in members:
                self.mapped |= mapped_files(pid)
            self.looked = self.looked or bool(self.mapped)

    @property
    def found(self) -> bool:
        return self._wanted in self.mapped

    def _read_statm(self) -> tuple[int, int] | None:
        """KiB of all: resident, and addresses."""
        resident = size = 0
        for pid, file in list(self.files.items()):
            try:
                fields = os.pread(file, 128, 0).split(None, 2)
            except OSError:
                fields = []
            if not fields or fields[0] == b"0":  # it has ended
                os.close(self.files.pop(pid))
                continue
            size += int(fields[0])
            resident += int(fields[1])
        self.most = max(self.most, len(self.files))
        return (resident * PAGE_KIB, size * PAGE_KIB) if self.files else None

    def _read_rollups(self) -> tuple[int | None, ...]:
        """KiB of all: proportional share, private, waiting to be taken by the system, in huge pages."""
        each = [found for found in map(_rollup, list(self.files)) if found]
        if not each:
            return (None,) * (len(_KEYS) - 1)
        share, clean, dirty, lazy, huge = map(sum, zip(*each))
        return (share, clean + dirty, lazy, huge)

    def close(self) -> None:
        for file in self.files.values():
            os.close(file)
        self.files = {}
