"""The tslab memory allocator in a Python process.

Run the program on it, from a shell:

    python -m tslab run python server.py

Then units of work can have memory that comes back as a whole:

    with tslab.epoch("report") as epoch:
        make_report()
    print(epoch.report.survivors)

A tenant, a kind of job or a pipeline can have memory of its own, which reports tell apart:

    with tslab.domain("tenant 7", limit=64 << 20):
        answer()
    tslab.domain("tenant 7").report()["resident_bytes"]

Without the drop-in the marks (epoch, domain, unit, pause, rotate, trim, the middleware) do nothing, so that a program runs everywhere.
What asks for facts (stats, epoch_of, version) raises NotPreloaded.

Only what Python and its extension modules allocate by malloc lands in epochs. Python's own objects of up to 512 bytes do not:
see the page on Python in the project's docs/bindings.md.
"""

import contextlib
import ctypes
import json
import os
import threading
from dataclasses import dataclass
from typing import Optional

from tslab import _library

__all__ = [
    "Closed",
    "Domain",
    "Epoch",
    "Error",
    "NotPreloaded",
    "domain",
    "epoch",
    "epoch_of",
    "pause",
    "policy",
    "preloaded",
    "rotate",
    "stats",
    "trim",
    "unit",
    "version",
]


class Error(Exception):
    """A function of the library refused. `status` is its number in tslab.h."""

    def __init__(self, what, status):
        super().__init__(f"{what}: {_library.library.tslab_status_text(status).decode()}")
        self.status = status


class NotPreloaded(RuntimeError):
    """The process does not run on the drop-in."""

    def __init__(self):
        super().__init__("this process does not run on tslab: start it by `python -m tslab run`")


def preloaded():
    """Whether the process runs on the drop-in."""
    return _library.library is not None


def _needed():
    if _library.library is None:
        raise NotPreloaded
    return _library.library


def _checked(what, status):
    if status < 0:
        raise Error(what, status)
    return status


@dataclass(frozen=True)
class Closed:
    """What closing an epoch has done: nothing, without the drop-in. Objects that Python keeps for reuse are survivors, too."""

    survivors: int = 0
    survivor_bytes: int = 0
    recycled_bytes: int = 0
    reclaimed_bytes: int = 0
    age_ms: int = 0
    pending: bool = False  # a thread is still inside: the last one to leave completes the close


class Epoch:
    """An epoch that is open until `close`. As a context manager, `with epoch:` closes it at the end of the block.

    What survives stays valid. With the policy "report", a line on stderr counts the survivors."""

    def __init__(self, label=None, policy="drain", reclaim=False, limit=0):
        """`reclaim`: closing gives the pages of all memory that is empty then back to the system. `limit`: the bytes of memory
        that it may have; what would exceed it raises MemoryError. 0: no limit."""
        self.report: Optional[Closed] = None  # after the close
        self._flags = _library.CLOSE_RECLAIM if reclaim else 0
        self._name = None
        text = label.encode() if label else None
        options = _library.Options(label=text, policy=_library.POLICIES[policy], limit_bytes=limit)
        if _library.library is not None:
            name = _library.library.tslab_epoch_open(ctypes.byref(options))
            if name.id == 0:
                raise MemoryError("there is no memory for an epoch")
            self._name = name

    @property
    def id(self):
        """The number that epoch_of tells; 0 without the drop-in, and after the close."""
        return self._name.id if self._name else 0

    @contextlib.contextmanager
    def inside(self):
        """Is inside of the epoch during the block: what this thread allocates lands in it. Blocks nest, and may not contain an
        await or a yield: another task would run inside."""
        name = self._name
        if name is None:
            yield self
            return
        _checked("enter the epoch", _library.library.tslab_epoch_enter(name))
        try:
            yield self
        finally:
            _checked("leave the epoch", _library.library.tslab_epoch_leave(name))

    def close(self):
        """Closes the epoch, once. Returns what that has done."""
        name, self._name = self._name, None
        if name is None:
            self.report = self.report or Closed()
        else:
            report = _library.Report()
            done = _library.library.tslab_epoch_close(name, self._flags, ctypes.byref(report))
            pending = _checked("close the epoch", done) == _PENDING
            self.report = Closed(
                report.survivors,
                report.survivor_bytes,
                report.recycled_bytes,
                report.reclaimed_bytes,
                report.age_ms,
                pending,
            )
        return self.report

    def __del__(self):
        if getattr(self, "_name", None) is not None:
            self.close()


_PENDING = 2


