"""What is known of a process: its figures (of a board or of a report), its mappings, its threads, its heap profile."""

import os
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from tslab_tools import files
from tslab_tools.failure import Failure
from tslab_tools.live import processes
from tslab_tools.live.figures import ACCOUNTS
from tslab_tools.live.processes import TERMS, Process
from tslab_tools.live.shared_memory import read
from tslab_tools.profiles import figures, written
from tslab_tools.profiles.symbols import Symbols
from tslab_tools.profiles.wrappers import Wrappers

Row = dict[str, Any]
Sites = list[tuple[str, figures.Sum]]
_SMAPS_MOST = 1 << 27  # bytes: some 100,000 mappings
_HEAD = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \d+ *(.*)")


class Mapping(NamedTuple):
    name: str  # of the file, or of what the kernel says it is for; "": anonymous
    start: int
    rss: int
    huge: int  # bytes in transparent huge pages
    locked: int
    swapped: int
    is_ours: bool  # objects of the library, and its tables


@dataclass
class Profile:
    """A heap profile. Sites come with what has most first."""

    written: written.Written
    names: Symbols
    site: Callable[[int], str]  # of a stack

    def live(self) -> Sites:
        return figures.by_site(figures.live(self.written), self.site)

    def survivors(self, label: str) -> Sites:
        """What lives in the epochs with this label that do not drain."""
        known = self.written.epochs.items()
        wanted = {epoch for epoch, of in known if (of.state, of.label) == ("draining", label)}
        there = replace(self.written, live=[sample for sample in self.written.live if sample.epoch in wanted])
        return figures.by_site(figures.live(there), self.site)

    def wasted(self) -> Sites:
        """The free memory on pages that slots keep, by the site of the objects in these."""
        samples = [sample._replace(kept=sample.wasted) for sample in self.written.live if sample.size]
        whole = {slot: written.Kept(of.wasted, of.wasted) for slot, of in self.written.kept.items() if slot}
        return figures.by_site(figures.kept(replace(self.written, live=samples, kept=whole)), self.site)

    def pinning(self) -> float:
        """The share of all objects that keep pages which nobody else uses."""
        every = sum(sample.weight for sample in self.written.live)
        return sum(sample.weight for sample in self.written.live if sample.kept) / every if every else 0.0

    def grown(self, before: "Profile") -> Sites:
        """What lives, less what lived before."""
        sums = figures.growth(self.written, self.names, before.written, before.names)
        return [(site, found) for site, found in figures.by_site(sums, self.site) if found.bytes > 0]


@dataclass
class Evidence:
    pid: int
    program: str
    rss: int
    figures: Counter[str]  # of the process, and all totals; 0: another version of the library does not tell it
    accounts: Counter[str]  # of each the bytes that have pages
    classes: list[Row]
    labels: list[Row]
    label_limits: list[Row] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)  # by name; empty: not known
    looked: float = 0.0  # when, in seconds
    posted: float = 0.0  # when the figures are of
    age: float = 0.0
    mappings: list[Mapping] | None = None  # None: nobody tells
    work: dict[int, int] = field(default_factory=dict)  # ns that each thread has had of a processor
    profile: Profile | None = None
    why_no_profile: str = ""
    before: "Evidence | None" = None  # an earlier look

    @property
    def ours(self) -> int:
        """What the library has in memory, as its accounts tell it."""
        return sum(self.figures[term] for term in TERMS)

    @property
    def since(self) -> int:
        """By how much more of the library's memory is resident than its accounts tell."""
        return sum(one.rss for one in self.mapped(ours=True)) - self.ours if self.mappings is not None else 0

    @property
    def untouched(self) -> int:
        """What the accounts tell of and is not resident. (The live view does not ask the kernel.)"""
        return max(0, -self.since)

    def has(self, *accounts: str) -> int:
        return sum(self.accounts[account] for account in accounts)

    def option(self, name: str, default: str) -> str:
        return self.options.get(name, default)

    def part(self, size: float) -> float:
        return size / self.rss if self.rss else 0.0

    @property
    def seconds(self) -> float:
        """Between the figures of two looks. 0: there are no two."""
        return self.posted - self.before.posted if self.before else 0.0

    def grown(self, name: str) -> int:
        return self.figures[name] - self.before.figures[name] if self.before else 0

    @property
    def idle_threads(self) -> int:
        """Those that did not run between two looks."""
        old = self.before.work if self.before else {}
        return sum(1 for thread, worked in self.work.items() if old.get(thread) == worked)

    def mapped(self, ours: bool) -> list[Mapping]:
        return [mapping for mapping in self.mappings or [] if mapping.is_ours == ours]


