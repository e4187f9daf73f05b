"""A limit on the memory of a process: a control group where one can be made, which counts what is resident, as containers are
limited; else a limit of addresses."""

import contextlib
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tslab_lab.base import processes

ROOT = Path("/sys/fs/cgroup")
# The files of the limit and of that of swap, of the first kind of groups and of the second.
_V1, _V2 = ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"), ("memory.max", "memory.swap.max")
_ENTER = 'echo 0 > "$0" && exec "$@"'
_PATIENCE_SECONDS = 10


class Limit(NamedTuple):
    words: str
    prefix: Callable[[str], list[str]]  # from an allocator's name to words before those of its program


def groups() -> Iterator[tuple[Path, tuple[str, str]]]:
    """Folders in which a group with a limit can be, the nearest first, each with its files."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        place = Path(path.lstrip("/"))
        for one in (place, *place.parents):
            parent = ROOT / "memory" / one if controllers else ROOT / one
            hands_on = parent / "cgroup.subtree_control"
            hands = bool(controllers) or (hands_on.is_file() and "memory" in hands_on.read_text().split())
            if hands and os.access(parent, os.W_OK):
                yield parent, _V1 if controllers else _V2


def _remove(group: Path) -> None:
    """With whoever is in it: an interrupt may have come before a program was known that had been started."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while group.exists():
        for pid in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                os.kill(int(pid), signal.SIGKILL)
        try:
            group.rmdir()
        except OSError:  # who was killed may still be on its way out
            if time.monotonic() > deadline:
                raise processes.Failure(f"The control group {group} cannot be removed.") from None
            time.sleep(0.02)


def _by_hand(parent: Path, names: tuple[str, str], mib: int, stack: contextlib.ExitStack) -> Limit:
    def prefix(name: str) -> list[str]:
        group = parent / f"tslab-demo-{os.getpid()}-{re.sub('[^a-z0-9]+', '-', name)}"
        if not group.exists():
            group.mkdir()
            stack.callback(_remove, group)
            for file, value in zip(names, (mib << 20, mib << 20 if names == _V1 else 0)):
                if (group / file).exists():
                    (group / file).write_text(str(value))
        return ["/bin/sh", "-c", _ENTER, str(group / "cgroup.procs")]

    return Limit("each in a control group", prefix)


@contextlib.contextmanager
def of(mib: int) -> Iterator[Limit]:
    """The best limit that works here. Its groups are gone when the block is left."""
    with contextlib.ExitStack() as stack:
        for parent, names in groups():
            limit = _by_hand(parent, names, mib, stack)
            with contextlib.suppress(OSError):
                if processes.ends_well([*limit.prefix("try"), "/bin/true"], processes.environment()):
                    yield limit
                    return
        shell = ["/bin/sh", "-c", f'ulimit -v {mib << 10} && exec "$@"', "sh"]
        yield Limit("of addresses, which stay mapped: no control group can be made here", lambda name: shell)
