"""What `lab epochs` measures (each variant is one program with its arguments on one allocator), and the limits."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tslab_lab.allocators.catalogue import OURS, SYSTEM
from tslab_lab.allocators.sides import BASE
from tslab_lab.base.shapes import Run
from tslab_lab.estimates import intervals
from tslab_lab.estimates.medians import Spread

EPOCHS = ("release", "vouched", "drain")
POOL, OWN_POOL, STATIC_POOL = "apr", "apr, own", "apr, static"

GROUPS = {
    "request": "225 objects of 16 to 448 bytes (always the same sizes, 53 KB), made inside of an epoch that is opened, "
    "entered, left and closed for them. release: tslab_epoch_malloc in an epoch that releases, no frees; vouched: "
    "plain malloc in an epoch that releases, no frees; drain: plain malloc in an epoch that drains, each object's "
    "first byte written, 225 frees. The peers: a pool of APR (apr_pool_create, apr_palloc, apr_pool_destroy), without "
    "frees, from the global allocator or, as a server's threads do, from one of its own without a lock; and malloc, "
    "first byte written, and free, without epochs. static: the program is linked with libtslab.a or libapr-1.a; all "
    "others call a shared library, through their table of jumps, as programs mostly do.",
    "steps": "What does not depend on objects: open+close; enter+leave; and all four, as around a request.",
    "crowd": "1,000 requests are under way at once and allocate in turns; each has 225 objects of 16 to 448 bytes, "
    "all written. RSS: what the process weighs more than before, against the bytes that were asked for; left: when all "
    "objects are freed, and the epochs closed without reclaim. epochs: each request has one of its own, plain malloc "
    "inside; the others: plain malloc.",
    "reclaim": "Close, with reclaim, of an epoch of 512 MiB: objects of 16 to 2,048 bytes, all written. release: the "
    "epoch releases, and nothing was freed. drain: it drains, and everything was freed before, in random order. MiB: "
    "what the epoch weighed at most, and when it was closed; left: when close had returned. The time of the close is "
    "shared out over all pages that the epoch had.",
    "many": "turnover: a million epochs, 64 of them at a time, come and go with 4 objects each, half of them with two "
    "that are freed after the close: growth of the RSS after the first hundredth. open: 10,000 epochs open at once, "
    "without objects.",
}


@dataclass(frozen=True)
class Variant:
    name: str
    group: str
    program: str
    way: str
    amount: int
    quick_amount: int
    allocator: str

    @property
    def label(self) -> str:
        """What it is called in a file of results, where its group is the case."""
        return f"{self.name} ({BASE})" if self.allocator == BASE else self.name

    def argv(self, directory: Path, quick: bool) -> list[str]:
        return [str(directory / self.program), self.way, str(self.quick_amount if quick else self.amount)]

    @property
    def is_peer(self) -> bool:
        """Whether it can be measured without tslab."""
        return self.program.startswith("pool") or (self.way == "malloc" and self.allocator != OURS)

    @property
    def who(self) -> str:
        return f"{self.group}: {self.name} on {self.allocator}"


def variants(allocators: Collection[str]) -> Iterator[Variant]:
    """All that can be measured on these, in the tables' order."""

    def timed(name: str, way: str, allocator: str, group: str = "request", program: str = "request") -> Variant:
        return Variant(name, group, program, way, 400, 20, allocator)

    for way in EPOCHS:
        yield timed(way, way, OURS)
    yield timed("release, static", "release", SYSTEM, program="request-static")
    yield timed(POOL, "shared", SYSTEM, program="pool")
    yield timed(OWN_POOL, "own", SYSTEM, program="pool")
    yield timed(STATIC_POOL, "shared", SYSTEM, program="pool-static")
    for allocator in allocators:
        yield timed(f"{allocator}+free", "malloc", allocator)
    for name, way in (("open+close", "empty"), ("enter+leave", "enter"), ("all four", "bracket")):
        yield timed(name, way, OURS, "steps")
    yield Variant("epochs", "crowd", "crowd", "epochs", 1000, 100, OURS)
    for allocator in allocators:
        yield Variant(allocator, "crowd", "crowd", "malloc", 1000, 100, allocator)
    for way in ("release", "drain"):
        yield Variant(f"close, {way}", "reclaim", "reclaim", way, 512, 16, OURS)
    yield Variant("turnover", "many", "many", "turnover", 1_000_000, 20_000, OURS)
    yield Variant("open", "many", "many", "open", 10_000, 1_000, OURS)


MALLOCS = ("any malloc and free",)  # as peers of a limit
Figure = Callable[[Run], float]  # all runs of a group have it


