"""Files that a user or a process names, or that others wrote. They are looked at before they are opened: only a regular
file is. So no device and no FIFO is opened, nothing waits, and no more is read than a reader asks for. Numbers in such
files come by `number`."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator

from tslab_tools.failure import Failure

NUMBER_MOST = (1 << 64) - 1  # the library writes no larger number
_DIGITS_MOST = 20
_OFFSETS_END = 1 << 62  # no file of the system's is longer


def number(text: str | bytes, base: int = 10) -> int:
    """A number as the library writes it. Sums and products of a few such numbers are within what a float can hold."""
    if len(text) > _DIGITS_MOST or not text.isalnum() or (value := int(text, base)) > NUMBER_MOST:
        raise ValueError(f"no number of the library's: {text[: 2 * _DIGITS_MOST]!r}")
    return value


def no_number(text: str) -> float:
    """The library writes none with a fraction, and none that is not finite."""
    raise ValueError(f"no number of the library's: {text[: 2 * _DIGITS_MOST]!r}")


@contextlib.contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[int]:
    """A descriptor to read a regular file. An OSError tells why there is none; Failure, that it is of another kind."""
    there = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if stat.S_ISDIR(mode := os.fstat(there).st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
        if not stat.S_ISREG(mode):
            raise Failure(f"{os.fspath(path)} is no regular file")
        # Its owner may hold a lease on it: then this does not wait, either.
        file = os.open(f"/proc/self/fd/{there}", os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    finally:
        os.close(there)
    try:
        yield file
    finally:
        os.close(file)


def part(file: int, offset: int, length: int) -> bytes:
    """Of an open file; less where it ends before."""
    found = bytearray()
    length = length if offset < _OFFSETS_END else 0
    while len(found) < length and (more := os.pread(file, length - len(found), offset + len(found))):
        found += more
    return bytes(found)


def tail(path: str | os.PathLike[str], most: int) -> bytes:
    """The last bytes of a file, for what is written one behind the other."""
    with opened(path) as file:
        size = os.fstat(file).st_size  # 0 for a file of the kernel's, which may wait
        return part(file, max(0, size - most), min(size, most))


def text_tail(path: str | os.PathLike[str], most: int) -> str:
    return tail(path, most).decode("utf-8", errors="replace")
