"""What a comparison of request servers has found: figures of runs, medians, ratios round by round, verdicts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Self

from tslab_lab.allocators import sides
from tslab_lab.base.shapes import Environment, Figures, Run
from tslab_lab.estimates import intervals
from tslab_lab.estimates.histogram import Histogram, pooled
from tslab_lab.estimates.medians import Spread
from tslab_lab.request_server import survivors
from tslab_lab.results.measures import Figure
from tslab_lab.results.storage import Results

OURS, DEFERRED = "tslab", "deferred"
INSIDE = "inside"
SERVER, SCATTERED = "server", "scattered"  # the cases
CPU, WALL, CLIENT = "cpu", "wall", "client"
FEW_ROUNDS = 6  # fewer medians to draw from give an interval that is too narrow to be true


@dataclass(frozen=True)
class Column:
    """What runs under the load: an allocator and, on tslab, a policy."""

    allocator: str
    policy: str | None = None

    @classmethod
    def of(cls, name: str) -> Self:
        """By its name."""
        allocator, _, policy = name.partition(" ")
        return cls(allocator, policy or None)

    @property
    def name(self) -> str:
        return self.allocator if self.policy is None else f"{self.allocator} {self.policy}"

    @property
    def is_peer(self) -> bool:
        return self.policy is None and not sides.is_ours(self.allocator)

    @property
    def is_ours(self) -> bool:
        return self.allocator == OURS and self.policy is not None

    @property
    def is_judged(self) -> bool:
        return self.is_ours and self.policy != INSIDE

    @property
    def environment(self) -> Environment:
        """With `inside`, each request has an epoch, and what survives it is allocated there: not how to do it."""
        if self.policy is None:
            return {}
        return {"TSLAB_EPOCH_POLICY": "per-request" if self.policy == INSIDE else self.policy}

    @property
    def sessions(self) -> str:
        return INSIDE if self.policy == INSIDE else "paused"


def histogram_of(run: Run, kind: str) -> Histogram:
    return Histogram.from_json(run["client"] if kind == CLIENT else run["server"][kind])


def mean_us(kind: str) -> Figure:
    def figure(run: Run) -> float | None:
        found = histogram_of(run, kind).mean_ns
        return None if found is None else found / 1000

    return figure


def percentile_us(kind: str, share: float) -> Figure:
    def figure(run: Run) -> float | None:
        found = histogram_of(run, kind).percentile_ns(share)
        return None if found is None else found / 1000

    return figure


def memory_mib(which: str) -> Figure:
    return lambda run: run["memory"][f"{which}_kib"] / 1024


def per_thousand(run: Run, count: float) -> float:
    return 1000 * count / run["server"]["wall"]["count"]


def slabs(which: str) -> Figure:
    """None on a library without such statistics."""

    def figure(run: Run) -> float | None:
        found = run["server"]["slabs"]
        return None if found is None else per_thousand(run, found[which])

    return figure


def process_us(run: Run) -> float:
    """The processor's time of the whole server for a request: the network and the HTTP library included."""
    process = run["server"]["process"]
    return (process["user_us"] + process["system_us"]) / run["server"]["wall"]["count"]


def interruptions(run: Run) -> float:
    return per_thousand(run, run["server"]["interruptions"])


def growth_kib(run: Run) -> float | None:
    """How the RSS grows per 1,000 requests from a quarter of the load to its end: flat is 0. None where the load was
    too short for samples."""
    change = change_kib(0.25, 0.95)(run)
    return None if change is None else per_thousand(run, change / 0.7)


def change_kib(start: float, end: float) -> Figure:
    """How the RSS changes between two parts of the load. None where the load was too short for samples."""

    def change(run: Run) -> float | None:
        end_ms = 1000 * run["server"]["wall"]["count"] / run["rate"] if run["rate"] else 0
        early, late = (
            [kib for at, kib in run["series"] if (part - 0.05) * end_ms <= at <= (part + 0.05) * end_ms]
            for part in (start, end)
        )
        return median(late) - median(early) if len(early) >= 3 and len(late) >= 3 else None

    return change


