"""A limit on the memory of a process: a control group where one can be made; else a limit of addresses."""

import contextlib
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tslab_lab.base import processes

ROOT = Path("/sys/fs/cgroup")
_ENTER = 'echo 0 > "$0" && exec "$@"'
_PATIENCE_SECONDS = 10


Prefix = Callable[[str], list[str]]  # from an allocator's name to words before those of its program


@dataclass(frozen=True)
class Limit:
    """`is_group`: it counts what is resident, as containers are limited; else it counts addresses."""

    is_group: bool
    words: str
    prefix: Prefix = field(compare=False)


def groups(root: Path = ROOT, own: Path = Path("/proc/self/cgroup")) -> Iterator[tuple[Path, tuple[str, str]]]:
    """Folders in which a group with a limit can be, the nearest first, each with the file of the limit and that of swap."""
    try:
        lines = [line.split(":", 2) for line in own.read_text().splitlines()]
    except OSError:
        return
    for number, controllers, path in lines:
        if number == "0" and not controllers:
            folder, names = root, ("memory.max", "memory.swap.max")
        elif "memory" in controllers.split(","):
            folder, names = root / "memory", ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes")
        else:
            continue
        place = Path(path.lstrip("/"))
        for one in (place, *place.parents):
            parent = folder / one
            hands_on = parent / "cgroup.subtree_control"
            if names[0] == "memory.max" and not (hands_on.is_file() and "memory" in hands_on.read_text().split()):
                continue
            if os.access(parent, os.W_OK):
                yield parent, names


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
            for file, value in zip(names, (mib << 20, mib << 20 if "memsw" in names[1] else 0)):
                if (group / file).exists():
                    (group / file).write_text(str(value))
        return ["/bin/sh", "-c", _ENTER, str(group / "cgroup.procs")]

    return Limit(True, "each in a control group", prefix)


def _works(limit: Limit) -> bool:
    try:
        return processes.ends_well([*limit.prefix("try"), "/bin/true"], processes.environment())
    except OSError:
        return False


@contextlib.contextmanager
def of(mib: int) -> Iterator[Limit]:
    """The best limit that works here. Its groups are gone when the block is left."""
    with contextlib.ExitStack() as stack:
        found = (_by_hand(parent, names, mib, stack) for parent, names in groups())
        for limit in found:
            if _works(limit):
                yield limit
                return
        shell = ["/bin/sh", "-c", f'ulimit -v {mib << 10} && exec "$@"', "sh"]
        yield Limit(False, "of addresses: no control group can be made here", lambda name: shell)
