"""The figures of processes as metrics: OpenMetrics 1.0, and Prometheus' older text format."""

from dataclasses import dataclass
from itertools import chain

from tslab_lab.live import processes, summary

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PLAIN = "text/plain; version=0.0.4; charset=utf-8"
OTHERS = "(others)"


@dataclass(frozen=True)
class Family:
    """`samples` gives pairs of labels and a number. A counter's samples end in _total."""

    name: str
    kind: str
    help: str
    samples: object


def _own(name, scale=1):
    return lambda process: [({}, process.figures.process[name] / scale if scale != 1 else process.figures.process[name])]


def _counter(metric, name, text):
    return Family(f"tslab_{metric}", "counter", text, _own(name))


def _gauge(metric, name, text):
    return Family(f"tslab_{metric}", "gauge", text, _own(name))


def _terms(process):
    return [({"use": name}, process.figures.process[name]) for name in processes.TERMS]


def _accounts(suffix):
    def samples(process):
        found = process.figures.accounts
        names = [name for name in found if name.endswith("_untouched") == bool(suffix)]
        return [({"account": name.removesuffix("_untouched")}, found[name]) for name in names]

    return samples


def _classes(name):
    return lambda process: [({"size": row["size"]}, row[name]) for row in process.figures.classes]


def _by_label(process, name, combine=sum):
    """Bytes that are no UTF-8 are replaced, so two labels may look the same."""
    groups = {}
    for row in process.figures.labels:
        groups.setdefault(row["label"] if row["labels"] <= 1 else OTHERS, []).append(row[name])
    return {label: combine(numbers) for label, numbers in groups.items()}


def _labels(name, combine=sum, scale=1):
    return lambda process: [({"label": key}, value / scale) for key, value in _by_label(process, name, combine).items()]


def _states(process):
    for state in ("open", "closing", "draining"):
        yield from (({"label": key, "state": state}, value) for key, value in _by_label(process, state).items())


def _limits(process):
    own = process.figures.process
    return [({"limit": name}, own[f"{name}_limit_bytes"]) for name in ("hard", "soft") if own[f"{name}_limit_bytes"]]


def _pressure(process):
    own = process.figures.process
    return [({"limit": name}, own[f"{name}_pressure"]) for name in ("soft", "container")]


def _info(process):
    return [({"library": process.figures.library}, 1)]


