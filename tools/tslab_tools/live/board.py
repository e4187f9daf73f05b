"""What is on a process's board (docs/export.md): from bytes to figures, or why they are none. The bytes may be a
stranger's: every length and count is checked against what is there, and no work grows faster than the bytes."""

import functools
import struct
import zlib
from dataclasses import dataclass
from typing import Any

MAGIC = b"TSLABEXP"
VERSION = 2
BYTES_MOST = 1 << 20  # of a board; those of the library have some 40 KiB
# The columns that readers take for granted. All boards of this version have them; others may be there or not.
REQUIRED: dict[str, frozenset[str]] = {
    "process": frozenset(
        [
            "written_ms",
            "took_ms",
            "hard_limit_bytes",
            "soft_limit_bytes",
            "soft_pressure",
            "container_pressure",
            "uptime_ms",
            "rss_bytes",
            "peak_rss_bytes",
            "live",
            "waste",
            "caches",
            "retained",
            "metadata",
            "allocations",
            "frees",
            "refills",
            "flushes",
            "remote_frees",
            "threads",
            "purge_calls",
            "purged_bytes",
            "purge_mistakes",
            "epochs_opened",
            "epochs_closed",
            "epoch_bytes",
            "work_units",
        ]
    ),
    "accounts": frozenset(),
    "classes": frozenset(["size", "live", "allocations", "frees", "misses", "cached_bytes", "slab_bytes"]),
    "labels": frozenset(
        ["labels", "open", "closing", "draining", "oldest_ms", "live_objects", "live_bytes", "memory_bytes"]
    ),
    "options": frozenset({"may_change"}),
    "program": frozenset(),
    "limits": frozenset(["limit_bytes", "used_bytes", "refusals"]),
}
_TEXTS = ("labels", "options", "program", "limits")  # sections whose rows have a text
_SECTIONS_LEAST = 4  # an older library tells no options, no name of the program, no limits of labels
_HEAD = struct.Struct("<8s6I")
_SECTION = struct.Struct("<4I")
_COPY = struct.Struct("<IIQQ16s")
# More than these is no board of the library's.
_HEAD_MOST, _SECTIONS_MOST, _COPIES_MOST, _COLUMNS_MOST, _TEXT_MOST, _ROWS_MOST = 1 << 16, 16, 16, 512, 4096, 1024
Row = dict[str, Any]  # numbers by name, and under `label` a text


class Unreadable(Exception):
    """These bytes are no board that we can read."""


class Newer(Unreadable):
    """A newer library has written them."""


class Torn(Unreadable):
    """No copy was whole when they were read: read again."""


@dataclass(frozen=True)
class _Section:
    names: tuple[str, ...]
    text_bytes: int

    @functools.cached_property
    def form(self) -> struct.Struct:
        return struct.Struct(f"<{len(self.names)}Q{self.text_bytes}s")

    def rows(self, raw: bytes) -> list[Row]:
        return [dict(zip(self.names, row)) for row in self.form.iter_unpack(raw)]

    def labelled(self, raw: bytes) -> list[Row]:
        return [dict(zip(self.names, row)) | {"label": _text(row[-1])} for row in self.form.iter_unpack(raw)]


