"""The earlier work's study of requests: recycling at once against recycling when an epoch closes, under a real server."""

from tslab_lab.display.layout import Table
from tslab_lab.request_server import notes, outcomes, tables
from tslab_lab.request_server.driver import Load
from tslab_lab.request_server.outcomes import CPU, DEFERRED, OURS, SERVER, WALL, Column
from tslab_lab.studies import words

QUESTION = (
    "The earlier work drove a server with 1,200 requests by 4 workers, whose epoch is never closed, and compared two ways to "
    "recycle: when an epoch closes (deferred), and at once (continuous). Its claim: continuous recycling is what keeps the "
    "server alive."
)
EARLIER = {"deferred": ("1,959", "1,074,000"), "continuous": ("51", "262")}  # mean and longest, in microseconds
WORSE = 2.0  # so many times the mean: the claim
LONG_US = 1000.0
BOUNDED = 0.05  # of the peak: what the RSS may still change by in the last fifth of the load
QUARTERS = (0.25, 0.5, 0.75, 0.95)
CLASSES_SHOWN = 8
CLASS_FIGURES = {
    "allocations": "allocations", "new": "slabs_new", "recycled": "slabs_recycled", "net": "slabs_net", "slow paths": "slow_paths",
}  # fmt: skip


def page(found):
    """`found`: results by piece."""
    study, batch = (outcomes.of(found[piece], _columns(found[piece])) for piece in ("study", "batch"))
    parts = ["## 1,200 requests, 4 workers, policy never", study_sentence(study), study_table(study)]
    parts += [*notes.story(study), *notes.of_server(study, _load(found["study"]), found["study"].footer["rounds"])]
    parts += [tables.times_table(study, kind) for kind in (CPU, WALL)]
    parts += filter(None, (tables.slabs_table(study), classes_table(study, f"{OURS} never")))
    parts += ["## 100,000 requests, 16 workers, policy batch-256", batch_sentence(batch)]
    parts += [tables.times_table(batch, kind) for kind in (CPU, WALL)]
    slabs = (tables.slabs_table(batch), classes_table(batch, f"{OURS} batch-256"))
    parts += filter(None, (tables.memory_table(batch), *slabs))
    return words.page("The earlier work: requests", QUESTION, [*parts, *words.remarks(found)], found["study"])


def _columns(found):
    ran = {run["allocator"] for run in found.runs}
    return [Column.of(name) for name in found.header["allocators"] if name in ran]


def _load(found):
    return Load(**found.header["cases"][SERVER]["parameters"])


def study_sentence(outcome):
    """What the figures say of the claim."""
    deferred, ours = outcome.column(f"{DEFERRED} never"), outcome.column(f"{OURS} never")
    ratio = outcome.ratio(deferred, ours, outcomes.mean_us(WALL)) if deferred and ours else None
    if ratio is None or ratio.low is None:
        return words.judged(words.OPEN, "There is no interval of deferred recycling against continuous.")
    longest = outcome.pooled(ours, WALL).most_ns / 1000
    text = (
        f"deferred recycling takes {words.ratio(ratio)} times the mean time of continuous recycling (wall clock); with "
        f"continuous recycling, the longest request takes {tables.short(longest)} µs."
    )
    if ratio.low > WORSE:
        return words.judged(words.CONFIRMED if longest < LONG_US else words.PARTLY, f"Here, {text}")
    if ratio.low > 1:
        return words.judged(words.PARTLY, f"Here, {text} That is slower, but far from the collapse that was claimed.")
    if ratio.high >= WORSE:
        return words.judged(words.OPEN, f"Here, {text} The interval is too wide.")
    where = "What continuous recycling is worth shows where survivors are scattered ([requests.md](requests.md))."
    return words.judged(words.REFUTED, f"On this server, {text} {where}")


def study_table(outcome):
    table = Table("Time of a request, µs, wall clock", ["", "earlier work: mean", "longest", "here: mean", "longest", "> 1 ms %"])
    for name, title in ((f"{DEFERRED} never", "deferred"), (f"{OURS} never", "continuous")):
        if column := outcome.column(name):
            pooled = outcome.pooled(column, WALL)
            ours = [tables.short(ns / 1000) for ns in (pooled.mean_ns, pooled.most_ns)]
            table.rows.append([title, *EARLIER[title], *ours, f"{100 * pooled.long_share:.2g}"])
    return table


def batch_sentence(outcome):
    """The earlier work: a server that goes on for long is healthy, and its RSS is bounded."""
    column = outcome.column(f"{OURS} batch-256")
    spans = list(zip(QUARTERS, QUARTERS[1:]))
    changes = [outcome.median(column, outcomes.change_kib(*span)) if column else None for span in spans]
    if None in changes:
        return words.judged(words.OPEN, "There are too few samples of the RSS.")
    count = outcome.runs[column.name][0]["server"]["wall"]["count"]
    peak = outcome.median(column, outcomes.memory_mib("peak"))
    text = (
        f"Of {count:,} requests, the RSS changes by {', '.join(f'{change:+.0f}' for change in changes)} KiB from a quarter of "
        f"them to the half, to three quarters and to the end, at a peak of {tables.short(peak)} MiB; the earlier work asked "
        "that it stays bounded."
    )
    return words.judged(words.CONFIRMED if changes[-1] <= BOUNDED * peak * 1024 else words.REFUTED, text)


def classes_table(outcome, name):
    """The slabs of the classes that opened most, in the last round; None where that was not run."""
    runs = outcome.runs.get(name)
    known = runs[-1]["server"].get("tslab") if runs else None
    if not known:
        return None
    classes = sorted(known["classes"], key=lambda entry: entry["slabs_new"], reverse=True)[:CLASSES_SHOWN]
    table = Table(f"Slabs by class, {name}, all requests of a round", ["bytes", *CLASS_FIGURES, "slabs, KiB"])
    for entry in classes:
        counts = [entry["size"], *(entry[figure] for figure in CLASS_FIGURES.values()), entry["slab_bytes"] >> 10]
        table.rows.append([f"{count:,}" for count in counts])
    return table
