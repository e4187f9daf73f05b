"""Names for addresses: llvm-symbolizer reads them from the files that the process had mapped."""

import functools
import json
import os
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from tslab_tools.live import kernel
from tslab_tools.profiles import elf
from tslab_tools.profiles.written import Mapping, Written

_GONE = " (deleted)"
SYMBOLIZER, FETCHER = "llvm-symbolizer", "debuginfod-find"


class Place(NamedTuple):
    function: str
    file: str
    line: int
    module: str

    @property
    def key(self) -> tuple[str, str]:
        return self.function, self.module

    @property
    def is_nameless(self) -> bool:
        return self.function.startswith(("0x", f"{self.module.rpartition('/')[2]}+0x"))


# What lies between the engine's way out of a program's allocation and the program, where the library is linked in.
_ENGINE = re.compile(
    r"(stack_read|take_sample|sampling_\w+|object_\w+|alloc_\w+|epoch_alloc\w*|refill_\w+|move_pages|handle_\w+|tslab_\w+)(\.\w+)*"
)
_CLONE = re.compile(r"( ?\(?\.(constprop|isra|part|cold|lto_priv|llvm)(\.\d+)*\)?)+$")
_RUST_HASH = re.compile(r"::h[0-9a-f]{16}$")
_RUST_ESCAPES = re.compile(r"\$(SP|BP|RF|LT|GT|LP|RP|C|u[0-9a-f]+)\$|\.\.")
# What a template of C++ has by default, and strings; without templates inside but for one pair.
_STRING = re.compile(r"\bstd::(__cxx11::)?basic_string<char, std::char_traits<char>, std::allocator<char> ?>")
_DEFAULT = re.compile(r", std::(allocator|less|default_delete|hash|equal_to|char_traits)<([^<>]|<[^<>]*>)*>(?= ?[>,])")
_RUST_SIGNS = {"SP": "@", "BP": "*", "RF": "&", "LT": "<", "GT": ">", "LP": "(", "RP": ")", "C": ","}


def _short(name: str) -> str:
    """Without arguments of C++'s templates that nobody writes."""
    name = _STRING.sub("std::string", name)
    shorter = _DEFAULT.sub("", name)
    while shorter != name:
        name, shorter = shorter, _DEFAULT.sub("", shorter)
    return name.replace("std::__cxx11::", "std::").replace(" >", ">")


def readable(name: str) -> str:
    """A name as its author wrote it, without what compilers call their copies. llvm-symbolizer takes names of Rust's
    older kind for C++."""
    name = _CLONE.sub("", name)
    plain = _RUST_HASH.sub("", name)
    if plain == name:
        return _short(name) if "std::" in name else name

    def sign(found: re.Match[str]) -> str:
        word: str | None = found[1]
        return "::" if word is None else _RUST_SIGNS.get(word) or chr(int(word[1:], 16))

    return "::".join(
        _RUST_ESCAPES.sub(sign, part.removeprefix("_") if part[:2] == "_$" else part) for part in plain.split("::")
    )


def _place(symbol: dict[str, Any], path: str, start: int | None) -> Place | None:
    """None: what is named ends before the address, which only its size, or the next function, tells."""
    name, line = symbol["FunctionName"], symbol["Line"]
    begin = symbol.get("StartAddress")
    if not name or (start is not None and not line and begin and int(begin, 16) < start):
        return None
    return Place(readable(name), symbol["FileName"] if line else "", line, path)


def _file(mapping: Mapping, pid: int | None) -> str:
    """Where the file of a mapping can be read. That of a process which runs may have been replaced since it began, or
    lie in a container."""
    if pid is None:
        return mapping.path
    if not mapping.path.endswith(_GONE):
        return kernel.root_of(pid) + mapping.path
    exe, of_root = f"/proc/{pid}/exe", f"/proc/{pid}/map_files/{mapping.start:x}-{mapping.end:x}"
    try:
        return exe if os.readlink(exe) == mapping.path else of_root
    except OSError:
        return of_root


