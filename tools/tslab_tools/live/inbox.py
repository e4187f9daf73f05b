"""The inbox of a process (docs/export.md): asks it for something, and waits for its answer."""

import contextlib
import ctypes
import fcntl
import mmap
import os
import platform
import secrets
import struct
import tempfile
import time
from types import TracebackType
from typing import Self

from tslab_tools.failure import Failure
from tslab_tools.live import board, processes, shared_memory
from tslab_tools.terminal import plain_text

FILE = "/memfd:tslab-ctl (deleted)"
MAGIC = b"TSLABCTL"
VERSION = 1
REQUEST_BYTES = ANSWER_BYTES = 1024
PATIENCE = 3.0  # seconds: a process with one thread and no keeper may not come by at all
BYTES = 4096
_HEAD = struct.Struct("<8sIIQII")  # magic, version, bell, pid, asked, answered
_BELL_AT, _ASKED_AT, _REQUEST_AT = 12, 24, 32
_ANSWER_AT = _REQUEST_AT + REQUEST_BYTES
_FUTEX_WAKE, _EVERYBODY = 1, 0x7FFFFFFF
_FUTEX = {"x86_64": 202, "aarch64": 98, "riscv64": 98}
_RING_SECONDS = 0.05
_LOOK_SECONDS = 0.002


def _give(pid: int, name: str, folder: int | None = None) -> None:
    """/proc/PID itself belongs to root where the process has changed its user."""
    if os.geteuid() == 0:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as status:
            fields = dict(line.split(":", 1) for line in status if ":" in line)
        owner = (int(fields[kind].split()[1]) for kind in ("Uid", "Gid"))
        os.chown(name, *owner, dir_fd=folder, follow_symlinks=False)


def folder_for(pid: int) -> str:
    """A new folder for temporary files, in which the process may write, as it calls it. In a root directory of its own
    it is in its /tmp, whose name may lead nowhere else: by a link it could have us make a folder anywhere."""
    root = processes.root_of(pid)
    if not root:
        folder = tempfile.mkdtemp(prefix="tslab-")
        _give(pid, folder)
        return folder
    name = f"tslab-{secrets.token_hex(8)}"
    try:
        top = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            there = os.open("tmp", os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=top)
        finally:
            os.close(top)
        try:
            os.mkdir(name, 0o700, dir_fd=there)
            _give(pid, name, there)
        finally:
            os.close(there)
    except OSError as problem:
        raise Failure(f"no folder can be made in the /tmp of process {pid}: {problem.strerror}") from problem
    return f"/tmp/{name}"


class Refused(Failure):
    """The process does not do what it was asked for."""


class Inbox:
    """It is this command's alone as long as it is open: by the lock on it, the kernel tells the process who asks."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def __enter__(self) -> Self:
        path = self._path()
        self._inner_pid, owners = processes.numbers_of(self.pid)
        try:
            self._file, status = shared_memory.opened(path, owners, os.O_RDWR)
        except board.Unreadable as problem:
            raise Failure(f"process {self.pid}: {problem}") from problem
        except PermissionError as problem:  # the process has changed its user, and may be looked at all the same
            raise Failure(f"process {self.pid}: only root and the user that started it may ask it") from problem
        try:
            if status.st_size < BYTES:
                raise Failure(f"the inbox of process {self.pid} is cut off")
            self._check()
            self._lock()
            self._memory = mmap.mmap(self._file, BYTES)
        except BaseException:
            os.close(self._file)
            raise
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._memory.close()
        os.close(self._file)

    def _path(self) -> str:
        try:
            path = processes.descriptor(self.pid, FILE)
        except OSError:
            path = None
        if path is None:
            raise Failure(processes.why_not(self.pid))
        return path

    def _check(self) -> None:
        magic, version, _, pid, _, _ = self._head()
        if version > VERSION:
            raise Failure(f"the inbox of process {self.pid} has version {version}: update tslab-tools")
        if magic != MAGIC or pid != self._inner_pid:  # a child that has not posted yet has its parent's
            raise Failure(f"process {self.pid} has no inbox yet: it makes one at its next slow allocation")

    def _lock(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while True:
            with contextlib.suppress(BlockingIOError, PermissionError):
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            if time.monotonic() > deadline:
                raise Failure(f"another command speaks with process {self.pid}")
            time.sleep(_LOOK_SECONDS)

    def _head(self) -> tuple[bytes, int, int, int, int, int]:
        return _HEAD.unpack(os.pread(self._file, _HEAD.size, 0))

    def _ring(self) -> None:
        """Wakes the library's own thread."""
        bell = ctypes.c_uint32.from_buffer(self._memory, _BELL_AT)
        bell.value += 1
        number = _FUTEX.get(platform.machine())
        if number is not None:
            ctypes.CDLL(None).syscall(number, ctypes.byref(bell), _FUTEX_WAKE, _EVERYBODY, None, None, 0)

    def ask(self, command: str, milliseconds: int = 0, patience: float = PATIENCE) -> str:
        """Returns what the process says that it has done. `milliseconds`: for how long an option is to hold."""
        request = f"{os.getpid()} {milliseconds} {command}".encode() + b"\0"
        if len(request) > REQUEST_BYTES:
            raise Failure("the command is too long")
        number = (self._head()[4] + 1) & 0xFFFFFFFF
        os.pwrite(self._file, request, _REQUEST_AT)
        os.pwrite(self._file, struct.pack("<I", number), _ASKED_AT)
        asked = rung = time.monotonic()
        self._ring()
        while self._head()[5] != number:
            now = time.monotonic()
            if now > asked + patience:
                raise Failure(self._why_silent(patience))
            if now > rung + _RING_SECONDS:
                self._ring()
                rung = now
            time.sleep(_LOOK_SECONDS)
        raw = os.pread(self._file, ANSWER_BYTES, _ANSWER_AT)
        status, _, said = raw.partition(b"\0")[0].decode(errors="replace").partition(":")
        if status != "done":
            raise Refused(f"process {self.pid}: {plain_text(said.strip())}")
        return said.strip()

    def _why_silent(self, patience: float) -> str:
        if not os.path.exists(f"/proc/{self.pid}"):
            return f"process {self.pid} has ended"
        hint = "one with a single thread answers at its next slow allocation, and at once with TSLAB_KEEPER=2"
        return f"process {self.pid} did not answer within {patience:g} s: {hint}"