class Outcome:
    """The runs of all columns: for each a list, of which the i-th belongs to round i."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = columns
        self.runs: dict[str, list[Run]] = {column.name: [] for column in columns}

    def __bool__(self) -> bool:
        return any(self.runs.values())

    def figures(self, column: Column, figure: Figure) -> list[float]:
        """Of all runs; none where one does not have it."""
        found = [value for run in self.runs[column.name] if (value := figure(run)) is not None]
        return found if len(found) == len(self.runs[column.name]) else []

    def median(self, column: Column, figure: Figure) -> float | None:
        """None where a run does not have it."""
        found = self.figures(column, figure)
        return median(found) if found else None

    def pooled(self, column: Column, kind: str) -> Histogram:
        return pooled(histogram_of(run, kind) for run in self.runs[column.name])

    @property
    def peers(self) -> list[Column]:
        return [column for column in self.columns if column.is_peer]

    @property
    def ours(self) -> list[Column]:
        return [column for column in self.columns if column.is_ours]

    def column(self, name: str) -> Column | None:
        return next((column for column in self.columns if column.name == name), None)

    def best_peer(self, figure: Figure) -> Column | None:
        """The peer with the least median of it, if all have it."""
        medians = {peer: value for peer in self.peers if (value := self.median(peer, figure)) is not None}
        if not medians or len(medians) < len(self.peers):
            return None
        return min(medians, key=medians.__getitem__)

    def ratio(self, column: Column, other: Column | None, figure: Figure) -> Spread | None:
        """The interval of column / other, taken round by round; None where one does not have the figure."""
        ours, theirs = self.figures(column, figure), self.figures(other, figure) if other else []
        return intervals.ratio(ours, theirs) if ours and theirs else None


JUDGED = {"mean": mean_us(CPU), "p99": percentile_us(CPU, 0.99)}


def misses(outcome: Outcome) -> Iterator[str]:
    """Where a policy of tslab is worse than the best peer, beyond the interval, in words: if it is judgeable."""
    for column in outcome.ours:
        if not column.is_judged:
            continue
        for what, figure in JUDGED.items():
            peer = outcome.best_peer(figure)
            found = outcome.ratio(column, peer, figure)
            if peer and found and found.ends[0] > 1:
                yield f"{column.name}: handler CPU time, {what}: {found.middle:.2f} times {peer.name}'s"


def judgeable(outcome: Outcome) -> str:
    """Whether there are enough rounds and requests for the verdict; if not, why, in words."""
    rounds = min((len(runs) for runs in outcome.runs.values()), default=0)
    if rounds < FEW_ROUNDS:
        return f"{rounds} rounds are too few: {FEW_ROUNDS} at least"
    if any(outcome.median(column, figure) is None for column in outcome.columns for figure in JUDGED.values()):
        return "there are too few requests in a run for the p99: 1,000 at least"
    return ""


class ScatteredOutcome:
    """The runs of the scattered survivors, by name; `epochs` are those with an epoch for the survivors."""

    def __init__(self, epochs: Sequence[str]) -> None:
        self.epochs = epochs
        self.runs: dict[str, list[Run]] = {}

    def add(self, name: str, run: Run) -> None:
        self.runs.setdefault(name, []).append(run)

    def __bool__(self) -> bool:
        return any(self.runs.values())

    def median_mib(self, name: str, when: str) -> float:
        return median(survivors.above_start(run, when) for run in self.runs[name]) / 1024

    def misses(self) -> Iterator[str]:
        for name in self.epochs:
            for run in self.runs.get(name, ()):
                if survivors.above_start(run, "after") > survivors.LIMIT_KIB:
                    over = self.median_mib(name, "after")
                    yield f"scattered: {name}: {over:.1f} MiB above the start (median), at most 5 in every run"
                    break


def record_of(run: Run, times: Mapping[str, str]) -> Figures:
    """One run of the server as a file of results keeps it: with the figures that all runs have. `times`: names for the
    histograms by kind."""
    histograms = {kind: histogram_of(run, kind) for kind in times}
    latency = [
        {"operation": times[kind], "count": one.count, "max_ns": one.most_ns, "timer_ns": 0}
        | {"buckets": [[round(one.growth**bucket, 3), count] for bucket, count in sorted(one.buckets.items())]}
        for kind, one in histograms.items()
    ]
    since = [(at, kib) for at, kib in run["series"] if at >= 0]  # the load's start
    series = {"t_ms": [at for at, _ in since], "rss_kb": [kib for _, kib in since]}
    memory, cpu = run["memory"], histogram_of(run, CPU)
    general: Figures = {"operations": cpu.count, "seconds": cpu.sum_ns / 1e9}
    general |= {"peak_kib": memory["peak_kib"], "rss_kib": memory["idle_kib"]}
    return general | run | {"latency": latency, "series": series}


def _kept(found: Results, case: str, names: Iterable[str]) -> dict[str, list[Run]]:
    """By name the runs in the order of the rounds, of those that never failed."""
    failed = {failure["allocator"] for failure in found.failures if failure["case"] == case}
    kept: dict[str, list[Run]] = {name: [] for name in names if name not in failed}
    for run in found.runs:
        if run["case"] == case and run["allocator"] in kept:
            kept[run["allocator"]].append(run)
    return kept


def of(found: Results, columns: Sequence[Column]) -> Outcome | None:
    """The server's outcome from a file of results; None where it did not run."""
    series = {(line["allocator"], line["round"]): line for line in found.series if line["case"] == SERVER}
    kept = _kept(found, SERVER, [column.name for column in columns])
    outcome = Outcome([column for column in columns if kept.get(column.name)])
    for name, runs in kept.items():
        for run in runs:
            line = series[name, run["round"]]
            outcome.runs[name].append(run | {"series": list(zip(line["t_ms"], line["rss_kb"]))})
    return outcome or None


def scattered_of(found: Results, names: Iterable[str], epochs: Sequence[str]) -> ScatteredOutcome | None:
    """The scattered survivors; None where they did not run."""
    outcome = ScatteredOutcome(epochs)
    outcome.runs = {name: runs for name, runs in _kept(found, SCATTERED, names).items() if runs}
    return outcome or None
