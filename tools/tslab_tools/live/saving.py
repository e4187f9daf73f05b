"""What a process hands over, as a file of whoever asks."""

import itertools
import os
import re
from pathlib import Path
from typing import BinaryIO

from tslab_tools.failure import told
from tslab_tools.live.channel import PATIENCE, Channel

SUFFIXES = {"profile": "heap", "statistics": "json"}
BYTES_MOST = 1 << 28


def _new(program: str, pid: int, suffix: str) -> tuple[Path, BinaryIO]:
    """A new file in the working directory. A program may call itself whatever it likes."""
    name = re.sub(r"[^\w.+-]|^[.-]", "_", program, flags=re.ASCII) or "program"
    for number in itertools.count(1):
        path = Path(f"{name}.{pid}{f'-{number}' if number > 1 else ''}.{suffix}")
        try:
            return path, os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb")
        except FileExistsError:
            continue
    raise AssertionError


def save(channel: Channel, what: str, program: str = "", path: Path | None = None, patience: float = PATIENCE) -> Path:
    """Writes its profile or statistics to the path, or to a new file in the working directory. Returns which."""
    channel.ask(what, patience=patience)
    try:
        parts = channel.body(BYTES_MOST)
        with told("write", path or "a file here"):
            path, file = (path, path.open("wb")) if path else _new(program, channel.pid, SUFFIXES[what])
            with file:
                file.writelines(parts)
            return path
    finally:
        channel.end()
