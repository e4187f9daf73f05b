"""Asks a process that runs on tslab with TSLAB_EXPORT=1 (docs/export.md). The library's thread has a file without a
name open, in its own table of descriptors: requests and answers lie in it. The process may be anybody's. It can put a
link of any text in the file's place, to a FIFO, a device, or a file on a file system that never answers. So what is no
such file of the kernel's is not opened, nothing here waits for long, and nothing is looked for or made in the mounts of
a process."""

import contextlib
import fcntl
import functools
import itertools
import os
import stat
import struct
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from tslab_tools.failure import Failure
from tslab_tools.live import kernel
from tslab_tools.live.answers import Unreadable
from tslab_tools.terminal import plain_text

THREAD, FILE = "tslab-keeper", "/memfd:tslab-export (deleted)"
PATIENCE = 3.0  # seconds: the library looks four times a second, and an answer takes it milliseconds
_MAGIC, _VERSION = b"TSLABASK", 3
_HEAD = struct.Struct("<8sIIQIIQ")  # magic, version, zero, pid, asked, answered, bytes of the body
_ASKED_AT, _REQUEST_AT, _REQUEST_BYTES = 24, 40, 1024
_ANSWER_AT, _ANSWER_BYTES, _BODY_AT = 40 + 1024, 1024, 4096
_THREADS_MOST, _KEEPERS_MOST, _DESCRIPTORS_MOST = 4096, 4, 64  # that are looked at: of a process, so named, of each
_LOOK_SECONDS = 0.005


class Refused(Failure):
    """The process does not do what it was asked for."""


def _mount(file: int) -> bytes:
    """That of an open file, as the kernel numbers it. No file system is asked."""
    lines = kernel.read(f"/proc/self/fdinfo/{file}").split(b"\n")
    return next((line for line in lines if line.startswith(b"mnt_id:")), b"")


@functools.cache
def _home() -> tuple[bytes, int]:
    """Where the kernel keeps all files without a name: a mount that nobody else can reach, a device."""
    file = os.memfd_create("tslab-tools", os.MFD_CLOEXEC)
    try:
        return _mount(file), os.fstat(file).st_dev
    finally:
        os.close(file)


@contextlib.contextmanager
def _found(path: str) -> Iterator[tuple[int, os.stat_result]]:
    """What is there, unopened, if it is such a file."""
    file = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        mount, device = _home()
        if _mount(file) != mount:
            raise Unreadable("what it answers with is a file of another kind")
        status = os.fstat(file)
        if status.st_dev != device or not stat.S_ISREG(status.st_mode) or status.st_nlink != 0:
            raise Unreadable("what it answers with is a file of another kind")
        yield file, status
    finally:
        os.close(file)


def _threads(pid: int) -> Iterator[int]:
    """Those of the library, by name: the oldest of a process come first, and the library begins early."""
    if os.stat(f"/proc/{pid}/task").st_nlink == 3:  # it has one thread
        return
    with os.scandir(f"/proc/{pid}/task") as folder:
        numbers = sorted(int(entry.name) for _, entry in zip(range(_THREADS_MOST), folder))
    for number in numbers:
        if kernel.read(f"/proc/{pid}/task/{number}/comm") == f"{THREAD}\n".encode():
            yield number


def path_of(pid: int) -> str | None:
    """Where the file is; None: the process has none."""
    for thread in itertools.islice(_threads(pid), _KEEPERS_MOST):
        with os.scandir(f"/proc/{pid}/task/{thread}/fd") as folder:
            paths = [entry.path for _, entry in zip(range(_DESCRIPTORS_MOST), folder)]
        for path in paths:
            with contextlib.suppress(FileNotFoundError):
                if os.readlink(path) == FILE:
                    return path
    return None