@contextlib.contextmanager
def epoch(label=None, policy="drain", reclaim=False):
    """Opens an epoch, is inside of it during the block, and closes it. The arguments are those of Epoch."""
    opened = Epoch(label, policy, reclaim)
    try:
        with opened.inside():
            yield opened
    finally:
        opened.close()


class Domain:
    """The memory of a tenant, a kind of job or a pipeline: an epoch that lives for long. `with domain:` is inside during the
    block, any number of times, nested, and in several threads at once; the block may not contain an await or a yield. What
    survives a block stays valid.

    It is open until `retire`, then it drains, and with its last object it is drained. See `domain`."""

    def __init__(self, label, limit=0):
        self._label, self._epoch = label, Epoch(label, limit=limit)
        self._name = self._epoch._name

    def __enter__(self):
        if self._name is not None:
            _checked("enter the domain", _library.library.tslab_epoch_enter(self._name))
        return self

    def __exit__(self, *_):
        if self._name is not None:
            _checked("leave the domain", _library.library.tslab_epoch_leave(self._name))

    @property
    def id(self):
        """The number that epoch_of tells; 0 without the drop-in."""
        return self._name.id if self._name else 0

    def report(self):
        """What it has, as a dict: live_bytes, memory_bytes, peak_bytes, resident_bytes and others, which tslab.h describes
        (struct tslab_epoch_stats), the `state`, and how many threads are `inside`. None: it is drained."""
        found = _library.Stats()
        status = _needed().tslab_epoch_stats_get(self._name, ctypes.byref(found))
        if status == _library.STALE:
            return None
        _checked("read the statistics of the domain", status)
        told = {name: getattr(found, name) for name in _library.NUMBERS}
        return {"label": self._label, "state": _library.STATES[found.state], "inside": found.inside, **told}

    def retire(self):
        """Ends it, once: nobody can enter it any more, and its objects stay valid until they are freed. It does not wait. The next
        `domain` of this label opens another one. Returns what the close has done."""
        with _lock:
            if _domains.get(self._label) is self:
                del _domains[self._label]
        return self._epoch.close()

    @property
    def drained(self):
        """Whether it is retired and nothing of it is left."""
        return self._epoch.report is not None and (self._name is None or self.report() is None)


_domains: dict[str, Domain] = {}
_lock = threading.Lock()


def domain(label, limit=0):
    """The open domain of this label. If there is none, one is opened, with this limit: the bytes of memory that it may have; what
    would exceed it raises MemoryError. 0: no limit."""
    with _lock:
        if label not in _domains:
            _domains[label] = Domain(label, limit)
        return _domains[label]


@contextlib.contextmanager
def unit(label=None):
    """Marks the block as a unit of work of this thread. TSLAB_EPOCH_POLICY decides what that means. It may not contain an await
    or a yield."""
    library = _library.library
    if library is None:
        yield
        return
    library.tslab_work_begin(label.encode() if label else None)  # without memory for an epoch the unit runs without one
    try:
        yield
    finally:
        _checked("end the unit of work", library.tslab_work_end())


@contextlib.contextmanager
def pause():
    """During the block, what this thread allocates lands outside of any epoch: sessions, caches, pools."""
    library = _library.library
    if library is None:
        yield
        return
    library.tslab_work_pause()
    try:
        yield
    finally:
        _checked("end the pause", library.tslab_work_resume())


def rotate():
    """Asks every thread to give its next unit of work a new epoch."""
    if _library.library is not None:
        _library.library.tslab_work_rotate()


def trim():
    """Gives the pages of all empty memory back to the system. Returns how many bytes that were."""
    return _library.library.tslab_trim() if _library.library is not None else 0


def policy():
    """The policy for units of work that the environment names; "never" if it names none. As in the library, the last word counts."""
    named = "never"
    for variable, value in os.environ.items():
        if variable == "TSLAB_EPOCH_POLICY":
            named = value
        elif variable == "TSLAB_OPTIONS":
            options = dict(option.partition("=")[::2] for option in value.split(","))
            named = options.get("epoch_policy", named)
    return named


def epoch_of(address):
    """The number of the epoch to which the object of malloc at this address belongs; 0 for the process. The address must be that
    of a living object, `array.ctypes.data` of a numpy array that owns its memory, for instance."""
    return _needed().tslab_epoch_of(address).id


def stats():
    """The statistics, as a dict. docs/statistics.md describes the members."""
    library = _needed()
    with open(os.memfd_create("tslab"), "w+b") as file:
        _checked("write the statistics", library.tslab_stats_json(file.fileno()))
        file.seek(0)
        return json.load(file)


def version():
    """The version of the library that runs."""
    return _needed().tslab_version().decode()