def nanoseconds(run: Run) -> float:
    return run["seconds"] / run["operations"] * 1e9


def weight(run: Run) -> float:
    return run["grown_kib"] * 1024 / run["asked_bytes"]


def left_percent(run: Run) -> float:
    return 100 * run["left_kib"] / run["grown_kib"]


def page_microseconds(run: Run) -> float:
    return run["seconds"] * 1e6 / run["pages"]


def grown_kib(run: Run) -> float:
    return run["grown_kib"]


def bytes_each(run: Run) -> float:
    return run["grown_kib"] * 1024 / run["epochs"]


@dataclass(frozen=True)
class Limit:
    name: str  # of the variant that is held to it
    figure: Figure
    most: float
    unit: str
    peers: tuple[str, ...] = ()  # the best of which is 1; none: the figure itself is judged


LIMITS = (
    Limit("release", nanoseconds, 0.75, "times an APR pool", (POOL,)),
    Limit("vouched", nanoseconds, 1.0, "times an APR pool", (POOL,)),
    Limit("drain", nanoseconds, 1.0, "times the fastest malloc and free", MALLOCS),
    Limit("open+close", nanoseconds, 60, "ns"),
    Limit("enter+leave", nanoseconds, 15, "ns"),
    Limit("epochs", weight, 1.15, "times the bytes asked for"),
    Limit("close, release", left_percent, 1, "% of the RSS left"),
    Limit("close, release", page_microseconds, 0.3, "us a page"),
    Limit("close, drain", left_percent, 1, "% of the RSS left"),
    Limit("close, drain", page_microseconds, 0.3, "us a page"),
    Limit("turnover", grown_kib, 256, "KiB of growth"),
)


class Outcome:
    """The runs of all variants: for each (name, allocator) a list, of which the i-th belongs to round i."""

    def __init__(self, variants: Sequence[Variant]) -> None:
        self.variants = variants
        self.runs: dict[tuple[str, str], list[Run]] = {(variant.name, variant.allocator): [] for variant in variants}
        self._allocators = {variant.name: variant.allocator for variant in variants if variant.allocator != BASE}

    @property
    def mallocs(self) -> list[str]:
        """Those that allocate and free without epochs, by name."""
        return [
            one.name
            for one in self.variants
            if one.way == "malloc" and one.group == "request" and one.allocator != BASE
        ]

    def add(self, variant: Variant, run: Run) -> None:
        self.runs[variant.name, variant.allocator].append(run)

    def of_group(self, group: str) -> list[Variant]:
        """Without those of the build that ours is compared with."""
        return [variant for variant in self.variants if variant.group == group and variant.allocator != BASE]

    def column(self, name: str, figure: Figure, allocator: str | None = None) -> list[float] | None:
        """None: it did not run."""
        runs = self.runs.get((name, allocator or self._allocators.get(name, "")))
        return [figure(run) for run in runs] if runs else None

    def median(self, name: str, figure: Figure, allocator: str | None = None) -> float | None:
        column = self.column(name, figure, allocator)
        return median(column) if column else None

    def interval(self, name: str, figure: Figure) -> Spread:
        """Of one that ran."""
        return intervals.interval(self.column(name, figure) or ())

    def best(self, names: Iterable[str], figure: Figure) -> str | None:
        """Of these, the one with the least of it, if any ran."""
        columns = {name: column for name in names if (column := self.column(name, figure))}
        return intervals.best(columns) if columns else None

    def against(self, name: str, other: str | None, figure: Figure) -> Spread | None:
        """The interval of one / the other, if both ran."""
        ours, theirs = self.column(name, figure), self.column(other, figure) if other else None
        return intervals.ratio(ours, theirs) if ours and theirs else None

    def against_base(self, name: str, figure: Figure) -> Spread | None:
        ours, theirs = self.column(name, figure, OURS), self.column(name, figure, BASE)
        return intervals.ratio(ours, theirs) if ours and theirs and min(theirs) > 0 else None

    def judged(self, limit: Limit) -> Spread | None:
        """The interval of what the limit is about, if all that it takes ran."""
        if not self.column(limit.name, limit.figure):
            return None
        if not limit.peers:
            return self.interval(limit.name, limit.figure)
        best = self.best(self.mallocs if limit.peers == MALLOCS else limit.peers, limit.figure)
        return self.against(limit.name, best, limit.figure) if best else None

    def met(self, limit: Limit) -> bool | None:
        found = self.judged(limit)
        return None if found is None else intervals.meets(found, limit.most)


def limit_of(name: str, figure: Figure) -> Limit | None:
    return next((limit for limit in LIMITS if limit.name == name and limit.figure is figure), None)
