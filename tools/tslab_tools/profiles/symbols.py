"""Names for addresses: from the files that the process had mapped, by addr2line."""

import functools
import re
import shutil
import subprocess
from collections import defaultdict
from typing import NamedTuple

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from tslab_tools.profiles.written import Mapping, Written


class Place(NamedTuple):
    function: str
    file: str
    line: int
    module: str


# What lies between the engine's way out of a program's allocation and the program, where the library is linked in.
_ENGINE = re.compile(
    r"(stack_read|take_sample|sampling_\w+|object_\w+|alloc_\w+|epoch_alloc\w*|refill_\w+|move_pages|handle_\w+|tslab_\w+)(\.\w+)*"
)
# What allocates for others: the caller is who is asked for.
_WRAPPERS = re.compile(
    r"(operator new.*|std::.*|__gnu_cxx::.*|\(anonymous namespace\)::.*alloc.*"
    r"|(x|g_|je_)?(malloc|calloc|realloc|strdup|strndup)\w*"
    r"|__libc_\w*alloc|_?PyMem_\w+|_?PyObject_\w*(Malloc|Realloc|Calloc)|posix_memalign|aligned_alloc|memalign|reallocarray)"
)


@functools.cache
def _elf(path: str) -> tuple[list[tuple[int, int, int]], str]:
    """The loaded parts of a file, as (offset, length, address), and its build id."""
    try:
        with open(path, "rb") as file:
            elf = ELFFile(file)
            parts = [
                (segment["p_offset"], segment["p_filesz"], segment["p_vaddr"])
                for segment in elf.iter_segments("PT_LOAD")
            ]
            notes = elf.get_section_by_name(".note.gnu.build-id")
            ids = [note["n_desc"] for note in notes.iter_notes()] if notes else []
            return parts, ids[0] if ids else ""
    except (OSError, ELFError):
        return [], ""


def build_id(path: str) -> str:
    return _elf(path)[1]


def address_in_file(mapping: Mapping, address: int) -> int:
    """The address that the file itself gives to what is at an address of the process."""
    offset = address - mapping.start + mapping.offset
    for begin, length, virtual in _elf(mapping.path)[0]:
        if begin <= offset < begin + length:
            return offset - begin + virtual
    return offset


def _ask(path: str, addresses: list[int]) -> dict[int, list[Place]]:
    """Places for addresses of a file: a list for each, the innermost of what was inlined first."""
    tool = shutil.which("addr2line")
    if tool is None or not _elf(path)[0]:
        return {}
    words = "".join(f"{address:#x}\n" for address in addresses)
    answer = subprocess.run(
        [tool, "-a", "-f", "-C", "-i", "-e", path], input=words, capture_output=True, text=True, check=False
    )
    found: dict[int, list[Place]] = {}
    current: list[Place] = []
    function = None
    for line in answer.stdout.splitlines():
        if re.fullmatch(r"0x[0-9a-f]{8,}", line):
            current = found.setdefault(int(line, 16), [])
            function = None
        elif function is None:
            function = line
        else:
            file, _, number = line.rpartition(":")
            digits = re.match(r"\d+", number)
            if function != "??":
                current.append(Place(function, file if file != "??" else "", int(digits[0]) if digits else 0, path))
            function = None
    return found


class Symbols:
    """Names for the frames of one written profile."""

    def __init__(self, written: Written) -> None:
        self.written = written
        self.known: dict[int, list[Place]] = {}
        wanted: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
        for stack in written.stacks.values():
            for frame in stack.frames:
                mapping = written.mapping_of(frame - 1)
                if mapping is not None and mapping.path.startswith("/"):
                    wanted[mapping.path].add((frame, address_in_file(mapping, frame - 1)))
        for path, frames in wanted.items():
            answers = _ask(path, sorted({address for _, address in frames}))
            for frame, address in frames:
                places = answers.get(address) or [Place(f"{path.rsplit('/', 1)[-1]}+{address:#x}", "", 0, path)]
                self.known[frame] = places

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

    def trace(self, number: int) -> list[Place]:
        """All places of a stack, the innermost first."""
        return [place for frame in self.frames(number) for place in self.places(frame)]

    def site(self, number: int) -> str:
        """The place of a stack that called for memory, as text."""
        trace = self.trace(number)
        place = next((place for place in trace if not _WRAPPERS.fullmatch(place.function)), trace[0] if trace else None)
        return describe(place)

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
