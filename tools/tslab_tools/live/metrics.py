"""The figures of processes as metrics of Prometheus: of each process, or of all processes of a program in a unit."""

import operator
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from prometheus_client import Metric
from prometheus_client.openmetrics import exposition as openmetrics

from tslab_tools.live import processes
from tslab_tools.live.figures import ACCOUNTS, CLASS_COUNTED, LABEL_FIGURES, LABEL_LIMIT_FIGURES, TOTAL_FIGURES
from tslab_tools.live.processes import Process
from tslab_tools.terminal import plain_text

OTHERS = "(others)"
_NAMES_MOST = 50  # of programs in a unit, of labels of a program: what users choose must not make series without end
_UNITS_MOST = 10000  # that are remembered
Sample = tuple[tuple[str, ...], float]  # values of the family's labels, and a number
Figure = tuple[str, str, str, str]  # name, unit, kind, help
Group = tuple[str, str]  # a program and a unit
Counts = dict[str, dict[tuple[str, ...], float]]  # of each family its samples


@dataclass(frozen=True)
class Family:
    """A counter's samples end in _total. `combine`: what two processes have together; None: nothing that means
    anything."""

    name: str
    kind: str
    help: str
    samples: Callable[[Process], Iterable[Sample]]
    labels: tuple[str, ...] = ()
    combine: Callable[[float, float], float] | None = operator.add


