"""Boards as the library writes them, and as it would not: bytes for tests of what reads them."""

import fcntl
import struct
import zlib

import tslab_test  # noqa: F401  # the path of the tools
from tslab_tools.live import board, figures, processes

NAMES = (
    [row[0] for row in (*figures.BOARD_FIGURES, *figures.PROCESS_FIGURES, *figures.TOTAL_FIGURES)],
    [part for name in figures.ACCOUNTS for part in (name, f"{name}_untouched")],
    [row[0] for row in figures.CLASS_COUNTED],
    [row[0] for row in figures.LABEL_FIGURES],
    ["may_change"],
    [],
    [row[0] for row in figures.LABEL_LIMIT_FIGURES],
)
TEXTS = (0, 0, 0, 32, 320, 64, 32)
COPY = struct.Struct("<QQ16s")


def copy_of(number, rows, pid=4711):
    """A copy. `rows`: for each section a list of rows, which are lists of numbers, at last perhaps a text."""
    body = COPY.pack(number, pid, b"0.2.0") + struct.pack(f"<{len(rows)}I{4 * (len(rows) % 2)}x", *map(len, rows))
    for each, text_bytes in zip(rows, TEXTS):
        for row in each:
            body += struct.pack(f"<{len(row) - bool(text_bytes)}Q", *(row[:-1] if text_bytes else row))
            body += row[-1].ljust(text_bytes, b"\0") if text_bytes else b""
    body = struct.pack("<I", len(body) + 8) + body
    return struct.pack("<I", zlib.crc32(body)) + body


def rows_of(value, labels=(b"request",)):
    return [
        *([[value] * len(names)] for names in NAMES[:3]),
        [[value] * len(NAMES[3]) + [label] for label in labels],
        [[1, b"purge=lazy"], [0, b"trace=a=b,4M"]],
        [[b"redis-server"]],
        [[value] * len(NAMES[6]) + [label] for label in labels],
    ]


def board_of(copies, version=2, copy_bytes=8192, names=NAMES):
    sections, texts = b"", b""
    at = 32 + 16 * len(names)
    for each, text_bytes in zip(names, TEXTS):
        sections += struct.pack("<4I", at + len(texts), len(each), text_bytes, 0)
        texts += "".join(f"{name}\0" for name in each).encode()
    head_bytes = -(-(at + len(texts)) // 8) * 8
    head = struct.pack("<8s6I", board.MAGIC, version, head_bytes, len(copies), copy_bytes, len(names), 0)
    whole = (head + sections + texts).ljust(head_bytes, b"\0")
    return whole + b"".join(copy.ljust(copy_bytes, b"\0") for copy in copies), head_bytes


def process_of(value=0, before=None, labels=(b"request",), **own):
    """A process whose figures all have this value, but for those that are named."""
    process = processes.Process(1 << 30)  # there is none
    for name, number, each in (("before", 1, before), ("figures", 2, value)):
        if each is not None:
            data, _ = board_of([copy_of(number, rows_of(each, labels))])
            figures = board.parse(data)
            figures.process.update({"written_ms": number * 1000} | (own if name == "figures" else {}))
            setattr(process, name, figures)
    return process


SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW


def of(data):
    """The same bytes, whatever the process."""
    return lambda pid: data


def true(pid, value=1 << 40):
    """A board without a lie. With so large numbers it is fresh for ever: nobody waits for the next."""
    return board_of([copy_of(1, rows_of(value), pid=pid)])[0]


def without(name):
    """A board that lacks a column."""
    names = [[column for column in each if column != name] for each in NAMES[:4]]
    rows = [[[1] * len(each)] for each in names[:3]] + [[[1] * len(names[3]) + [b"a"]]]
    return lambda pid: board_of([copy_of(1, rows, pid=pid)], names=names)[0]


def rows_that_lie(section, count, body=b"", names=NAMES[:4]):
    """A board that counts other rows than it has, with a right checksum."""

    def made(pid):
        counts = [1, 1, 0, 0]
        counts[section] = count
        rows = struct.pack("<Q", 1) * (len(names[0]) + len(names[1])) + body
        copy = COPY.pack(1, pid, b"0.2.0") + struct.pack("<4I", *counts) + rows
        copy = struct.pack("<I", len(copy) + 8) + copy
        copy = struct.pack("<I", zlib.crc32(copy)) + copy
        return board_of([copy], copy_bytes=len(copy), names=names)[0]

    return made


EMPTY = (NAMES[0], NAMES[1], [], NAMES[3])
# What it has on its board, its size, its seals: and what is said of it.
LIES = {
    "nothing": (of(b""), 0, SEALS, "cut off"),
    "zeros": (of(b""), 8192, SEALS, "ever whole"),
    "a terabyte": (true, 1 << 40, SEALS, "too large"),
    "more than a board": (true, board.BYTES_MOST + 1, SEALS, "too large"),
    "no seals": (true, 0, 0, "may change its size"),
    "half of the seals": (true, 0, fcntl.F_SEAL_GROW, "may change its size"),
    "no written_ms": (without("written_ms"), 0, SEALS, "no written_ms"),
    "no size": (without("size"), 0, SEALS, "no size"),
    "no labels": (without("labels"), 0, SEALS, "no labels"),
    "rows without bytes": (rows_that_lie(2, 0xFFFFFFFF, names=EMPTY), 0, SEALS, "no .* in its section of classes"),
    "rows that are not there": (rows_that_lie(2, 0xFFFFFFFF), 0, SEALS, "more rows"),
    "too many rows": (rows_that_lie(2, 4000, bytes(4000 * 8 * len(NAMES[2]))), 0, SEALS, "more rows"),
    "two processes": (rows_that_lie(0, 2, bytes(8 * len(NAMES[0]))), 0, SEALS, "not one row"),
    "no process": (rows_that_lie(0, 0), 0, SEALS, "not one row"),
}
