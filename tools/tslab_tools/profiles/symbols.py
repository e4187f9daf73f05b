"""Names for addresses: llvm-symbolizer reads them from the files that the process had mapped. A stranger may have made
these, so it has limits of time, memory and output, and from root only the rights of the file's owner. A name takes time
in proportion to its length."""

import contextlib
import functools
import json
import os
import re
import resource
import shutil
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable
from collections.abc import Mapping as Map
from typing import Any, NamedTuple

from tslab_tools import files
from tslab_tools.failure import Failure
from tslab_tools.live import kernel
from tslab_tools.profiles import elf
from tslab_tools.profiles.written import Mapping, Written

_GONE = " (deleted)"
SYMBOLIZER, FETCHER = "llvm-symbolizer", "debuginfod-find"
SECONDS, FETCH_SECONDS = 120, 600  # for the names of all files, for the symbols of one from a network
FILES_MOST, NAME_MOST = 512, 8192  # files that a process maps, characters of a name
_MEMORY_MOST, _OUTPUT_MOST = 1 << 34, 1 << 28  # bytes of what names them: it maps large files
_NO_GROUP = 65534
_DEFAULTS_MOST = 16  # arguments of templates in each other


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
_CLONES = re.compile(r"(?: ?\(?\.(?:constprop|isra|part|cold|lto_priv|llvm)(?:\.\d+)*\)?)+")
_RUST_HASH = re.compile(r"::h[0-9a-f]{16}$")
_RUST_ESCAPES = re.compile(r"\$(SP|BP|RF|LT|GT|LP|RP|C|u[0-9a-f]{1,6})\$|\.\.")
# What a template of C++ has by default, and strings; without templates inside but for one pair.
_STRING = re.compile(r"\bstd::(__cxx11::)?basic_string<char, std::char_traits<char>, std::allocator<char> ?>")
_DEFAULT = re.compile(r", std::(allocator|less|default_delete|hash|equal_to|char_traits)<([^<>]|<[^<>]*>)*>(?= ?[>,])")
_RUST_SIGNS = {"SP": "@", "BP": "*", "RF": "&", "LT": "<", "GT": ">", "LP": "(", "RP": ")", "C": ","}
_SIGNS_END = 0x110000


def _short(name: str) -> str:
    """Without arguments of C++'s templates that nobody writes."""
    name = _STRING.sub("std::string", name)
    for _ in range(_DEFAULTS_MOST):
        name, before = _DEFAULT.sub("", name), name
        if name == before:
            break
    return name.replace("std::__cxx11::", "std::").replace(" >", ">")


def readable(name: str) -> str:
    """A name as its author wrote it, without what compilers call their copies. llvm-symbolizer takes names of Rust's
    older kind for C++."""
    for clones in _CLONES.finditer(name):
        if clones.end() == len(name):
            name = name[: clones.start()]
    plain = _RUST_HASH.sub("", name)
    if plain == name:
        return _short(name) if "std::" in name else name

    def sign(found: re.Match[str]) -> str:
        word: str | None = found[1]
        if word is None or word in _RUST_SIGNS:
            return _RUST_SIGNS.get(word or "", "::")
        sign = int(word[1:], 16)
        return chr(sign) if sign < _SIGNS_END and not 0xD800 <= sign < 0xE000 else found[0]

    return "::".join(
        _RUST_ESCAPES.sub(sign, part.removeprefix("_") if part[:2] == "_$" else part) for part in plain.split("::")
    )


def _place(symbol: dict[str, Any], path: str, start: int | None) -> Place | None:
    """None: what is named ends before the address, which only its size, or the next function, tells."""
    name, line = symbol["FunctionName"][:NAME_MOST], symbol["Line"]
    begin = symbol.get("StartAddress")
    if not name or (start is not None and not line and begin and int(begin, 16) < start):
        return None
    return Place(readable(name), symbol["FileName"] if line else "", line, path)


def _file(mapping: Mapping, pid: int | None) -> str:
    """Where the file of a mapping can be read. That of a process which runs may have been replaced since it began, or
    lie in a container. Root is led there by the kernel, and follows no name that the process has chosen."""
    if pid is None:
        return mapping.path
    exe, of_root = f"/proc/{pid}/exe", f"/proc/{pid}/map_files/{mapping.start:x}-{mapping.end:x}"
    try:
        if os.geteuid() == 0 and os.readlink(of_root):
            return of_root
    except OSError:  # root of a container may not
        pass
    if not mapping.path.endswith(_GONE):
        return kernel.root_of(pid) + mapping.path
    try:
        return exe if os.readlink(exe) == mapping.path else of_root
    except OSError:
        return of_root