def number(text: str) -> int:
    """Of an option: 512K."""
    power = "KMGT".find(text[-1:].upper()) + 1 if text else 0
    digits = text[:-1] if power else text
    return int(digits) << 10 * power if digits.isdecimal() else 0


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
    arena = _arena(heads)
    found = [_mapping(head, of, arena) for head, of in zip(heads, sizes)]
    return found if any(mapping.is_ours for mapping in found) else None


def _arena(heads: list[re.Match[str]]) -> range:
    """Where the library's memory lies: in the middle half of the addresses (docs/decisions/addresses.md), whose end is
    that of the stack."""
    end = next((int(head[2], 16) for head in heads if head[4] == "[stack]"), 0)
    part = (1 << end.bit_length()) >> 3
    return range(part, 5 * part)


def _mapping(head: re.Match[str], sizes: Counter[str], arena: range) -> Mapping:
    start, name = int(head[1], 16), head[4]
    ours = not name and head[3].endswith("p") and start in arena
    return Mapping(name, start, sizes["Rss"], sizes["AnonHugePages"], sizes["Locked"], sizes["Swap"], ours)


def _work(pid: int) -> dict[int, int]:
    found = {}
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            words = read(f"/proc/{pid}/task/{thread}/schedstat").split()
            found[int(thread)] = int(words[0])
    except (OSError, IndexError, ValueError):  # one has ended, or the kernel does not count it
        pass
    return found


def of_process(process: Process) -> Evidence:
    """Of one that runs, as it is now."""
    now = process.figures
    known = now.accounts
    accounts = {name: known[name] - known.get(f"{name}_untouched", 0) for name in ACCOUNTS if name in known}
    return Evidence(
        process.pid, process.program, process.rss, Counter(now.process), Counter(accounts), now.classes, now.labels,
        now.limits, now.options, processes.now(), now.taken, 0.0, smaps(process.pid),
        work=_work(process.pid),
    )  # fmt: skip


def of_report(report: Row) -> Evidence:
    """Of what a program has written with TSLAB_STATS=2."""
    accounts = {
        name: of["bytes"] - of["untouched_bytes"] for name, of in report["accounts"].items() if isinstance(of, dict)
    }
    own = {name: value for name, value in report.items() if isinstance(value, int)} | report["totals"]
    options = report.get("options", {})
    for kind, name in (("hard", "limit_bytes"), ("soft", "soft_limit_bytes")):
        own |= {f"{kind}_limit_bytes": number(options.get(name, "0"))}
    return Evidence(
        report["pid"], report["program"], report["rss_bytes"], Counter(own), Counter(accounts), report["classes"],
        report["labels"], report["label_limits"], options,
    )  # fmt: skip


def of_profile(path: Path, pid: int, runs_as: int | None = None) -> Profile:
    """`runs_as`: the number by which we know the process, if it runs."""
    profile = written.read(path)
    if profile.number("process") != pid:
        raise Failure(f"{path} is a profile of process {profile.number('process')}, not of {pid}")
    names = Symbols(profile, pid=runs_as)
    return Profile(profile, names, Wrappers(names).site)
