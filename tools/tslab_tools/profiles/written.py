"""What the library has written: a profile as lines of words and numbers."""

import bisect
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tslab_tools.failure import Failure


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
    head: dict[str, str] = field(default_factory=dict)
    stacks: dict[int, Stack] = field(default_factory=dict)
    live: list[Live] = field(default_factory=list)
    kept: dict[int, Kept] = field(default_factory=dict)  # by size of slot; 0: chunks
    epochs: dict[int, Epoch] = field(default_factory=dict)
    threads: dict[int, str] = field(default_factory=dict)
    maps: list[Mapping] = field(default_factory=list)

    def number(self, word: str) -> int:
        return int(self.head.get(word, 0))

    def mapping_of(self, address: int) -> Mapping | None:
        """The mapping that an address lies in; None: none has it."""
        at = bisect.bisect_right(self.maps, address, key=lambda mapping: mapping.start) - 1
        return self.maps[at] if at >= 0 and address < self.maps[at].end else None


def _mapping(line: str) -> Mapping:
    words = line.split(maxsplit=5)
    start, end = (int(part, 16) for part in words[0].split("-"))
    return Mapping(start, end, int(words[2], 16), words[5] if len(words) == 6 else "", "x" in words[1])


def _line(written: Written, line: str) -> None:
    word, _, rest = line.partition(" ")
    words = rest.split()
    if word == "stack":
        number, objects, size, peak_objects, peak = map(int, words[:5])
        frames = tuple(int(frame, 16) for frame in words[5:])
        written.stacks[number] = Stack(objects, size, peak_objects, peak, frames)
    elif word == "live":
        stack, weight, *numbers = map(int, words[:-1])
        size, slot, epoch, thread, age_ms, kept, wasted = numbers
        written.live.append(Live(stack, weight / 1000, size, slot, epoch, thread, age_ms, kept, wasted, words[-1]))
    elif word == "kept":
        size, pages, wasted = map(int, words)
        written.kept[size] = Kept(pages, wasted)
    elif word == "epoch":
        epoch, objects, size, memory, age_ms = map(int, words[:5])
        label = "".join(rest.split(" ", 6)[6:])
        written.epochs[epoch] = Epoch(objects, size, memory, age_ms, words[5], label)
    elif word == "thread":
        written.threads[int(words[0])] = rest.partition(" ")[2]
    else:
        written.head[word] = rest


def read(path: Path | str) -> Written:
    """Reads a profile. Of a file with several, the last one."""
    try:
        with open(path, encoding="utf-8", errors="replace", newline="\n") as file:
            lines = file.read().removesuffix("\n").split("\n")
    except FileNotFoundError:
        raise Failure(
            f"there is no file {path}. A program writes its profile when it ends, to the file that its option profile "
            "names: tslab run --profile 512K,FILE -- PROGRAM"
        ) from None
    except OSError as failure:
        raise Failure(f"{path} cannot be read: {failure.strerror}") from failure
    starts = [i for i, line in enumerate(lines) if line.startswith("tslab-profile ")]
    if not starts:
        raise Failure(f"{path} is no profile of tslab")
    written = Written(path)
    in_maps = False
    try:
        for line in lines[starts[-1] :]:
            if in_maps:
                written.maps.append(_mapping(line))
            elif line == "maps":
                in_maps = True
            else:
                _line(written, line)
    except (ValueError, IndexError, TypeError) as wrong:
        raise Failure(f"{path}: this line is none of a profile: {line}") from wrong
    if written.number("tslab-profile") != 1:
        raise Failure(f"{path} has a form that this version does not know: {written.head['tslab-profile']}")
    return written


def weight(size: float, period: int) -> float:
    """How many objects of a size a sampled one stands for."""
    return 1 / -math.expm1(-size / period)