class Channel:
    """One request at a time: by the lock on the file, the kernel tells the process who asks."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._file: int | None = None
        self._number = 0  # of the request that is under way; 0: none is
        self.inode, self.inner_pid = 0, pid

    def __enter__(self) -> Self:
        with self._named():
            if not self.open():
                raise Failure(kernel.why_not(self.pid))
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        """Says which process a problem is about."""
        try:
            yield
        except Unreadable as problem:
            raise Failure(f"process {self.pid}: {problem}") from problem
        except OSError as problem:
            raise Failure(kernel.why_not(self.pid)) from problem

    def open(self) -> bool:
        """False: the process has no such file."""
        self.close()
        path = path_of(self.pid)
        if path is None:
            return False
        self.inner_pid, owners = kernel.numbers_of(self.pid)
        with _found(path) as (there, status):
            if status.st_uid not in owners:
                raise Unreadable("what it answers with belongs to another user")
            try:
                self._file = os.open(f"/proc/self/fd/{there}", os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
            except PermissionError as problem:
                raise Unreadable("it has changed its user, so root alone may ask it") from problem
        self.inode, self._path = status.st_ino, path
        magic, version, _, pid, *_ = self._head()
        if version > _VERSION:
            raise Unreadable(f"it speaks version {version}: update tslab-tools")
        if (magic, version, pid) != (_MAGIC, _VERSION, self.inner_pid):
            raise Unreadable("what it answers with has another form")
        return True

    def close(self) -> None:
        """The kernel takes the lock back with the descriptor."""
        if self._file is not None:
            os.close(self._file)
        self._file, self._number = None, 0

    def is_there(self) -> bool:
        """Whether what was opened is still what the process has."""
        if self._file is None:
            return False
        try:
            with _found(self._path) as (_, status):
                return status.st_ino == self.inode
        except (OSError, Unreadable):
            return False

    def _head(self) -> tuple[bytes, int, int, int, int, int, int]:
        raw = os.pread(self._file or 0, _HEAD.size, 0)
        if len(raw) < _HEAD.size:
            raise Unreadable("what it answers with is cut off")
        return _HEAD.unpack(raw)

    def begin(self, command: str, milliseconds: int = 0) -> bool:
        """Writes a request. False: somebody else is asking. `milliseconds`: for how long an option is to hold."""
        assert self._file is not None
        request = f"{milliseconds} {command}".encode() + b"\0"
        if len(request) > _REQUEST_BYTES:
            raise Failure("the command is too long")
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return False
        self._number = self._head()[4] % 0xFFFFFFFF + 1
        try:
            os.pwrite(self._file, request, _REQUEST_AT)
            os.pwrite(self._file, struct.pack("<I", self._number), _ASKED_AT)
        except OSError as problem:
            raise Unreadable("what it answers with cannot be written") from problem
        return True

    @property
    def is_asked(self) -> bool:
        return self._number != 0

    def is_answered(self) -> bool:
        return self._number != 0 and self._head()[5] == self._number

    def said(self) -> str:
        """The answer."""
        assert self._file is not None
        raw = os.pread(self._file, _ANSWER_BYTES, _ANSWER_AT)
        status, _, rest = raw.partition(b"\0")[0].decode(errors="replace").partition(": ")
        said = plain_text(rest)
        if status == "refused":
            raise Refused(f"process {self.pid}: {said or 'it does not say why'}")
        if status != "done":
            raise Unreadable("its answer has another form")
        return said

    def body(self, most: int) -> Iterator[bytes]:
        """What came with the answer, in parts."""
        with self._named():
            length = self._head()[6]
            if length > most:
                raise Unreadable(f"its answer has {length} bytes, and {most} are read at most")
        return self._parts(length)

    def _parts(self, length: int) -> Iterator[bytes]:
        assert self._file is not None
        at = 0
        while at < length and (part := os.pread(self._file, min(1 << 20, length - at), _BODY_AT + at)):
            at += len(part)
            yield part

    def end(self) -> None:
        """Lets the next one ask."""
        if self._file is not None and self._number:
            self._number = 0
            fcntl.lockf(self._file, fcntl.LOCK_UN)

    def ask(self, command: str, milliseconds: int = 0, patience: float = PATIENCE) -> str:
        """Returns what the process says that it has done. Its body can be read until `end`."""
        deadline = time.monotonic() + patience
        self.end()
        with self._named():
            while not self.begin(command, milliseconds):
                if time.monotonic() > deadline:
                    raise Failure(f"another command speaks with process {self.pid}")
                time.sleep(_LOOK_SECONDS)
            while not self.is_answered():
                if time.monotonic() > deadline:
                    raise Failure(
                        f"process {self.pid} did not answer within {patience:g} s{kernel.why_silent(self.pid)}"
                    )
                time.sleep(_LOOK_SECONDS)
            return self.said()
