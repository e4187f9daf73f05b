"""What is known of a process: its figures (of an answer or a report), its mappings, its threads, its heap profile."""

import contextlib
import math
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tslab_tools.doctor.mappings import Mapping, pool_of, smaps
from tslab_tools.failure import Failure
from tslab_tools.live import report
from tslab_tools.live.figures import ACCOUNTS
from tslab_tools.live.kernel import read
from tslab_tools.live.processes import TERMS, Process
from tslab_tools.profiles import figures, written
from tslab_tools.profiles.symbols import Symbols
from tslab_tools.profiles.wrappers import Wrappers

Row = dict[str, Any]
Sites = list[tuple[str, figures.Sum]]


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

    def part_of_dead(self, site: str) -> float:
        """The share of a site in what died since sampling began: of all sizes, or of those that the site allocates, if
        that is more."""
        dead: dict[str, float] = {}
        of_sizes: dict[str, float] = {}
        live = figures.live(self.written)
        stacks = {number: (self.site(number), of) for number, of in self.written.stacks.items() if of.objects}
        sizes = {_step(of.bytes / of.objects) for name, of in stacks.values() if name == site}
        for number, (name, of) in stacks.items():
            died = max(0.0, of.bytes - (live[number].bytes if number in live else 0))
            for sums in (dead, of_sizes) if _step(of.bytes / of.objects) in sizes else (dead,):
                sums[name] = sums.get(name, 0.0) + died
        return max(
            (sums.get(site, 0.0) / whole for sums in (dead, of_sizes) if (whole := sum(sums.values()))), default=0.0
        )

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
    mappings: list[Mapping] | None = None  # None: nobody tells
    pool: str = ""  # what large anonymous mappings of such a program are
    work: dict[int, int] = field(default_factory=dict)  # ns that each thread has had of a processor
    profile: Profile | None = None
    why_no_profile: str = ""
    before: "Evidence | None" = None  # an earlier look
    near: Row | None = None  # the limit for whose sake a report was written

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
        """What the accounts tell of and is not resident: the mappings are read a moment later."""
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
        return self.looked - self.before.looked if self.before else 0.0

    def grown(self, name: str) -> int:
        """Between two looks."""
        return self.figures[name] - self.before.figures[name] if self.before else 0

    def lately(self, name: str) -> int:
        """What a counter counted between two looks; or ever, where there are no two."""
        return self.grown(name) if self.before else self.figures[name]

    def is_set(self, option: str) -> bool:
        """Whether an option, as NAME=VALUE, has that value already."""
        name, _, value = option.partition("=")
        return self.options.get(name) == value

    @property
    def idle_threads(self) -> int:
        """Those that did not run between two looks."""
        old = self.before.work if self.before else {}
        return sum(1 for thread, worked in self.work.items() if old.get(thread) == worked)

    def mapped(self, ours: bool) -> list[Mapping]:
        return [mapping for mapping in self.mappings or [] if mapping.is_ours == ours]


def _step(size: float) -> int:
    """Size classes are a quarter apart at most."""
    return round(math.log(size, 1.25)) if size >= 1 else 0


def number(text: str) -> int:
    """Of an option: 512K."""
    power = "KMGT".find(text[-1:].upper()) + 1 if text else 0
    digits = text[:-1] if power else text
    return int(digits) << 10 * power if digits.isdecimal() else 0


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
    mapped = smaps(process.pid)
    return Evidence(
        process.pid, process.program, process.rss, Counter(now.process), Counter(accounts), now.classes, now.labels,
        now.limits, now.options, now.taken, mapped, pool_of(process.pid, mapped or []), _work(process.pid),
    )  # fmt: skip


def of_report(told: Row) -> Evidence:
    """Of what a program has written with TSLAB_STATS=2."""
    accounts = {
        name: of["bytes"] - of["untouched_bytes"] for name, of in told["accounts"].items() if isinstance(of, dict)
    }
    own = {name: value for name, value in told.items() if isinstance(value, int)} | told["totals"]
    options = told.get("options", {})
    for kind, name in (("hard", "limit_bytes"), ("soft", "soft_limit_bytes")):
        own |= {f"{kind}_limit_bytes": number(options.get(name, "0"))}
    return Evidence(
        told["pid"], told["program"], told["rss_bytes"], Counter(own), Counter(accounts), told["classes"],
        told["labels"], told["label_limits"], options, told["uptime_ms"] / 1000, near=told.get("near"),
    )  # fmt: skip


def of_profile(path: Path, pid: int, runs_as: int | None = None) -> Profile:
    """`runs_as`: the number by which we know the process, if it runs."""
    return _of_written(written.read(path), path, pid, runs_as)


def of_file(path: str) -> Evidence:
    """Of the reports in a file: growth is that between the last two, if one process wrote both. A black box may have
    heap profiles, too."""
    reports = report.last_two_in(path)
    found = of_report(reports[0])
    if len(reports) > 1 and (reports[1]["pid"], reports[1]["program"]) == (found.pid, found.program):
        before = of_report(reports[1])
        found.before = before if before.looked < found.looked else None
    found.why_no_profile = "tslab doctor FILE PROFILE"
    with contextlib.suppress(Failure, StopIteration):
        profiles = written.newest_first(path)
        found.profile = _of_written(next(profiles), path, found.pid)
        if found.before:
            found.before.profile = _of_written(next(profiles), path, found.pid)
    return found


def _of_written(profile: written.Written, path: Path | str, pid: int, runs_as: int | None = None) -> Profile:
    if profile.number("process") != pid:
        raise Failure(f"{path} is a profile of process {profile.number('process')}, not of {pid}")
    names = Symbols(profile, pid=runs_as)
    return Profile(profile, names, Wrappers(names).site)
