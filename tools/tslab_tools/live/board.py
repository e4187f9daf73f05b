"""What is on a process's board (docs/export.md): from bytes to figures, or why they are none."""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

MAGIC = b"TSLABEXP"
VERSION = 2
SECTIONS_LEAST = 4  # process, accounts, classes, labels; behind them come options, and the name of the program
_HEAD = struct.Struct("<8s6I")
_SECTION = struct.Struct("<4I")
_COPY = struct.Struct("<IIQQ16s")
_BYTES_MOST = 1 << 24  # of a copy, as far as we believe it
Row = dict[str, Any]  # numbers by name, and under `label` a text


class Unreadable(Exception):
    """These bytes are no board that we can read."""


class Newer(Unreadable):
    """A newer library has written them."""


class Torn(Unreadable):
    """No copy was whole when they were read: read again."""


@dataclass(frozen=True)
class Figures:
    """Each section but the first two is a list of rows. `labels` have their text as `label`. An older library tells no
    options, and no name of the program."""

    number: int
    pid: int  # in the process's own name space
    library: str
    process: Row
    accounts: Row  # of each account its bytes, and under NAME_untouched those without pages
    classes: list[Row]
    labels: list[Row]
    options: dict[str, str]
    changeable: frozenset[str]  # the names of those that may change while the program runs
    program: str  # the name that %e stands for in paths

    @property
    def written(self) -> float:
        """Seconds of the monotonic clock."""
        return float(self.process["written_ms"] / 1000)


def _text(raw: bytes) -> str:
    return raw.partition(b"\0")[0].decode(errors="replace")


def _part(data: bytes, start: int, length: int) -> bytes:
    if start < 0 or length < 0 or start + length > len(data):
        raise Unreadable("the board is cut off")
    return data[start : start + length]


def _names(data: bytes, start: int, count: int) -> list[str]:
    found = data[start:].split(b"\0", count)
    if len(found) <= count or not all(found[:count]):
        raise Unreadable("the board is cut off in its names")
    return [name.decode("ascii", errors="replace") for name in found[:count]]


@dataclass(frozen=True)
class _Section:
    names: list[str]
    text_bytes: int

    @property
    def row_bytes(self) -> int:
        return 8 * len(self.names) + self.text_bytes

    def row(self, raw: bytes) -> Row:
        row: Row = dict(zip(self.names, struct.unpack_from(f"<{len(self.names)}Q", raw)))
        return row | {"label": _text(raw[8 * len(self.names) :])} if self.text_bytes else row


def _sections(data: bytes, head_bytes: int, count: int) -> Iterator[_Section]:
    for number in range(count):
        raw = _part(data, _HEAD.size + number * _SECTION.size, _SECTION.size)
        names_at, columns, text_bytes, _ = _SECTION.unpack(raw)
        if not names_at <= head_bytes or text_bytes > 4096 or columns > 4096:
            raise Unreadable("the board is damaged")
        yield _Section(_names(data[:head_bytes], names_at, columns), text_bytes)


def _copy(raw: bytes, sections: list[_Section]) -> Figures | None:
    """The figures of one copy; None: it is not whole."""
    checksum, used, number, pid, library = _COPY.unpack_from(raw)
    at = _COPY.size + 4 * len(sections)
    if number == 0 or not at <= used <= len(raw) or zlib.crc32(raw[4:used]) != checksum:
        return None
    counts = struct.unpack_from(f"<{len(sections)}I", raw, _COPY.size)
    if at + sum(count * section.row_bytes for count, section in zip(counts, sections)) > used:
        raise Unreadable("the board is damaged: it counts more rows than it has")
    rows = []
    for count, section in zip(counts, sections):
        rows.append([section.row(raw[at + i * section.row_bytes :][: section.row_bytes]) for i in range(count)])
        at += count * section.row_bytes
    if not (rows[0] and rows[1]):
        raise Unreadable("the board is damaged: it has no row of the process")
    options, programs = (rows[i] if len(rows) > i else [] for i in (4, 5))
    settings = [(row, *row.get("label", "").partition("=")[::2]) for row in options]
    return Figures(
        number,
        pid,
        _text(library),
        rows[0][0],
        rows[1][0],
        rows[2],
        rows[3],
        {name: value for _, name, value in settings},
        frozenset(name for row, name, _ in settings if row.get("may_change")),
        programs[0].get("label", "") if programs else "",
    )


def parse(data: bytes) -> Figures:
    """The newest figures of a board."""
    magic, version, head_bytes, copies, copy_bytes, count, _ = _HEAD.unpack(_part(data, 0, _HEAD.size))
    if magic == bytes(len(magic)):
        raise Torn("the board is just being made")
    if magic != MAGIC:
        raise Unreadable("this is no board of tslab's")
    if version > VERSION:
        raise Newer(
            f"its board has version {version}, and this command reads versions up to {VERSION}: update tslab-tools"
        )
    if count < SECTIONS_LEAST or count > 64 or copy_bytes > _BYTES_MOST or not 0 < copies <= 16:
        raise Unreadable("the board is damaged")
    if copy_bytes < _COPY.size + 4 * count:
        raise Unreadable("the board is damaged")
    sections = list(_sections(_part(data, 0, head_bytes), head_bytes, count))
    found = [_copy(_part(data, head_bytes + i * copy_bytes, copy_bytes), sections) for i in range(copies)]
    whole = [figures for figures in found if figures]
    if not whole:
        raise Torn("no copy on the board is whole")
    return max(whole, key=lambda figures: figures.number)
