"""Single keys from the terminal, without waiting for the end of a line."""

import os
import select
import sys
import termios
import tty
from collections.abc import Iterator
from typing import Self

_NAMES = {
    b"\x1b[A": "up", b"\x1bOA": "up", b"\x1b[B": "down", b"\x1bOB": "down", b"\x1b[5~": "page up",
    b"\x1b[6~": "page down", b"\x1b[H": "home", b"\x1bOH": "home", b"\x1b[1~": "home", b"\x1b[F": "end",
    b"\x1bOF": "end", b"\x1b[4~": "end", b"\x1b[D": "back", b"\x1bOD": "back", b"\x1b[C": "enter", b"\x1bOC": "enter",
    b"\x1b": "back", b"\x7f": "back", b"\x08": "back", b"\r": "enter", b"\n": "enter",
}  # fmt: skip


def split(raw: bytes) -> Iterator[str]:
    """The names of the keys that these bytes tell of; a letter is its own name, an unknown sequence is none."""
    while raw:
        length = max((n for n in range(1, 5) if raw[:n] in _NAMES), default=0)
        if length > 1 or (length == 1 and raw[:2] not in (b"\x1b[", b"\x1bO")):
            yield _NAMES[raw[:length]]
        elif raw[:1] == b"\x1b":  # unknown: up to its last byte
            length = next((n + 1 for n in range(2, len(raw)) if raw[n] >= 0x40), len(raw))
        else:
            length = 1
            if 0x20 <= raw[0] < 0x7F:
                yield chr(raw[0])
        raw = raw[length:]


class Keyboard:
    """The terminal is as it was when it ends."""

    def __enter__(self) -> Self:
        self._file = sys.stdin.fileno()
        self._before = termios.tcgetattr(self._file)
        tty.setcbreak(self._file)
        return self

    def __exit__(self, *_: object) -> None:
        termios.tcsetattr(self._file, termios.TCSADRAIN, self._before)

    def wait(self, seconds: float) -> list[str]:
        """The keys that were pressed, after at most so long."""
        if not select.select([self._file], [], [], seconds)[0]:
            return []
        raw = os.read(self._file, 256)
        return list(split(raw)) if raw else ["q"]  # the terminal is gone