@dataclass(frozen=True)
class Figures:
    """Each section but the first two is a list of rows. `labels` have their text as `label`. An older library tells no
    options, no name of the program, and no limits of labels."""

    number: int
    pid: int  # in the process's own name space
    library: str
    process: Row
    accounts: Row  # of each account its bytes, and under NAME_untouched those without pages
    _more: tuple[tuple[_Section, bytes], ...]

    @functools.cached_property
    def classes(self) -> list[Row]:
        section, raw = self._more[0]
        return section.rows(raw)

    @functools.cached_property
    def labels(self) -> list[Row]:
        return self._labelled(1)

    def _labelled(self, number: int) -> list[Row]:
        section, raw = self._more[number]
        return section.labelled(raw)

    @functools.cached_property
    def _options(self) -> list[tuple[str, str, bool]]:
        rows = self._labelled(2) if len(self._more) > 2 else []
        return [(*row["label"].partition("=")[::2], bool(row["may_change"])) for row in rows]

    @property
    def options(self) -> dict[str, str]:
        return {name: value for name, value, _ in self._options}

    @property
    def changeable(self) -> frozenset[str]:
        """The names of those that may change while the program runs."""
        return frozenset(name for name, _, may_change in self._options if may_change)

    @functools.cached_property
    def limits(self) -> list[Row]:
        """Of labels."""
        return self._labelled(4) if len(self._more) > 4 else []

    @property
    def program(self) -> str:
        """The name that %e stands for in paths."""
        rows = self._labelled(3) if len(self._more) > 3 else []
        return str(rows[0]["label"]) if rows else ""

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


def _names(head: bytes, start: int, count: int) -> tuple[str, ...]:
    found = head[start:].split(b"\0", count)
    if len(found) <= count:
        raise Unreadable("the board is cut off in its names")
    names = tuple(name.decode("ascii", errors="replace") for name in found[:count])
    if not all(map(str.isidentifier, names)):
        raise Unreadable("the board is damaged in its names")
    return names


@functools.lru_cache(maxsize=16)
def _sections(head: bytes, count: int) -> tuple[_Section, ...]:
    """Processes of the same library have the same head."""
    sections = []
    for number in range(count):
        names_at, columns, text_bytes, _ = _SECTION.unpack(_part(head, _HEAD.size + number * _SECTION.size, 16))
        if names_at > len(head) or text_bytes > _TEXT_MOST or columns > _COLUMNS_MOST:
            raise Unreadable("the board is damaged")
        sections.append(_Section(_names(head, names_at, columns), text_bytes))
    for section, (name, required) in zip(sections, REQUIRED.items()):
        missing = required.difference(section.names)
        if missing or bool(section.text_bytes) != (name in _TEXTS):
            raise Unreadable(f"the board has no {min(missing, default='text')} in its section of {name}")
    return tuple(sections)


def _copy(raw: bytes, sections: tuple[_Section, ...]) -> Figures | None:
    """The figures of one copy; None: it is not whole."""
    checksum, used, number, pid, library = _COPY.unpack_from(raw)
    at = (_COPY.size + 4 * len(sections) + 7) // 8 * 8
    if number == 0 or not at <= used <= len(raw) or zlib.crc32(memoryview(raw)[4:used]) != checksum:
        return None
    found = []
    for count, section in zip(struct.unpack_from(f"<{len(sections)}I", raw, _COPY.size), sections):
        length = count * section.form.size
        if count > _ROWS_MOST or at + length > used:
            raise Unreadable("the board is damaged: it counts more rows than it has")
        found.append((section, raw[at : at + length]))
        at += length
    if len(found[0][1]) != found[0][0].form.size or len(found[1][1]) != found[1][0].form.size:
        raise Unreadable("the board is damaged: it has not one row of the process")
    process, accounts = (dict(zip(section.names, section.form.unpack(row))) for section, row in found[:2])
    return Figures(number, pid, _text(library), process, accounts, tuple(found[2:]))


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
    if not _SECTIONS_LEAST <= count <= _SECTIONS_MOST or not 0 < copies <= _COPIES_MOST or head_bytes > _HEAD_MOST:
        raise Unreadable("the board is damaged")
    if copy_bytes < _COPY.size + 4 * count or len(data) > BYTES_MOST:
        raise Unreadable("the board is damaged")
    sections = _sections(_part(data, 0, head_bytes), count)
    found = [_copy(_part(data, head_bytes + i * copy_bytes, copy_bytes), sections) for i in range(copies)]
    whole = [figures for figures in found if figures]
    if not whole:
        raise Torn("no copy on the board is whole")
    return max(whole, key=lambda figures: figures.number)