def _limit() -> None:
    for what, most in (
        (resource.RLIMIT_AS, _MEMORY_MOST),
        (resource.RLIMIT_FSIZE, _OUTPUT_MOST),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(what)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (most, most))


def _said(argv: list[str], file: int, words: str, environment: Map[str, str], seconds: float) -> str:
    """What a program that reads this open file says to these words, up to where it was ended."""
    rights: dict[str, Any] = {"env": environment}
    if os.geteuid() == 0 != (owner := os.fstat(file).st_uid):
        # The owner may command it then: it gets nothing of ours, and the terminal is none of its session.
        rights = {"user": owner, "group": _NO_GROUP, "extra_groups": [], "start_new_session": True, "env": {}}
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as said:
        given.write(words.encode())
        given.seek(0)
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(
                argv, stdin=given, stdout=said, stderr=subprocess.DEVNULL, pass_fds=[file], cwd="/",
                preexec_fn=_limit, timeout=max(0.0, seconds), check=False, **rights,
            )  # fmt: skip
        said.seek(0)
        return said.read().decode(errors="replace")


def _told(line: str) -> Any:
    """A line that is cut off tells nothing."""
    try:
        return json.loads(line) if line.startswith("{") else {}
    except ValueError:
        return {}


def _ask(path: str, file: str, debug: str, addresses: Iterable[int], seconds: float) -> dict[int, list[Place]]:
    """Places for addresses of a file: a list for each, the innermost of what was inlined first."""
    tool = shutil.which(SYMBOLIZER)
    if tool is None or not elf.read(debug).parts:
        return {}
    # A newer one would ask servers by itself: those are asked here, if at all.
    environment = {name: value for name, value in os.environ.items() if name != "DEBUGINFOD_URLS"}
    words = "".join(f"{address:#x}\n" for address in addresses)
    try:
        with files.opened(debug) as opened:
            # Its owner may have no way to it by its name, and we find symbols beside it by that.
            name = debug if os.fstat(opened).st_uid in (0, os.geteuid()) else f"/proc/self/fd/{opened}"
            answer = _said([tool, "--output-style=JSON", f"--obj={name}"], opened, words, environment, seconds)
    except (OSError, Failure):
        return {}
    found: dict[int, list[Place]] = {}
    for line in answer.split("\n"):
        told = _told(line)
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
    try:
        answer = subprocess.run(
            [tool, "debuginfo", build_id],
            env={**os.environ, "DEBUGINFOD_URLS": servers},
            capture_output=True,
            text=True,
            check=False,
            timeout=FETCH_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return None
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
        self._until = time.monotonic() + SECONDS
        wanted: defaultdict[str, dict[int, Mapping]] = defaultdict(dict)
        for frame in {frame for stack in written.stacks.values() for frame in stack.frames}:
            mapping = written.mapping_of(frame - 1)
            if mapping is not None and mapping.path.startswith("/"):
                wanted[mapping.path][frame] = mapping
        for path, frames in sorted(wanted.items(), key=lambda item: -len(item[1]))[:FILES_MOST]:
            self._name(path, _file(next(iter(frames.values())), pid), frames, servers)

    def _name(self, path: str, file: str, frames: Map[int, Mapping], servers: str) -> None:
        """All frames in one file."""
        known = elf.read(file)
        addresses = {frame: known.address(frame - 1 - of.start + of.offset) for frame, of in frames.items()}
        answers = self._answers(path, file, sorted(set(addresses.values())), servers)
        for frame, address in addresses.items():
            start = known.function(address)
            name = f"{path.rsplit('/', 1)[-1]}+{address if start is None else start:#x}"
            self.known[frame] = answers.get(address) or [Place(name, "", 0, path)]

    def _answers(self, path: str, file: str, addresses: list[int], servers: str) -> dict[int, list[Place]]:
        answers = _ask(path, file, file, addresses, self._until - time.monotonic())
        if servers and not any(places[-1].line for places in answers.values()):
            fetched = _fetched(file, servers)
            answers |= _ask(path, file, fetched, addresses, self._until - time.monotonic()) if fetched else {}
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
