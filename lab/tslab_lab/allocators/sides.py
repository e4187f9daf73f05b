"""What stands on one side of a comparison: an allocator, or a library by its path, each with or without options; and the
names that sides have in results."""

import re
import tempfile
from dataclasses import replace

from tslab_lab.allocators import installed
from tslab_lab.allocators.catalogue import ALLOCATORS, OURS
from tslab_lab.base import processes

BASE = "base"  # another build of ours, to be compared with it
A, B, AGAIN = "A", "B", "A2"  # of `tslab ab`; the last is A once more
EXAMPLE = "tslab@purge_delay_ms=0"
_WITH_OPTIONS = re.compile(r"(.*?)@([A-Za-z_]\w*=.*)", re.DOTALL)
_NEXT_OPTION = re.compile(r",(?=[A-Za-z_]\w*=)")  # a comma within a value is followed by no NAME=
_PROGRAM = "/bin/true"


def with_base(names, path):
    """The names of allocators, and another build of ours, where one is named."""
    return [*names, *([f"{BASE}={path}"] if path else [])]


def side(word, library):
    """The library that a user's word names, with the options as its environment and the word as its title.
    `library`: the user's own choice for tslab."""
    match = _WITH_OPTIONS.fullmatch(word)
    name, options = (match[1], _NEXT_OPTION.split(match[2])) if match else (word, [])
    if not match and word.partition("@")[0] in ALLOCATORS and "@" in word:
        raise processes.Failure(f"{word}: write options as NAME=VALUE, separated by commas, as in {EXAMPLE}")
    by_path = "/" in name
    wanted = f"X={name}" if by_path and "=" not in name else name
    here, missing = installed.found([wanted], library)
    if len(here) + len(missing) > 1:
        raise processes.Failure(f"{name} is several allocators. Name one for each side.")
    for why in missing.values():
        raise processes.Failure(f"{name} is not here: {why}")
    (found,) = here.values()
    own = _environment(found, name, options, by_path)
    result = replace(found, name=OURS if name == OURS else word, title=word, environment=found.environment | own)
    _require_no_complaint(result, own)
    return result


def _environment(library, name, options, by_path):
    """Options of tslab are written as tslab writes them, or as variables; those of others as variables."""
    result = {}
    for option in options:
        key, _, value = option.partition("=")
        if key.startswith("LD_"):
            raise processes.Failure(f"{key} is for the dynamic linker, and the lab's own: it is no option of {name}.")
        if key == key.lower():
            key = _variable(library, name, key, by_path)
        if key in result:
            raise processes.Failure(f"{name} is given {key} twice.")
        result[key] = value
    return result


def _variable(library, name, option, by_path):
    """The variable for one of tslab's options. A library that has none of that name would ignore it, and the comparison
    would be of two things that are the same."""
    if not by_path and name != OURS:
        raise processes.Failure(f"{name} takes variables of the environment, as in mimalloc3@MIMALLOC_PURGE_DELAY=0")
    if option.encode() not in library.path.read_bytes():
        raise processes.Failure(f"{library.path} knows no option {option}. (Other variables are written in capitals.)")
    return f"TSLAB_{option.upper()}"


def _require_no_complaint(library, own):
    """tslab says what it ignores, and why, on stderr."""
    if not any(variable.startswith("TSLAB_") for variable in own):
        return
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with processes.started([_PROGRAM], installed.environment(library), out, err) as process:
            process.wait(processes.TIMEOUT_SECONDS)
        err.seek(0)
        for line in err.read().decode(errors="replace").splitlines():
            if "ignored" in line and any(variable in line for variable in own):
                raise processes.Failure(f"{library.title}: {line.removeprefix('tslab: ')}")


def same(a, b):
    """Whether nothing distinguishes the two."""
    return a.sha256 == b.sha256 and a.environment == b.environment