def _help(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def _figure(figures: Iterable[Figure], name: str) -> tuple[str, str]:
    return next((kind, text) for figure, _, kind, text in figures if figure == name)


def _of_process(figure: Figure) -> Family:
    """A family of a figure of the process. A library of another version may not have it. What was the most at any time
    is not summed up: processes may have had it at other times."""
    name, _, kind, text = figure
    return Family(
        f"tslab_{name}", kind, _help(text),
        lambda one: [((), one.figures.process[name])] if name in one.figures.process else [],
        combine=max if text.startswith("the most ") else operator.add,
    )  # fmt: skip


def _of_classes(name: str) -> Family:
    (kind, text), of = _figure(CLASS_COUNTED, name), "live_objects" if name == "live" else name

    def samples(one: Process) -> Iterable[Sample]:
        return {(str(row["size"]),): row[name] for row in one.figures.classes}.items()  # each size once

    return Family(f"tslab_class_{of}", kind, f"By size class: {text}.", samples, ("size",), None)


def _most(name: str) -> Callable[[float, float], float]:
    """Processes may have had the most at other times."""
    return max if name.startswith("peak_") else operator.add


def _of_labels(name: str) -> Family:
    kind, text = _figure(LABEL_FIGURES, name)
    samples = _by_label("labels", name)
    return Family(f"tslab_epoch_{name}", kind, f"Of the epochs with a label: {text}.", samples, ("label",), _most(name))


def _of_limits(name: str) -> Family:
    """Of limits the sum means nothing."""
    kind, text = _figure(LABEL_LIMIT_FIGURES, name)
    words, combine = f"By label that has or had a limit: {text}.", None if name == "limit_bytes" else _most(name)
    return Family(f"tslab_label_{name}", kind, words, _by_label("limits", name), ("label",), combine)


def _terms(process: Process) -> list[Sample]:
    return [((name,), process.figures.process[name]) for name in processes.TERMS]


def _accounts(suffix: str) -> Callable[[Process], list[Sample]]:
    def samples(process: Process) -> list[Sample]:
        found = process.figures.accounts
        return [((name,), found[name + suffix]) for name in ACCOUNTS if name + suffix in found]

    return samples


def _by_label(
    of: str,
    name: str,
    combine: Callable[[float, float], float] = operator.add,
    scale: int = 1,
    more: tuple[str, ...] = (),
) -> Callable[[Process], list[Sample]]:
    """Bytes that are no UTF-8 are replaced, so two labels may look the same."""

    def samples(process: Process) -> list[Sample]:
        groups: dict[tuple[str, ...], float] = {}
        for row in getattr(process.figures, of):
            key = (plain_text(row["label"]) if row.get("labels", 1) <= 1 else OTHERS, *more)
            if name in row:  # a library of an earlier version may not tell it
                groups[key] = combine(groups[key], row[name]) if key in groups else row[name]
        return [(key, value / scale if scale > 1 else value) for key, value in groups.items()]

    return samples


def _states(process: Process) -> Iterator[Sample]:
    for state in ("open", "closing", "draining"):
        yield from _by_label("labels", state, more=(state,))(process)


def _limits(process: Process) -> list[Sample]:
    own = process.figures.process
    return [((name,), own[f"{name}_limit_bytes"]) for name in ("hard", "soft") if own[f"{name}_limit_bytes"]]


def _pressure(process: Process) -> list[Sample]:
    own = process.figures.process
    return [((name,), own[f"{name}_pressure"]) for name in ("soft", "container")]


def _one(process: Process) -> list[Sample]:
    return [((plain_text(process.figures.library),), 1)]


def _own(name: str, scale: int = 1) -> Callable[[Process], list[Sample]]:
    return lambda one: [((), one.figures.process[name] / scale if scale > 1 else one.figures.process[name])]


FAMILIES = (
    Family("tslab_processes", "gauge", "Processes, by the version of the library.", _one, ("library",)),
    Family("tslab_uptime_seconds", "gauge", "Since the library started.", _own("uptime_ms", 1000), combine=max),
    Family("tslab_rss_bytes", "gauge", "Resident memory.", lambda process: [((), process.rss)]),
    Family("tslab_rss_peak_bytes", "gauge", "The most that was resident.", _own("peak_rss_bytes"), combine=None),
    Family("tslab_memory_bytes", "gauge", "Memory of the library that has pages, by use.", _terms, ("use",)),
    Family("tslab_account_bytes", "gauge", "Committed bytes, by account.", _accounts(""), ("account",)),
    Family("tslab_account_untouched_bytes", "gauge", "Of these, bytes that have no pages.",
           _accounts("_untouched"), ("account",)),
    Family("tslab_limit_bytes", "gauge", "Limits that the program or its options have set.", _limits, ("limit",), None),
    Family("tslab_pressure", "gauge", "Processes that are near this limit, so that the library saves memory.",
           _pressure, ("limit",)),
    *map(_of_process, TOTAL_FIGURES),
    Family("tslab_epochs", "gauge", "Epochs that are not gone, by label and state.", _states, ("label", "state")),
    Family("tslab_epoch_oldest_seconds", "gauge",
           f"Of the epochs with a label: {_figure(LABEL_FIGURES, 'oldest_ms')[1]}.",
           _by_label("labels", "oldest_ms", max, 1000), ("label",), max),
    *map(_of_labels, ("live_bytes", "live_objects", "memory_bytes", "peak_bytes", "resident_bytes", "refused")),
    *map(_of_limits, ("limit_bytes", "used_bytes", "peak_used_bytes", "refusals")),
    *map(_of_classes, ("live", "slab_bytes", "cached_bytes", "allocations", "frees", "misses")),
)  # fmt: skip
COUNTERS = tuple(family for family in FAMILIES if family.kind == "counter" and family.combine)
READ = ("tslab_exporter_processes", "gauge", "Processes whose figures were read.")
UNREAD = ("tslab_exporter_unreadable", "gauge", "Processes whose figures could not be read, as of a newer library.")
UNSEEN = ("tslab_exporter_unseen", "gauge", "Processes that there was no time to look at.")


def names() -> set[str]:
    """Of all samples there can be."""
    every = [(family.name, family.kind) for family in FAMILIES] + [READ[:2], UNREAD[:2], UNSEEN[:2]]
    return {name + ("_total" if kind == "counter" else "") for name, kind in every}


def of_each(found: Collection[Process]) -> Iterator[Metric]:
    """Of each of these processes, without metrics that have no samples."""
    for family in FAMILIES:
        samples = (
            ({"pid": str(one.pid), "program": plain_text(one.program), "unit": plain_text(one.unit)}, key, value)
            for one in found
            for key, value in family.samples(one)
        )
        yield from _filled(family, samples)


class Sums:
    """Of programs in units, as one scrape comes after the other. A gauge is the sum, or the largest, of the processes
    that there are. A counter is all that was seen to grow since the exporter started. So it does not fall when a
    process ends, and does not jump when a child of a fork brings the counts of its parent."""

    def __init__(self) -> None:
        self._last: dict[tuple[int, int], Counts] = {}  # of each process: its file, and what it had counted
        self._grown: dict[Group, Counts] = {}
        self._names: dict[tuple[str, ...], set[str]] = {}  # names that were chosen in a unit, or by a program in it

    @property
    def pids(self) -> set[int]:
        return {pid for pid, _ in self._last}

    def metrics(self, found: Collection[Process]) -> Iterator[Metric]:
        groups: dict[Group, list[Process]] = {}
        for one in found:
            unit = plain_text(one.unit)
            groups.setdefault((self._known(plain_text(one.program), unit), unit), []).append(one)
        self._count(groups)
        for family in FAMILIES:
            if family.combine:
                yield from _filled(family, self._samples(family, groups))
        if len(self._names) > _UNITS_MOST:
            units = {unit for _, unit in groups}
            self._names = {key: value for key, value in self._names.items() if key[0] in units}

    def _known(self, name: str, *of: str) -> str:
        """The name, or (others) if too many other names were there before it."""
        names = self._names.setdefault(of, set())
        if len(names) < _NAMES_MOST:
            names.add(name)
        return name if name in names else OTHERS

    def _count(self, groups: dict[Group, list[Process]]) -> None:
        last, self._last = self._last, {}
        self._grown = {group: self._grown.get(group, {}) for group in groups}
        for group, members in groups.items():
            for one in members:
                counts = {family.name: dict(family.samples(one)) for family in COUNTERS}
                before = last.get((one.pid, one.inode), counts)
                for family in COUNTERS:
                    then, grown = before[family.name], self._grown[group].setdefault(family.name, {})
                    for key, value in counts[family.name].items():
                        known = self._key(family, group, key)
                        grown[known] = grown.get(known, 0) + max(0, value - then.get(key, 0))
                self._last[one.pid, one.inode] = counts

    def _samples(
        self, family: Family, groups: dict[Group, list[Process]]
    ) -> Iterator[tuple[dict[str, str], Any, float]]:
        for group, members in groups.items():
            labels = dict(zip(("program", "unit"), group))
            counted = family.kind == "counter"
            found = self._grown[group][family.name] if counted else self._together(family, group, members)
            for key, value in found.items():
                yield labels, key, value

    def _together(self, family: Family, group: Group, members: list[Process]) -> dict[tuple[str, ...], float]:
        together: dict[tuple[str, ...], float] = {}
        combine = family.combine
        assert combine
        for one in members:
            for key, value in family.samples(one):
                key = self._key(family, group, key)
                together[key] = combine(together[key], value) if key in together else value
        return together

    def _key(self, family: Family, group: Group, key: tuple[str, ...]) -> tuple[str, ...]:
        """These labels are chosen by the program."""
        if family.labels[:1] not in (("label",), ("library",)):
            return key
        return (self._known(key[0], group[1], group[0], family.labels[0]), *key[1:])


def of_exporter(read: int, unreadable: int, unseen: int) -> Iterator[Metric]:
    for (name, kind, text), count in ((READ, read), (UNREAD, unreadable), (UNSEEN, unseen)):
        yield from _filled(Family(name, kind, text, lambda _: ()), [({}, (), count)])


def _filled(family: Family, samples: Iterable[tuple[dict[str, str], Any, float]]) -> Iterator[Metric]:
    """Nothing if there are no samples."""
    metric = Metric(family.name, family.help, family.kind)
    name = family.name + ("_total" if family.kind == "counter" else "")
    for labels, key, value in samples:
        metric.add_sample(name, labels | dict(zip(family.labels, key)), value)
    if metric.samples:
        yield metric


def text(found: Collection[Process]) -> str:
    """Of each process, in OpenMetrics."""
    write: Callable[[SimpleNamespace], bytes] = openmetrics.generate_latest  # it has no annotations
    written = write(SimpleNamespace(collect=lambda: of_each(found)))
    return written.decode()
