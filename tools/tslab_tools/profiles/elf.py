"""What a profile needs of an ELF file: where its parts are loaded, its build id, where its functions begin. It may be a
stranger's: of each part no more is read than compilers and linkers make."""

import array
import bisect
import functools
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tslab_tools import files
from tslab_tools.failure import Failure

_LOAD, _INTERPRETER, _NOTE, _EH_FRAME = 1, 3, 4, 0x6474E550
_BUILD_ID = 3
_HEADS_MOST, _NOTES_MOST, _BUILD_ID_MOST, _TABLE_MOST = 256, 4096, 64, 1 << 25  # the first is a count, others are bytes
_SORTED_TABLE = b"\x01\x1b\x03\x3b"  # version 1; pointers and pairs of 32 bits, relative; a count


@dataclass(frozen=True)
class Elf:
    parts: tuple[tuple[int, int, int], ...] = ()  # offset, length, address
    build_id: str = ""
    functions: Sequence[int] = ()  # the addresses where functions begin, which no strip removes
    has_interpreter: bool = False  # it asks for a dynamic linker

    def address(self, offset: int) -> int:
        """The address that the file gives to what is at an offset in it."""
        for begin, length, virtual in self.parts:
            if begin <= offset < begin + length:
                return offset - begin + virtual
        return offset

    def function(self, address: int) -> int | None:
        """Where the function of an address begins; None: the file does not tell."""
        at = bisect.bisect_right(self.functions, address) - 1
        return self.functions[at] if at >= 0 else None


def _notes(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 12 <= len(data):
        name, size, kind = struct.unpack_from("<3I", data, at)
        begin = at + 12 + (name + 3) // 4 * 4
        yield kind, data[begin : begin + size]
        at = begin + (size + 3) // 4 * 4


def _starts(data: bytes, address: int) -> Sequence[int]:
    """The table for exceptions is sorted: a pair for each function, of which the first is where it begins."""
    count = int.from_bytes(data[8:12], "little") if data.startswith(_SORTED_TABLE) else 0
    pairs = array.array("i", data[12 : 12 + min(count, (len(data) - 12) // 8) * 8])
    return array.array("q", (address + start for start in pairs[::2]))


def _read(file: int) -> Elf:
    head = files.part(file, 0, 64)
    if head[:6] != b"\x7fELF\x02\x01":
        return Elf()
    (table,), (size, count) = struct.unpack_from("<Q", head, 32), struct.unpack_from("<2H", head, 54)
    count = min(count, _HEADS_MOST)
    raw = files.part(file, table, size * count)
    heads = [struct.unpack_from("<2I4Q", raw, size * i) for i in range(count)]

    def of(kind: int) -> Iterator[tuple[int, int, int]]:
        return ((offset, length, address) for each, _, offset, address, _, length in heads if each == kind)

    parts = (files.part(file, offset, min(length, _NOTES_MOST)) for offset, length, _ in of(_NOTE))
    ids = (text for data in parts for kind, text in _notes(data) if kind == _BUILD_ID and len(text) <= _BUILD_ID_MOST)
    tables = (
        _starts(files.part(file, offset, min(length, _TABLE_MOST)), address)
        for offset, length, address in of(_EH_FRAME)
    )
    return Elf(tuple(of(_LOAD)), next(ids, b"").hex(), next(tables, ()), any(of(_INTERPRETER)))


@functools.lru_cache(maxsize=4)
def read(path: str) -> Elf:
    """Reads a file of 64 bits, little-endian. Of one that is none, or is not there, nothing is known."""
    try:
        with files.opened(path) as file:
            return _read(file)
    except (OSError, ValueError, OverflowError, struct.error, Failure):
        return Elf()
