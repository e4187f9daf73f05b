"""A process and all that descend from it: found while they live, and none left behind."""

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Callable, Collection, Iterable, Iterator

from tslab_lab.base import processes

_SET_CHILD_SUBREAPER = 36  # of prctl
_PATIENCE_SECONDS = 5


def require_children() -> None:
    if not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
        raise processes.Failure(
            "This kernel does not tell which processes a process has started (CONFIG_PROC_CHILDREN)."
        )


def _words(path: str) -> list[bytes]:
    """Of a file of the kernel; none where it is gone. Plain system calls, as this is done again and again."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        text = part = os.read(file, 4096)
        while part:  # one call gives a page of it at most
            part = os.read(file, 4096)
            text += part
    except OSError:
        return []
    finally:
        os.close(file)
    return text.split()


def children(pid: int) -> list[int]:
    """Of all its threads: each has a list of its own."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:  # it has ended
        return []
    return [int(word) for thread in threads for word in _words(f"/proc/{pid}/task/{thread}/children")]


def family(pids: Iterable[int]) -> list[int]:
    """The processes, their children, theirs, and so on."""
    found = list(dict.fromkeys(pids))
    for member in found:  # it grows meanwhile
        found += [pid for pid in children(member) if pid not in found]
    return found


@contextlib.contextmanager
def none_left() -> Iterator[Callable[[], list[int]]]:
    """Whatever is started within the block, and whatever that starts, is gone after it, also what has left its parent:
    orphans become children of this process. Gives the function that says which of them there are."""
    prctl = ctypes.CDLL(None).prctl
    before = set(children(os.getpid()))

    def left() -> list[int]:
        return [pid for pid in children(os.getpid()) if pid not in before]

    prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield left
    finally:
        _end(left)
        prctl(_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def _end(left: Callable[[], list[int]]) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while left() and time.monotonic() < deadline:  # as one dies, its children become ours
        for pid in family(left()):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        for pid in left():
            with contextlib.suppress(OSError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.001)


def bury_orphans(but: Collection[int]) -> None:
    """Reaps orphans that have ended, as init would: somebody may be waiting for one of them to be gone. Those in `but`
    are left to whoever waits for them."""
    for pid in children(os.getpid()):
        if pid not in but:
            with contextlib.suppress(OSError):
                os.waitpid(pid, os.WNOHANG)
