"""The figures of processes as metrics of Prometheus."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from prometheus_client import Metric
from prometheus_client.openmetrics import exposition as openmetrics

from tslab_tools.live import processes
from tslab_tools.live.figures import CLASS_COUNTED, LABEL_FIGURES, TOTAL_FIGURES

OTHERS = "(others)"
Sample = tuple[dict[str, Any], Any]
Figure = tuple[str, str, str, str]  # name, unit, kind, help


@dataclass(frozen=True)
class Family:
    """`samples` gives pairs of labels and a number. A counter's samples end in _total."""

    name: str
    kind: str
    help: str
    samples: Callable[[Any], Iterable[Sample]]


def _help(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def _of_process(figure: Figure) -> Family:
    """A family of a figure of the process. A library of another version may not have it."""
    name, _, kind, text = figure
    return Family(
        f"tslab_{name}",
        kind,
        _help(text),
        lambda one: [({}, one.figures.process[name])] if name in one.figures.process else [],
    )


def _of_classes(name: str) -> Family:
    (kind, text), of = _kind_and_help(CLASS_COUNTED, name), "live_objects" if name == "live" else name
    return Family(
        f"tslab_class_{of}",
        kind,
        f"By size class: {text}.",
        lambda one: [({"size": row["size"]}, row[name]) for row in one.figures.classes],
    )


def _of_labels(
    name: str, metric: str | None = None, combine: Callable[[Iterable[Any]], Any] = sum, scale: int = 1
) -> Family:
    kind, text = _kind_and_help(LABEL_FIGURES, name)
    return Family(
        f"tslab_epoch_{metric or name}", kind, f"Of the epochs with a label: {text}.", _labels(name, combine, scale)
    )


def _kind_and_help(figures: Iterable[Figure], name: str) -> tuple[str, str]:
    return next((kind, text) for figure, _, kind, text in figures if figure == name)


def _terms(process: Any) -> list[Sample]:
    return [({"use": name}, process.figures.process[name]) for name in processes.TERMS]


def _accounts(suffix: str) -> Callable[[Any], list[Sample]]:
    def samples(process: Any) -> list[Sample]:
        found = process.figures.accounts
        names = [name for name in found if name.endswith("_untouched") == bool(suffix)]
        return [({"account": name.removesuffix("_untouched")}, found[name]) for name in names]

    return samples


def _by_label(process: Any, name: str, combine: Callable[[Iterable[Any]], Any] = sum) -> dict[str, Any]:
    """Bytes that are no UTF-8 are replaced, so two labels may look the same."""
    groups: dict[str, list[Any]] = {}
    for row in process.figures.labels:
        groups.setdefault(row["label"] if row["labels"] <= 1 else OTHERS, []).append(row[name])
    return {label: combine(numbers) for label, numbers in groups.items()}


def _labels(name: str, combine: Callable[[Iterable[Any]], Any] = sum, scale: int = 1) -> Callable[[Any], list[Sample]]:
    return lambda process: [({"label": key}, value / scale) for key, value in _by_label(process, name, combine).items()]


def _states(process: Any) -> Iterator[Sample]:
    for state in ("open", "closing", "draining"):
        yield from (({"label": key, "state": state}, value) for key, value in _by_label(process, state).items())


def _limits(process: Any) -> list[Sample]:
    own = process.figures.process
    return [({"limit": name}, own[f"{name}_limit_bytes"]) for name in ("hard", "soft") if own[f"{name}_limit_bytes"]]


def _pressure(process: Any) -> list[Sample]:
    own = process.figures.process
    return [({"limit": name}, own[f"{name}_pressure"]) for name in ("soft", "container")]


def _info(process: Any) -> list[Sample]:
    return [({"library": process.figures.library}, 1)]


FAMILIES = (
    Family("tslab_process_info", "gauge", "The version of the library that the process runs on.", _info),
    Family("tslab_figures_age_seconds", "gauge", "Since the process posted its figures.", lambda one: [({}, one.age)]),
    Family(
        "tslab_uptime_seconds",
        "gauge",
        "Since the library started.",
        lambda one: [({}, one.figures.process["uptime_ms"] / 1000)],
    ),
    Family("tslab_rss_bytes", "gauge", "Resident memory of the process.", lambda process: [({}, process.rss)]),
    Family(
        "tslab_rss_peak_bytes",
        "gauge",
        "The most that was resident.",
        lambda one: [({}, one.figures.process["peak_rss_bytes"])],
    ),
    Family("tslab_memory_bytes", "gauge", "Memory of the library that has pages, by use.", _terms),
    Family("tslab_account_bytes", "gauge", "Committed bytes, by account.", _accounts("")),
    Family("tslab_account_untouched_bytes", "gauge", "Of these, bytes that have no pages.", _accounts("_untouched")),
    Family("tslab_limit_bytes", "gauge", "Limits that the program or its options have set.", _limits),
    Family("tslab_pressure", "gauge", "1: near this limit, the library saves memory.", _pressure),
    *map(_of_process, TOTAL_FIGURES),
    Family("tslab_epochs", "gauge", "Epochs that are not gone, by label and state.", _states),
    _of_labels("oldest_ms", "oldest_seconds", max, 1000),
    *map(_of_labels, ("live_bytes", "live_objects", "memory_bytes")),
    *map(_of_classes, ("live", "slab_bytes", "cached_bytes", "allocations", "frees", "misses")),
)
READ = ("tslab_exporter_processes", "gauge", "Processes whose figures were read.")
UNREAD = ("tslab_exporter_unreadable", "gauge", "Processes whose figures could not be read, as of a newer library.")


def names() -> set[str]:
    """Of all samples there can be."""
    every = [(family.name, family.kind) for family in FAMILIES] + [READ[:2], UNREAD[:2]]
    return {name + ("_total" if kind == "counter" else "") for name, kind in every}


def families(found: Collection[Any], unreadable: int | None = None) -> Iterator[Metric]:
    """Of these processes, without those that have no samples. `unreadable`: how many others there are, if known."""
    for family in FAMILIES:
        metric = Metric(family.name, family.help, family.kind)
        for process in found:
            for labels, value in family.samples(process):
                _add(metric, {"pid": process.pid, "program": process.program} | labels, value)
        if metric.samples:
            yield metric
    if unreadable is not None:
        for (name, kind, text), count in ((READ, len(found)), (UNREAD, unreadable)):
            metric = Metric(name, text, kind)
            _add(metric, {}, count)
            yield metric


def _add(metric: Metric, labels: dict[str, Any], value: float) -> None:
    name = metric.name + ("_total" if metric.type == "counter" else "")
    metric.add_sample(name, {key: str(text) for key, text in labels.items()}, value)


def text(found: Collection[Any], unreadable: int | None = None) -> str:
    """The same in OpenMetrics."""
    written: bytes = openmetrics.generate_latest(SimpleNamespace(collect=lambda: families(found, unreadable)))
    return written.decode()
