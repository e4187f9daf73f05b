"""What a run of the request server says, and its rounds together."""

from statistics import median

from tslab_lab.base.shapes import Figures, Point, Run
from tslab_lab.estimates.histogram import Histogram, pooled
from tslab_lab.results import standings
from tslab_lab.results.measures import Figure
from tslab_lab.results.standings import Rounds
from tslab_lab.results.storage import Results

SERVER, SCATTERED = "server", "scattered"  # the cases
CPU, WALL, CLIENT = "cpu", "wall", "client"
TIMES = {CPU: "handler, processor's time", WALL: "handler, wall clock"}


def histogram_of(run: Run, kind: str) -> Histogram:
    return Histogram.from_json(run["client"] if kind == CLIENT else run["server"][kind])


def together(runs: Rounds, kind: str) -> Histogram:
    return pooled(histogram_of(run, kind) for run in runs.values())


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
    return lambda run: per_thousand(run, run["server"]["slabs"][which]) if run["server"]["slabs"] else None


def process_us(run: Run) -> float:
    """The processor's time of the whole server for a request: the network and the HTTP library included."""
    process = run["server"]["process"]
    return (process["user_us"] + process["system_us"]) / run["server"]["wall"]["count"]


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


def above_start(when: str) -> Figure:
    """MiB of the scattered survivors: `when` is peak, after, later or asked."""
    return lambda run: (run[f"{when}_kib"] - run["start_kib"]) / 1024


def record_of(run: Run) -> Figures:
    """One run of the server as a file of results keeps it: with the figures that all runs have."""
    histograms = {kind: histogram_of(run, kind) for kind in TIMES}
    latency = [one.line(TIMES[kind]) for kind, one in histograms.items()]
    since: list[Point] = [(at, kib) for at, kib in run["series"] if at >= 0]  # the load's start
    series = {"t_ms": [at for at, _ in since], "rss_kb": [kib for _, kib in since]}
    memory, cpu = run["memory"], histograms[CPU]
    general: Figures = {"operations": cpu.count, "seconds": cpu.sum_ns / 1e9}
    general |= {"peak_kib": memory["peak_kib"], "rss_kib": memory["idle_kib"]}
    return general | run | {"latency": latency, "series": series}


def rows_of(found: Results) -> tuple[dict[str, Rounds], dict[str, Rounds]]:
    """Of the server, with the series of each run, and of the scattered survivors; by name."""
    grid = standings.ordered(found)
    rows = grid.get(SERVER, {})
    for line in found.series:
        if line["case"] == SERVER and line["round"] in rows.get(line["allocator"], {}):
            rows[line["allocator"]][line["round"]]["series"] = list(zip(line["t_ms"], line["rss_kb"]))
    return rows, grid.get(SCATTERED, {})
