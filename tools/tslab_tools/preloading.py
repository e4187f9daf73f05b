"""Whether a library can be preloaded into a program. It is said before it is tried: where it cannot, the kernel and the
dynamic linker say nothing, and the program runs on the malloc that it always had."""

import argparse
import os
import shutil
import stat
import struct
from pathlib import Path

from tslab_tools import files
from tslab_tools.failure import Absent, Failure

_INTERPRETER = 3  # PT_INTERP: the program asks for a dynamic linker
_TABLE_MOST = 1 << 16  # bytes
_MOST_INTERPRETERS = 4  # a script's interpreter may be a script; the kernel follows as many


def program_of(arguments: argparse.Namespace) -> list[str]:
    """The words of the program's command line: those behind -- where it is written."""
    words: list[str] = arguments.program
    return words[1:] if words[:1] == ["--"] else words


def find(word: str) -> str:
    """The path of a program as a shell would find it."""
    path = shutil.which(word)
    if path:
        return path
    if os.path.isdir(word):
        raise Failure(f"{word} is a directory, not a program.")
    if "/" in word and os.path.exists(word):
        raise Failure(f"{word} may not be executed: make it executable (chmod +x), or name its interpreter.")
    here = f" To run the file in this directory, write ./{word}" if "/" not in word and os.path.exists(word) else ""
    raise Absent(f"There is no program {word}.{here}")


def _elf(path: str | Path) -> tuple[bytes, bool] | None:
    """(kind of machine, whether there is a dynamic linker) of a program; None for what is none."""
    with files.opened(path) as file:
        head = files.part(file, 0, 64)
        if len(head) < 64 or head[:4] != b"\x7fELF":
            return None
        order, wide = "<" if head[5] == 1 else ">", head[4] == 2
        (offset,) = struct.unpack_from(order + "Q", head, 32) if wide else struct.unpack_from(order + "I", head, 28)
        size, count = struct.unpack_from(order + "HH", head, 54 if wide else 42)
        table = files.part(file, offset, min(size * count, _TABLE_MOST))
    kinds = [struct.unpack_from(order + "I", table, at)[0] for at in range(0, len(table) - 3, size)] if size else []
    return head[4:6] + head[18:20], _INTERPRETER in kinds


def _has_capabilities(path: str) -> bool:
    try:
        return bool(os.getxattr(path, "security.capability"))
    except OSError:
        return False


def _runs_with_more_rights(path: str) -> bool:
    status = os.stat(path)
    user = status.st_mode & stat.S_ISUID and status.st_uid != os.getuid()
    group = status.st_mode & stat.S_ISGID and status.st_gid != os.getgid()
    return bool(user or group or (os.getuid() != 0 and _has_capabilities(path)))


def _interpreter_of(path: str) -> str | None:
    """The program that runs this script; None where it is no script."""
    with files.opened(path) as file:
        line = files.part(file, 0, 256).partition(b"\n")[0]
    words = line[2:].split() if line.startswith(b"#!") else []
    return os.fsdecode(words[0]) if words else None


def why_not(path: str, library: str | Path | None) -> str | None:
    """A sentence, where this library cannot get into this program; None where nothing speaks against it."""
    script = path
    for _ in range(_MOST_INTERPRETERS):
        if not os.access(path, os.R_OK):
            return None  # it may be run but not looked at
        interpreter = _interpreter_of(path)
        if interpreter is None:
            break
        if not os.path.exists(interpreter):
            return f"{script} cannot be run: its interpreter {interpreter} does not exist."
        path = interpreter
    what = path if path == script else f"{script} is run by {path}, which"
    found = _elf(path)
    if found is None:
        return f"{path} is neither a program nor a script that begins with #!."
    kind, dynamic = found
    if not dynamic:
        return f"{what} is linked statically: no library can be preloaded into it. Link it with tslab instead."
    if _runs_with_more_rights(path):
        return f"{what} runs with more rights than yours (setuid, setgid or capabilities): it ignores LD_PRELOAD."
    ours = _elf(library) if library else None
    if library and ours and ours[0] != kind:
        return f"{what} is for another kind of processor (or of 32 bits), so {Path(library).name} does not fit into it."
    return None


def require(path: str, library: str | Path | None = None) -> None:
    sentence = why_not(path, library)
    if sentence:
        raise Failure(sentence)
