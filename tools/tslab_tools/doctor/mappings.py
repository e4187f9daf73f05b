"""The mappings of a process with their memory, as the kernel lists them, and what they are known to be."""

import bisect
import contextlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tslab_tools import files
from tslab_tools.live.kernel import read
from tslab_tools.terminal import plain_text, size

_SMAPS_MOST = 1 << 27  # bytes: some 100,000 mappings
_HEAD = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \d+ *(.*)")
_GUARD_MOST = 1 << 16  # bytes below a stack that nobody may touch
_POOL_LEAST = 1 << 20
_ENVIRONMENT_MOST = 1 << 24
# Programs with pools of their own, by a file that they map, and what most of their large anonymous mappings are.
PYTHON = "Python's own allocator"
_POOLS = (
    (re.compile(r"/(lib)?python3[^/]*$"), PYTHON),
    (re.compile(r"/(node|nodejs|chrome|chromium|libnode\.so[^/]*)$"), "V8's heap (JavaScript)"),
    (re.compile(r"/(mariadbd|mysqld)$"), "InnoDB's buffer pool"),
    (re.compile(r"/libjvm\.so$"), "Java's heap"),
)
_SHARED = re.compile(r"(/dev/zero|/SYSV[0-9a-f]+|/memfd:.*) \(deleted\)|/dev/shm/.*")


class Mapping(NamedTuple):
    name: str  # of the file, or of what the kernel says it is for; "": anonymous
    start: int
    rss: int
    huge: int  # bytes in transparent huge pages
    locked: int
    is_ours: bool  # objects of the library, and its tables
    bytes: int = 0  # of addresses
    is_stack: bool = False  # of a thread
    is_code: bool = False

    @property
    def is_file(self) -> bool:
        """It has a copy on disk, or is code that was changed at its start."""
        return self.name.startswith("/") and not _SHARED.fullmatch(self.name)


def smaps(pid: int) -> list[Mapping] | None:
    """All mappings with their memory. None: the system does not tell, or the library's are not where we look."""
    lines = read(f"/proc/{pid}/smaps", _SMAPS_MOST).decode(errors="replace").split("\n")
    heads: list[re.Match[str]] = []
    sizes: list[Counter[str]] = []
    for line in lines:
        head = _HEAD.match(line)
        if head:
            heads.append(head)
            sizes.append(Counter())
        elif heads and line.endswith(" kB"):
            word, _, rest = line.partition(":")
            sizes[-1][word] = files.number(rest[:-3].strip()) << 10
    arena, (pointers, are_all) = _arena(heads), _stack_pointers(pid)
    found = []
    for head, of, before in zip(heads, sizes, [None, *heads]):
        at = bisect.bisect_left(pointers, int(head[1], 16))
        is_stack = at < len(pointers) and pointers[at] < int(head[2], 16)
        found.append(_mapping(head, of, arena, is_stack or (not are_all and _is_above_guard(head, before))))
    return found if any(mapping.is_ours for mapping in found) else None


def _stack_pointers(pid: int) -> tuple[list[int], bool]:
    """Of its threads, sorted, and whether these are all: of one that runs just now, the kernel does not tell."""
    found, count = [], 0
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            count += 1
            words = read(f"/proc/{pid}/task/{thread}/syscall").split()  # number, arguments, stack, instruction
            if len(words) > 2:
                found.append(int(words[-2], 16))
    return sorted(found), len(found) == count


def _arena(heads: list[re.Match[str]]) -> range:
    """Where the library's memory lies: in the middle half of the addresses (docs/decisions/addresses.md), whose end is
    that of the stack."""
    end = next((int(head[2], 16) for head in heads if head[4] == "[stack]"), 0)
    part = (1 << end.bit_length()) >> 3
    return range(part, 5 * part)


def _is_above_guard(head: re.Match[str], before: re.Match[str] | None) -> bool:
    """As libc puts the stacks of threads: a few pages that nobody may touch, and right above them the stack."""
    if before is None or before[2] != head[1] or before[4] or before[3] != "---p":
        return False
    return int(before[2], 16) - int(before[1], 16) <= _GUARD_MOST and head[3].startswith("rw")


def _mapping(head: re.Match[str], sizes: Counter[str], arena: range, is_stack: bool) -> Mapping:
    start, end, name = int(head[1], 16), int(head[2], 16), head[4]
    private = not name and head[3].endswith("p")
    ours = private and start in arena
    return Mapping(
        name, start, sizes["Rss"], sizes["AnonHugePages"], sizes["Locked"], ours, end - start,
        private and is_stack and not ours, "x" in head[3],
    )  # fmt: skip


def pool_of(pid: int, mappings: Sequence[Mapping]) -> str:
    """What the large anonymous mappings of this program are likely to be; "": nobody knows."""
    if b"PYTHONMALLOC=malloc" in read(f"/proc/{pid}/environ", _ENVIRONMENT_MOST).split(b"\0"):
        return ""
    names = {mapping.name for mapping in mappings if mapping.name.startswith("/")}
    return next((pool for pattern, pool in _POOLS if any(map(pattern.search, names))), "")


def by_use(mappings: Sequence[Mapping], pool: str) -> Counter[str]:
    """The memory of mappings by what they are, as text. Many of the same size are one line."""
    stacks = sum(one.is_stack for one in mappings)
    sums: Counter[str] = Counter()
    anonymous: dict[int, list[Mapping]] = {}
    for one in mappings:
        if one.is_stack:
            sums["the stack of a thread" if stacks == 1 else f"stacks of {stacks:,} threads"] += one.rss
        elif one.name:
            sums[_called(one.name, mappings)] += one.rss
        elif pool and one.bytes >= _POOL_LEAST:
            sums[f"anonymous, most likely {pool}"] += one.rss
        else:
            anonymous.setdefault(one.bytes, []).append(one)
    for length, some in anonymous.items():
        same = f"{len(some):,} anonymous mappings of {size(length)} each"
        sums[f"anonymous, at {some[0].start:x}" if len(some) == 1 else same] += sum(one.rss for one in some)
    return +sums


def _called(name: str, mappings: Iterable[Mapping]) -> str:
    if name != "/dev/zero (deleted)" and not name.startswith("/SYSV"):
        return plain_text(name)
    is_postgres = any(one.name.endswith("/postgres") for one in mappings)
    return (
        f"{plain_text(name)}: shared memory of {'all processes of PostgreSQL' if is_postgres else 'several processes'}"
    )
