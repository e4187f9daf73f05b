"""Opens memory that another process shares by a descriptor of its own (src/os/shared_memory.h), whatever that process
has put in its place: a link of any text can lead to a FIFO, a device, or a file on a file system that never answers.
What is no such memory is not opened, and nothing here waits."""

import contextlib
import fcntl
import functools
import os
import stat
from collections.abc import Container, Iterator

from tslab_tools.live.board import BYTES_MOST, Unreadable

_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
_FILE_BYTES = 1 << 16  # as much of a file in /proc is read


def read(path: str, most: int = _FILE_BYTES) -> bytes:
    """A file of /proc, or its beginning; nothing where it cannot be read. The kernel gives a long one page by page."""
    found = bytearray()
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        while len(found) < most and (part := os.read(file, most - len(found))):
            found += part
    except OSError:
        return b""
    finally:
        os.close(file)
    return bytes(found)


def _mount(file: int) -> bytes:
    """That of an open file, as the kernel numbers it. No file system is asked."""
    return next((line for line in read(f"/proc/self/fdinfo/{file}").split(b"\n") if line.startswith(b"mnt_id:")), b"")


@functools.cache
def _home() -> tuple[bytes, int]:
    """Where the kernel keeps all memory that is shared without a name: a mount that nobody else can reach, a device."""
    file = os.memfd_create("tslab-tools", os.MFD_CLOEXEC)
    try:
        return _mount(file), os.fstat(file).st_dev
    finally:
        os.close(file)


@contextlib.contextmanager
def _found(path: str) -> Iterator[tuple[int, os.stat_result]]:
    """What is there, unopened, if it is such memory."""
    file = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        mount, device = _home()
        if _mount(file) != mount:
            raise Unreadable("what it shares is a file of another kind")
        status = os.fstat(file)
        if status.st_dev != device or not stat.S_ISREG(status.st_mode) or status.st_nlink != 0:
            raise Unreadable("what it shares is a file of another kind")
        yield file, status
    finally:
        os.close(file)


def is_same(path: str, inode: int) -> bool:
    """Whether the memory that was opened at that path is still there."""
    try:
        with _found(path) as (_, status):
            return status.st_ino == inode
    except (OSError, Unreadable):
        return False


def opened(path: str, owners: Container[int], access: int = os.O_RDONLY) -> tuple[int, os.stat_result]:
    """A descriptor of it. `owners`: users that it may belong to."""
    with _found(path) as (there, status):
        if status.st_uid not in owners:
            raise Unreadable("what it shares belongs to another user")
        if status.st_size > BYTES_MOST:
            raise Unreadable("what it shares is too large")
        flags = access | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        file = os.open(f"/proc/self/fd/{there}", flags)
    try:
        if fcntl.fcntl(file, fcntl.F_GET_SEALS) & _SEALS != _SEALS:
            raise Unreadable("what it shares may change its size")
    except BaseException:
        os.close(file)
        raise
    return file, status
