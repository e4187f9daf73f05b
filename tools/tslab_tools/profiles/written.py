"""What the library has written: a profile as lines of words and numbers."""

import bisect
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tslab_tools import files
from tslab_tools.failure import Failure
from tslab_tools.files import number

BYTES_MOST = 1 << 28  # of a profile
NUMBERS = ("tslab-profile", "process", "period", "page", "lost", "stackless")  # words of the head
START = "tslab-profile "
FRAMES_MOST = 1024  # of a stack; the library keeps 64
_QUOTED_MOST = 200  # characters of a line that is none


class Stack(NamedTuple):
    objects: int
    bytes: int
    peak_objects: int
    peak_bytes: int
    frames: tuple[int, ...]


class Live(NamedTuple):
    stack: int
    weight: float
    bytes: int
    size: int
    epoch: int
    thread: int
    age_ms: int
    kept: int
    wasted: int
    place: str


class Kept(NamedTuple):
    pages: int
    wasted: int


class Epoch(NamedTuple):
    objects: int
    bytes: int
    memory: int
    age_ms: int
    state: str
    label: str


class Mapping(NamedTuple):
    start: int
    end: int
    offset: int
    path: str
    is_code: bool


@dataclass
class Written:
    path: Path | str
    program: str = ""
    numbers: dict[str, int] = field(default_factory=dict)
    stacks: dict[int, Stack] = field(default_factory=dict)
    live: list[Live] = field(default_factory=list)
    kept: dict[int, Kept] = field(default_factory=dict)  # by size of slot; 0: chunks
    epochs: dict[int, Epoch] = field(default_factory=dict)
    threads: dict[int, str] = field(default_factory=dict)
    maps: list[Mapping] = field(default_factory=list)

    @property
    def title(self) -> str:
        """Whose profile it is."""
        return f"{self.program} {self.numbers.get('process', '')}".strip()

    def number(self, word: str) -> int:
        """0: the profile does not tell."""
        return self.numbers.get(word, 0)

    def mapping_of(self, address: int) -> Mapping | None:
        """The mapping that an address lies in; None: none has it."""
        at = bisect.bisect_right(self.maps, address, key=lambda mapping: mapping.start) - 1
        return self.maps[at] if at >= 0 and address < self.maps[at].end else None


def _mapping(line: str) -> Mapping:
    words = line.split(maxsplit=5)
    start, end = (number(part, 16) for part in words[0].split("-"))
    return Mapping(start, end, number(words[2], 16), words[5] if len(words) == 6 else "", "x" in words[1])


def _line(written: Written, line: str) -> None:
    word, _, rest = line.partition(" ")
    words = rest.split()
    if word == "stack":
        key, objects, size, peak_objects, peak = map(number, words[:5])
        frames = tuple(number(frame, 16) for frame in words[5 : 5 + FRAMES_MOST])
        written.stacks[key] = Stack(objects, size, peak_objects, peak, frames)
    elif word == "live":
        stack, weight, *numbers = map(number, words[:-1])
        size, slot, epoch, thread, age_ms, kept, wasted = numbers
        stands_for = max(1.0, weight / 1000)
        written.live.append(Live(stack, stands_for, size, slot, epoch, thread, age_ms, kept, wasted, words[-1]))
    elif word == "kept":
        size, pages, wasted = map(number, words)
        written.kept[size] = Kept(pages, wasted)
    elif word == "epoch":
        epoch, objects, size, memory, age_ms = map(number, words[:5])
        label = "".join(rest.split(" ", 6)[6:])
        written.epochs[epoch] = Epoch(objects, size, memory, age_ms, words[5], label)
    elif word == "thread":
        written.threads[number(words[0])] = rest.partition(" ")[2]
    elif word in NUMBERS:
        written.numbers[word] = number(rest)
    elif word == "program":
        written.program = rest


def _lines(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = end if end >= 0 else len(text)
        yield text[start:end]
        start = end + 1


def read(path: Path | str) -> Written:
    """Reads a profile. Of a file with several, the last one that is whole: its process may have been killed."""
    return next(newest_first(path))


def newest_first(path: Path | str) -> Iterator[Written]:
    """The profiles of a file, at least one. Between them there may be reports of statistics."""
    try:
        text = files.text_tail(path, BYTES_MOST)
    except FileNotFoundError:
        raise Failure(
            f"there is no file {path}. A program writes its profile when it ends, to the file that its option profile "
            "names: tslab run --profile 512K,FILE PROGRAM"
        ) from None
    except OSError as failure:
        raise Failure(f"{path} cannot be read: {failure.strerror}") from failure
    wrong = "" if START in text else f"{path} is no profile of tslab"
    some = False
    end = len(text)
    while end > 0:
        start = text.rfind(f"\n{START}", 0, end) + 1
        try:
            if text.startswith(START, start):
                yield _parsed(path, text[start:end].partition("\n{")[0])
                some = True
        except Failure as failure:
            wrong = wrong or str(failure)
        end = start
    if not some:
        raise Failure(wrong)


def _parsed(path: Path | str, text: str) -> Written:
    written = Written(path)
    in_maps = False
    line = ""
    try:
        for line in _lines(text):
            if in_maps:
                written.maps.append(_mapping(line))
            elif line == "maps":
                in_maps = True
            else:
                _line(written, line)
    except (ValueError, IndexError, TypeError) as wrong:
        raise Failure(f"{path}: this line is none of a profile: {line[:_QUOTED_MOST]}") from wrong
    if written.number("tslab-profile") != 1:
        raise Failure(f"{path} has a form that this version does not know: {written.number('tslab-profile')}")
    return written


def weight(size: float, period: int) -> float:
    """How many objects of a size a sampled one stands for."""
    return 1 / -math.expm1(-size / period)
