"""The shapes of what goes from one folder to the next, and of the lines of a file of results, which
docs/results-format.md describes. What json reads is trusted to have them. Results of older labs have fewer fields."""

from collections.abc import Sequence
from typing import Any, TypedDict

Environment = dict[str, str]  # of a program
Words = Sequence[object]  # of a command: each becomes a text
# Of a run: what the workload printed, and what was found out beside; which, is the workload's affair
Figures = dict[str, Any]
Run = dict[str, Any]  # the line of a run: its case, allocator and round, and its figures
Columns = dict[str, list[Any]]  # of a series of samples: by name, each as long as the others, None where none was taken
Point = tuple[int, int]  # milliseconds since the start, and KiB
Bucket = tuple[float, int]  # of a histogram: the least value in it, and how many there are; JSON has it as a list
SizeClass = dict[str, int]  # of the library's statistics


class MachineFacts(TypedDict, total=False):
    cpu: str
    cpus: int
    memory_kib: int
    kernel: str
    libc: str
    compiler: str
    python: str
    thp: str
    load_at_start: float
    commit: str | None  # with the words "with changes" where there were some
    engine: str | None  # a hash of its sources
    options: Environment


class AllocatorFacts(TypedDict, total=False):
    title: str
    allocator: str  # its name in the lab, whatever the results call it
    library: str | None  # None: the C library's own
    version: str
    source: str
    sha256: str | None
    released: str  # YYYY-MM-DD; empty where the day is not known
    environment: Environment


class CaseFacts(TypedDict, total=False):
    group: str
    title: str
    parameters: dict[str, Any]


class Header(TypedDict, total=False):
    kind: str
    format: int
    command: str
    arguments: list[str]
    started: str
    machine: MachineFacts
    marks: list[str]
    allocators: dict[str, AllocatorFacts]
    cases: dict[str, CaseFacts]
    settings: dict[str, Any]


class Series(TypedDict, total=False):
    case: str
    allocator: str
    round: int
    t_ms: list[int]
    rss_kb: list[int]


class Latency(TypedDict, total=False):
    case: str
    allocator: str
    round: int
    operation: str
    count: int
    max_ns: float
    timer_ns: float
    timer: str
    buckets: list[Bucket]
    causes: dict[str, list[tuple[float, int, int]]]  # as buckets, with page faults


class Instructions(TypedDict):
    case: str
    allocator: str
    value: float


class Accounts(TypedDict):
    accounts: dict[str, Any]  # sums, and by the account's name its bytes and untouched_bytes
    classes: list[SizeClass]
    traffic: dict[str, int]


class AccountsOf(Accounts):
    case: str
    allocator: str


class Failed(TypedDict):
    case: str
    allocator: str
    round: int
    why: str


class Footer(TypedDict, total=False):
    rounds: int
    complete: bool
    load_at_end: float
    seconds: float
    others_share: float
