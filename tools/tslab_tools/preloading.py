"""Whether the lab can preload a library into a program. (tslab-run looks itself.)"""

import argparse
import os
import shutil
import struct
from pathlib import Path

from tslab_tools import files
from tslab_tools.failure import Absent, Failure

_INTERPRETER = 3  # PT_INTERP: the program asks for a dynamic linker
_TABLE_MOST = 1 << 16  # bytes


def program_of(arguments: argparse.Namespace) -> list[str]:
    """The words of the program's command line: those behind -- where it is written."""
    words: list[str] = arguments.program
    return words[1:] if words[:1] == ["--"] else words


def find(word: str) -> str:
    """The path of a program as a shell would find it."""
    if path := shutil.which(word):
        return path
    if "/" in word and os.path.exists(word):
        raise Failure(f"{word} is no program that may be executed.")
    raise Absent(f"There is no program {word}.")


def require(path: str, _library: str | Path | None = None) -> None:
    """Refuses a program that is linked statically."""
    with files.opened(path) as file:
        head = files.part(file, 0, 64)
        if len(head) < 64 or head[:5] != b"\x7fELF\2":
            return
        (offset,), (size, count) = struct.unpack_from("<Q", head, 32), struct.unpack_from("<HH", head, 54)
        table = files.part(file, offset, min(size * count, _TABLE_MOST))
    if size and _INTERPRETER not in (struct.unpack_from("<I", table, at)[0] for at in range(0, len(table) - 3, size)):
        raise Failure(f"{path} is linked statically: no library can be preloaded into it. Link it with tslab instead.")
