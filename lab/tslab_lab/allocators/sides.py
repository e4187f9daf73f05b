"""What takes part in a comparison: an allocator, or a library by its path, each with or without options; and the names
that sides have in results."""

import argparse
import re
import sys
import tempfile
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from tslab_lab.allocators import installed
from tslab_lab.allocators.catalogue import ALLOCATORS, GROUPS, OURS
from tslab_lab.allocators.installed import Library
from tslab_lab.base import processes
from tslab_lab.base.shapes import Environment
from tslab_tools import drop_in

A, B, AGAIN = "A", "B", "A2"  # of `lab ab`; the last is A once more
EXAMPLE = "tslab@purge_delay_ms=0"
_WITH_OPTIONS = re.compile(r"(.*?)@([A-Za-z_]\w*=.*)", re.DOTALL)
_NEXT_OPTION = re.compile(r",(?=[A-Za-z_]\w*=)")  # a comma within a value is followed by no NAME=
_OPTION = re.compile(r"[A-Za-z_]\w*=[^/]*")
_PROGRAM = "/bin/true"


def add_option(parser: argparse.ArgumentParser, default: Sequence[str] = ("all",)) -> None:
    """The options that every sub-command has which measures: here(arguments.allocators, arguments.library)."""
    parser.add_argument(
        "--allocators",
        type=words,
        default=list(default),
        metavar="A,B,...",
        help=f"some of: {', '.join(ALLOCATORS)}; 'all' that are here; 'newest', of each the "
        f"newest; 'debian' for {', '.join(GROUPS['debian'])}; or "
        f"any library to preload, as PATH or NAME=PATH; each also with options, as {EXAMPLE} (default: "
        f"{','.join(default)})",
    )
    drop_in.add_option(parser)


def words(text: str) -> list[str]:
    """The words between commas. A comma within options belongs to them: what follows it is NAME=VALUE, not NAME=PATH."""
    found: list[str] = []
    for word in installed.words(text):
        if found and "@" in found[-1] and _OPTION.fullmatch(word):
            found[-1] += f",{word}"
        else:
            found.append(word)
    return found


def here(names: Sequence[str], library: Path | None = None) -> dict[str, Library]:
    """Those that are here, as dict name -> Library, in this order; who takes no part is said on stderr, and is an error
    only with options."""
    found: dict[str, Library] = {}
    plain = [name for name in names if not _WITH_OPTIONS.fullmatch(name)]
    present, missing = installed.found(plain, library) if plain or not names else ({}, {})
    for name in names:
        if name not in plain:
            one = side(name, library)
            found[_name_of(name)] = replace(one, name=_name_of(name))
    for name, why in missing.items():
        print(f"lab: {name} takes no part: {why}", file=sys.stderr)
    return present | found


def _name_of(word: str) -> str:
    """What it is called in results: without a path."""
    name, _, options = word.partition("@")
    name, _, path = name.partition("=") if "=" in name else ("", "", name)
    return f"{name or (installed.name_of(path) if '/' in path else path)}@{options}"


def is_ours(name: str) -> bool:
    """Whether this is tslab as the user gets it, with or without options: no rival."""
    return name.partition("@")[0] == OURS


def have_ours(names: Collection[str]) -> bool:
    """Whether these names of allocators name the checkout's library, alone or among all."""
    return OURS in names or bool({"all", "newest"} & set(names))


def side(word: str, library: Path | None) -> Library:
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


def _environment(library: Library, name: str, options: Iterable[str], by_path: bool) -> Environment:
    """Options of tslab are written as tslab writes them, or as variables; those of others as variables."""
    result: Environment = {}
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


def _variable(library: Library, name: str, option: str, by_path: bool) -> str:
    """The variable for one of tslab's options. A library that has none of that name would ignore it, and the comparison
    would be of two things that are the same."""
    if not by_path and name != OURS:
        raise processes.Failure(f"{name} takes variables of the environment, as in mimalloc3@MIMALLOC_PURGE_DELAY=0")
    if library.path is None or option.encode() not in library.path.read_bytes():
        raise processes.Failure(f"{library.path} knows no option {option}. (Other variables are written in capitals.)")
    return f"TSLAB_{option.upper()}"


def _require_no_complaint(library: Library, own: Environment) -> None:
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