FAMILIES = (
    Family("tslab_process_info", "gauge", "The version of the library that the process runs on.", _info),
    Family("tslab_figures_age_seconds", "gauge", "Since the process posted its figures.", lambda one: [({}, one.age)]),
    Family("tslab_uptime_seconds", "gauge", "Since the library started.", _own("uptime_ms", 1000)),
    Family("tslab_rss_bytes", "gauge", "Resident memory of the process.", lambda process: [({}, process.rss)]),
    _gauge("rss_peak_bytes", "peak_rss_bytes", "The most that was resident."),
    Family("tslab_memory_bytes", "gauge", "Memory of the library that has pages, by use.", _terms),
    Family("tslab_account_bytes", "gauge", "Committed bytes, by account.", _accounts("")),
    Family("tslab_account_untouched_bytes", "gauge", "Of these, bytes that have no pages.", _accounts("_untouched")),
    _gauge("committed_bytes", "committed_bytes", "Memory that is accessible, with or without pages."),
    Family("tslab_limit_bytes", "gauge", "Limits that the program or its options have set.", _limits),
    Family("tslab_pressure", "gauge", "1: near this limit, the library saves memory.", _pressure),
    _gauge("threads", "threads", "Threads that use the library."),
    _counter("allocations", "allocations", "Small objects allocated, without those in chunks of epochs."),
    _counter("frees", "frees", "Small objects freed."),
    _counter("remote_frees", "remote_frees", "Slots freed that the freeing thread may not keep."),
    _counter("refills", "refills", "Batches of slots taken from slabs."),
    _counter("flushes", "flushes", "Magazines, outboxes and trays given back to slabs."),
    _counter("slabs_opened", "slabs_opened", "Slabs taken from the depot."),
    _counter("slabs_recycled", "slabs_recycled", "Slabs that emptied and are back in the depot."),
    _counter("purge_calls", "purge_calls", "Calls that give memory back to the system."),
    _counter("purged_bytes", "purged_bytes", "Bytes given back to the system."),
    _counter("purge_refusals", "purge_refusals", "Such calls that the system refused."),
    _counter("purge_mistaken_bytes", "purge_mistakes", "Bytes given back that were wanted again within a second."),
    _counter("offered_bytes", "offered_bytes", "Bytes offered to the system (purge=lazy)."),
    _counter("limit_refusals", "limit_refusals", "Slabs, chunks and large blocks that the hard limit refused."),
    _counter("keeper_looks", "keeper_looks", "Looks of the keeper."),
    _gauge("revisit_queue_length", "queue_length", "Slabs that wait on revisit queues."),
    _counter("epochs_opened", "epochs_opened", "Epochs opened."),
    _counter("epochs_closed", "epochs_closed", "Epochs closed or released."),
    _counter("epochs_drained", "epochs_drained", "Epochs that had survivors, and are gone."),
    _counter("epoch_allocated_bytes", "epoch_bytes", "Bytes allocated in chunks of epochs."),
    _counter("work_units", "work_units", "Units of work that ended."),
    Family("tslab_epochs", "gauge", "Epochs that are not gone, by label and state.", _states),
    Family("tslab_epoch_oldest_seconds", "gauge", "The age of the oldest of them.", _labels("oldest_ms", max, 1000)),
    Family("tslab_epoch_live_bytes", "gauge", "Bytes of their objects.", _labels("live_bytes")),
    Family("tslab_epoch_live_objects", "gauge", "Their objects.", _labels("live_objects")),
    Family("tslab_epoch_memory_bytes", "gauge", "Bytes of their slabs, chunks and large runs.", _labels("memory_bytes")),
    Family("tslab_class_live_objects", "gauge", "Objects, by size class.", _classes("live")),
    Family("tslab_class_slab_bytes", "gauge", "Bytes of slabs, by size class.", _classes("slab_bytes")),
    Family("tslab_class_cached_bytes", "gauge", "Bytes of free slots in caches, by size class.", _classes("cached_bytes")),
    Family("tslab_class_allocations", "counter", "Objects allocated, by size class.", _classes("allocations")),
    Family("tslab_class_frees", "counter", "Objects freed, by size class.", _classes("frees")),
    Family("tslab_class_misses", "counter", "Allocations and frees that no magazine served.", _classes("misses")),
)
READ = ("tslab_exporter_processes", "gauge", "Processes whose figures were read.")
UNREAD = ("tslab_exporter_unreadable", "gauge", "Processes whose figures could not be read, as of a newer library.")


def names():
    """Of all samples there can be."""
    every = [(family.name, family.kind) for family in FAMILIES] + [READ[:2], UNREAD[:2]]
    return {name + ("_total" if kind == "counter" else "") for name, kind in every}


def _escape(text):
    return str(text).replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _sample(name, labels, value):
    inner = ",".join(f'{key}="{_escape(text)}"' for key, text in labels.items())
    return f"{name}{{{inner}}} {value}" if inner else f"{name} {value}"


def _lines(name, kind, text, samples, plain):
    total = "_total" if kind == "counter" else ""
    found = [_sample(name + total, labels, value) for labels, value in samples]
    if not found:
        return []
    family = name + total if plain else name
    return [f"# HELP {family} {text}", f"# TYPE {family} {kind}", *found]


def _of(process):
    return {"pid": process.pid, "program": process.program}


def text(found, unreadable=None, plain=False):
    """Of these processes. `unreadable`: how many others there are, if that is known. `plain`: the older format."""
    lines = []
    for family in FAMILIES:
        each = ([(_of(one) | labels, value) for labels, value in family.samples(one)] for one in found)
        lines += _lines(family.name, family.kind, family.help, chain.from_iterable(each), plain)
    if unreadable is not None:
        lines += _lines(*READ, [({}, len(found))], plain)
        lines += _lines(*UNREAD, [({}, unreadable)], plain)
    return "\n".join(lines + ([] if plain else ["# EOF"])) + "\n"
