"""What a profile needs of an ELF file: where its parts are loaded, its build id, and where its functions begin."""

import bisect
import functools
import mmap
import os
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass

_LOAD, _NOTE, _EH_FRAME = 1, 4, 0x6474E550
_BUILD_ID = 3
_SORTED_TABLE = b"\x01\x1b\x03\x3b"  # version 1; pointers and pairs of 32 bits, relative; a count


@dataclass(frozen=True)
class Elf:
    parts: tuple[tuple[int, int, int], ...] = ()  # offset, length, address
    build_id: str = ""
    functions: tuple[int, ...] = ()  # the addresses where functions begin, which no strip removes

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
    while len(data) >= 12:
        name, size, kind = struct.unpack_from("<3I", data)
        begin = 12 + (name + 3) // 4 * 4
        yield kind, data[begin : begin + size]
        data = data[begin + (size + 3) // 4 * 4 :]


def _starts(data: bytes, address: int) -> tuple[int, ...]:
    """The table for exceptions is sorted: a pair for each function, of which the first is where it begins."""
    count = int.from_bytes(data[8:12], "little") if data.startswith(_SORTED_TABLE) else 0
    return tuple(address + start for start, _ in struct.iter_unpack("<2i", data[12 : 12 + 8 * count]))


def _read(data: bytes | mmap.mmap) -> Elf:
    if data[:6] != b"\x7fELF\x02\x01":
        return Elf()
    (table,), (size, count) = struct.unpack_from("<Q", data, 32), struct.unpack_from("<2H", data, 54)
    heads = [struct.unpack_from("<2I4Q", data, table + size * i) for i in range(count)]

    def of(kind: int) -> Iterator[tuple[int, int, int]]:
        return ((offset, length, address) for each, _, offset, address, _, length in heads if each == kind)

    notes = (note for offset, length, _ in of(_NOTE) for note in _notes(data[offset : offset + length]))
    build_id = next((text.hex() for kind, text in notes if kind == _BUILD_ID), "")
    starts = (_starts(data[offset : offset + length], address) for offset, length, address in of(_EH_FRAME))
    return Elf(tuple(of(_LOAD)), build_id, next(starts, ()))


@functools.cache
def read(path: str) -> Elf:
    """Reads a file of 64 bits, little-endian. Of one that is none, or is not there, nothing is known."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):  # the name may be a stranger's
                return Elf()
            with mmap.mmap(file, 0, access=mmap.ACCESS_READ) as data:
                return _read(data)
        finally:
            os.close(file)
    except (OSError, ValueError, struct.error):
        return Elf()
