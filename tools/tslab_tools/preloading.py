"""Whether the lab can preload a library into a program. (tslab-run looks itself.)"""

import argparse
import os
import shutil

from tslab_tools.failure import Absent, Failure
from tslab_tools.profiles import elf


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


def require(path: str) -> None:
    """Refuses a program that is linked statically."""
    found = elf.read(path)
    if found.parts and not found.has_interpreter:
        raise Failure(f"{path} is linked statically: no library can be preloaded into it. Link it with tslab instead.")
