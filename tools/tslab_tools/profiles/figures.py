"""Sums over samples: by stack, by site, by epoch, and the pages that are kept."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tslab_tools.profiles.written import Live, Written, weight

if TYPE_CHECKING:
    from tslab_tools.profiles.symbols import Symbols

SAMPLES_LEAST = 10
KINDS = {"live": "in use", "allocated": "allocated", "peak": "in use at the peak", "kept": "kept pages"}
UNSAMPLED = "[no survivor was sampled]"


@dataclass
class Sum:
    objects: float = 0
    bytes: float = 0
    samples: int = 0
    variance: float = 0  # of the bytes

    @property
    def is_rough(self) -> bool:
        """Too few samples tell it."""
        return self.samples < SAMPLES_LEAST and bool(self.variance)

    def add(self, objects: float, size: float, samples: int = 0, variance: float = 0) -> None:
        self.objects += objects
        self.bytes += size
        self.samples += samples
        self.variance += variance


def _variance(weight: float, size: float) -> float:
    """Of the estimate that an object of this size stands for `weight` such objects (Horvitz and Thompson)."""
    return weight * (weight - 1) * size**2


Sums = Mapping[Any, Sum]  # mostly by the number of a stack; None: no sample tells it
Key = Callable[[Live], Any]


def live(written: Written, key: Key = lambda sample: sample.stack) -> Sums:
    """What lives, estimated, by stack or by another key."""
    sums: defaultdict[Any, Sum] = defaultdict(Sum)
    for sample in written.live:
        sums[key(sample)].add(sample.weight, sample.weight * sample.bytes, 1, _variance(sample.weight, sample.bytes))
    return sums


def kept(written: Written, key: Key = lambda sample: sample.stack) -> Sums:
    """The kept pages by stack: objects are pages, bytes are theirs. What all objects of a size keep is known exactly.
    The samples of that size tell how it is divided."""
    shares: defaultdict[int, defaultdict[Any, Sum]] = defaultdict(lambda: defaultdict(Sum))
    all_shares: defaultdict[int, float] = defaultdict(float)
    for sample in written.live:
        if sample.kept:
            charged = sample.weight * sample.kept
            shares[sample.size][key(sample)].add(0, charged, 1, _variance(sample.weight, sample.kept))
            all_shares[sample.size] += charged
    sums: defaultdict[Any, Sum] = defaultdict(Sum)
    page = written.number("page") or 4096
    for size, of_all in written.kept.items():
        if all_shares[size] == 0:
            sums[None].add(of_all.pages / page, of_all.pages)
        for stack, share in shares[size].items():
            scale = of_all.pages / all_shares[size]
            part = scale * share.bytes
            sums[stack].add(part / page, part, share.samples, scale**2 * share.variance)
    return sums


def by_stack(written: Written, kind: str) -> Sums:
    if kind == "live":
        return live(written)
    if kind == "kept":
        return kept(written)
    sums: defaultdict[Any, Sum] = defaultdict(Sum)
    for number, stack in written.stacks.items():
        objects, size = (stack.objects, stack.bytes) if kind == "allocated" else (stack.peak_objects, stack.peak_bytes)
        if objects and size:  # how many samples it were follows from their mean size
            of_one = weight(size / objects, written.number("period") or 1)
            samples = round(objects / of_one)
            sums[number].add(objects, size, samples, variance=samples * _variance(of_one, size / objects))
    return sums


def by_site(sums: Sums, site: Callable[[int], str]) -> list[tuple[str, Sum]]:
    """The same by the place that called for memory, most first."""
    sites: defaultdict[str, Sum] = defaultdict(Sum)
    for number, found in sums.items():
        name = UNSAMPLED if number is None else site(number)
        sites[name].add(found.objects, found.bytes, found.samples, found.variance)
    return sorted(sites.items(), key=lambda item: -item[1].bytes)


def few_of(sites: list[tuple[str, Sum]], share: float = 0.8, most: int = 10) -> list[Sum]:
    """The fewest sites that have such a share."""
    total = sum(found.bytes for _, found in sites)
    few: list[Sum] = []
    for site, found in sites:
        if site == UNSAMPLED or len(few) == most or (few and sum(each.bytes for each in few) >= share * total):
            continue
        few.append(found)
    return few


def growth(written: Written, symbols: "Symbols", base: Written, base_symbols: "Symbols") -> Sums:
    """What lives by stack, less what lived in the profile before it."""
    before: defaultdict[Any, Sum] = defaultdict(Sum)
    for number, found in live(base).items():
        before[base_symbols.key(number)].add(found.objects, found.bytes, variance=found.variance)
    sums = {}
    for number, found in live(written).items():
        old = before.pop(symbols.key(number), Sum())
        variance = found.variance + old.variance
        sums[number] = Sum(found.objects - old.objects, found.bytes - old.bytes, found.samples, variance)
    return sums