def _ask(path: str, file: str, debug: str, addresses: Iterable[int]) -> dict[int, list[Place]]:
    """Places for addresses of a file: a list for each, the innermost of what was inlined first."""
    tool = shutil.which(SYMBOLIZER)
    if tool is None or not elf.read(debug).parts:
        return {}
    command = [tool, "--output-style=JSON", f"--obj={debug}"]
    words = "".join(f"{address:#x}\n" for address in addresses)
    # A newer one would ask servers by itself: those are asked here, if at all.
    environment = {name: value for name, value in os.environ.items() if name != "DEBUGINFOD_URLS"}
    answer = subprocess.run(
        command, env=environment, input=words, capture_output=True, encoding="utf-8", errors="replace", check=False
    )
    found: dict[int, list[Place]] = {}
    for line in answer.stdout.split("\n"):
        told = json.loads(line) if line.endswith("}") else {}  # a line that is cut off tells nothing
        address = int(told.get("Address", "0"), 16)
        places = [_place(each, path, elf.read(file).function(address)) for each in told.get("Symbol", [])]
        if places and places[-1]:
            found[address] = [place for place in places if place]
    return found


def _fetched(path: str, servers: str) -> str | None:
    """The file with the symbols of another one, as a server of debuginfod has it."""
    tool, build_id = shutil.which(FETCHER), elf.read(path).build_id
    if tool is None or not build_id:
        return None
    answer = subprocess.run(
        [tool, "debuginfo", build_id],
        env={**os.environ, "DEBUGINFOD_URLS": servers},
        capture_output=True,
        text=True,
        check=False,
    )
    return answer.stdout.strip() or None


class Symbols:
    """Names for the frames of one written profile."""

    def __init__(self, written: Written, servers: str = "", pid: int | None = None) -> None:
        """`pid`: of the process, if it runs."""
        self.written = written
        self.known: dict[int, list[Place]] = {}
        self.missing = (
            {} if shutil.which(SYMBOLIZER) else {SYMBOLIZER: "llvm"}
        )  # programs, and Debian's packages of them
        if servers and not shutil.which(FETCHER):
            self.missing[FETCHER] = "debuginfod"
        wanted: defaultdict[str, dict[int, int]] = defaultdict(dict)
        files: dict[str, str] = {}
        for frame in {frame for stack in written.stacks.values() for frame in stack.frames}:
            mapping = written.mapping_of(frame - 1)
            if mapping is not None and mapping.path.startswith("/"):
                file = files.setdefault(mapping.path, _file(mapping, pid))
                address = elf.read(file).address(frame - 1 - mapping.start + mapping.offset)
                wanted[mapping.path][frame] = address
        for path, frames in wanted.items():
            answers = self._answers(path, files[path], sorted(set(frames.values())), servers)
            for frame, address in frames.items():
                start = elf.read(files[path]).function(address)
                name = f"{path.rsplit('/', 1)[-1]}+{address if start is None else start:#x}"
                self.known[frame] = answers.get(address) or [Place(name, "", 0, path)]

    @staticmethod
    def _answers(path: str, file: str, addresses: list[int], servers: str) -> dict[int, list[Place]]:
        answers = _ask(path, file, file, addresses)
        if servers and not any(places[-1].line for places in answers.values()):
            fetched = _fetched(file, servers)
            answers |= _ask(path, file, fetched, addresses) if fetched else {}
        return answers

    def places(self, frame: int) -> list[Place]:
        """Where a frame is, the innermost of what was inlined first."""
        if frame not in self.known:
            mapping = self.written.mapping_of(frame - 1)
            self.known[frame] = [Place(f"{frame:#x}", "", 0, mapping.path if mapping else "")]
        return self.known[frame]

    def is_engine(self, frame: int) -> bool:
        module = self.places(frame)[0].module.rsplit("/", 1)[-1]
        return module.startswith("libtslab") or all(_ENGINE.fullmatch(place.function) for place in self.places(frame))

    @functools.cache  # noqa: B019  # as long as the profile is
    def frames(self, number: int) -> tuple[int, ...]:
        """The frames of a stack, without the engine's own."""
        stack = self.written.stacks.get(number)
        frames = list(stack.frames) if stack else []
        while frames and self.is_engine(frames[0]):
            frames.pop(0)
        return tuple(frames)

    @functools.cache  # noqa: B019
    def trace(self, number: int) -> list[Place]:
        """All places of a stack, the innermost first."""
        return [place for frame in self.frames(number) for place in self.places(frame)]

    def key(self, number: int) -> tuple[tuple[str, int], ...]:
        """What names the same stack in another profile of the same program: files and offsets."""
        parts = []
        for frame in self.frames(number):
            mapping = self.written.mapping_of(frame)
            parts.append((mapping.path, frame - mapping.start + mapping.offset) if mapping else ("", frame))
        return tuple(parts)


def describe(place: Place | None) -> str:
    if place is None:
        return "[no stack]"
    where = f" ({place.file.rsplit('/', 1)[-1]}:{place.line})" if place.line else ""
    return place.function + where
