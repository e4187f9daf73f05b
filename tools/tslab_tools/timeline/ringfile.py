"""The file of the option trace: records that the library has written, the newest of them
(src/common/record_ring.h, timeline.h)."""

import os
import struct
from dataclasses import dataclass

from tslab_tools import files
from tslab_tools.failure import Failure

BYTES_MOST = (1 << 30) + (1 << 16)  # the largest that the option trace takes, with its head
MAGIC, VERSION, RECORD_BYTES, WORDS = b"tslabrng", 1, 64, 5
EPOCH_OPEN, EPOCH_CLOSE, EPOCH_END, PURGE, LONG, MEMORY, NUMBERS, NAME, LIMIT = range(1, 10)
OPERATIONS = {1: "malloc", 2: "free", 3: "realloc", 4: "close", 5: "trim"}
LIMITS = {0: "limit", 1: "soft limit", 2: "container limit", 3: "epoch limit", 4: "instance limit", 5: "out of memory"}
_HEADER = struct.Struct("<8s4I3Q64s2000s")
_COUNTS = struct.Struct("<2Q")
_RECORD = struct.Struct(f"<{3 + WORDS}Q")
_SEQUENCE = struct.Struct("<Q")
_LINE = 64


@dataclass(frozen=True)
class Record:
    number: int
    when_ns: int
    kind: int
    part: int
    thread: int
    words: tuple[int, ...]


@dataclass(frozen=True)
class Ring:
    process: int
    program: str
    names: list[str]  # of the numbers that records have in a row
    started_ns: int
    started_real_ns: int
    written: int  # records that ever were
    dropped: int
    torn: int  # places that were being written
    records: list[Record]  # in the order of their times


def text_of(raw: bytes) -> str:
    return raw.partition(b"\0")[0].decode("utf-8", errors="replace")


def words_as_text(words: tuple[int, ...]) -> str:
    return text_of(struct.pack(f"<{len(words)}Q", *words))


def _entries(raw: bytes, again: bytes, begin: int, count: int) -> tuple[list[Record], int]:
    """The records that are whole; `again` is the file once more, read later: a writer may have been at work."""
    records, torn = [], 0
    for place in range(count):
        at = begin + place * RECORD_BYTES
        sequence, when_ns, what, *words = _RECORD.unpack_from(raw, at)
        if sequence == 0:
            continue
        if sequence % 2 or sequence != _SEQUENCE.unpack_from(again, at)[0]:
            torn += 1
            continue
        records.append(Record(sequence // 2 - 1, when_ns, what & 0xFF, what >> 8 & 0xFFFFFF, what >> 32, tuple(words)))
    return sorted(records, key=lambda record: (record.when_ns, record.number)), torn


def parse(raw: bytes, again: bytes, name: str = "the file") -> Ring:
    if len(raw) < _HEADER.size or raw[: len(MAGIC)] != MAGIC:
        raise Failure(f"{name} is no timeline of tslab")
    _, version, begin, record_bytes, count, process, started, real, program, names = _HEADER.unpack_from(raw)
    if (version, record_bytes) != (VERSION, RECORD_BYTES):
        raise Failure(f"{name} is a timeline of version {version}; this is version {VERSION}")
    counts = (_HEADER.size + _LINE - 1) // _LINE * _LINE
    if not counts + _COUNTS.size <= begin <= begin + count * RECORD_BYTES <= len(raw) == len(again):
        raise Failure(f"{name} is cut off")
    written, dropped = _COUNTS.unpack_from(raw, counts)
    records, torn = _entries(raw, again, begin, count)
    return Ring(process, text_of(program), text_of(names).split(), started, real, written, dropped, torn, records)


def read(path: str) -> Ring:
    with files.opened(path) as file:
        size = os.fstat(file).st_size
        if size > BYTES_MOST:
            raise Failure(f"{path} is no timeline of tslab: it is too large")
        raw = files.part(file, 0, size)
        return parse(raw, files.part(file, 0, size), path)
