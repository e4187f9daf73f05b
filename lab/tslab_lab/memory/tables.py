"""The tables of `lab rss`, of 80 columns at most, and what they must be read with."""

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from statistics import median

from tslab_lab.base.shapes import Run
from tslab_lab.display import layout
from tslab_lab.display.layout import Table
from tslab_lab.estimates import medians
from tslab_lab.memory import series
from tslab_lab.results import standings
from tslab_lab.results.measures import Figure
from tslab_lab.results.storage import Results


def _scaled(name: str, factor: float) -> Figure:
    def figure(run: Run) -> float | None:
        return None if run.get(name) is None else run[name] / factor  # older results have fewer

    return figure


Outcome = dict[str, standings.Rounds]  # by allocator

FIGURES = {
    "mean\nMiB": _scaled("mean_kib", 1024),
    "p95\nMiB": _scaled("p95_kib", 1024),
    "max\nMiB": _scaled("peak_kib", 1024),
    "at end\nMiB": _scaled("rss_kib", 1024),
    "area\nMiB s": _scaled("area_mib_s", 1),
    "time\ns": _scaled("run_seconds", 1),
    "CPU\ns": _scaled("cpu_seconds", 1),
    "ops/s": _scaled("operations_per_second", 1),
}
RSS = ("mean\nMiB", "p95\nMiB", "max\nMiB", "at end\nMiB")
SPACE = ("area\nMiB s", "PSS\nmean", "USS\nmean")
RATIO_WIDTH = 17  # of one with its range
SHARED = {"PSS\nmean": _scaled("mean_pss_kib", 1024), "USS\nmean": _scaled("mean_uss_kib", 1024)}


def text(value: float | None) -> str:
    """Three digits at least; thousands and millions cut off; a dash for what there is not."""
    if value is None:
        return "-"
    for least, factor, unit in ((9.995e6, 1e6, "M"), (9_995, 1e3, "k")):
        if value >= least:
            return layout.three_digits(value / factor) + unit
    return layout.three_digits(value)


def middle(runs: standings.Rounds, figure: Figure) -> float | None:
    """The median over the rounds; None where a round has none."""
    values = [value for run in runs.values() if (value := figure(run)) is not None]
    return median(values) if values and len(values) == len(runs) else None


def ratio(runs: standings.Rounds, base: standings.Rounds, figure: Figure) -> medians.Spread | None:
    """Round by round against the base: median and range; None where there is nothing to compare."""
    both = sorted(runs.keys() & base.keys())
    ours, theirs = ([value for number in both if (value := figure(some[number]))] for some in (runs, base))
    if not both or len(ours) < len(both) or len(theirs) < len(both):
        return None
    return medians.spread(medians.ratios(ours, theirs))


def ratio_text(found: medians.Spread | None) -> str:
    if found is None:
        return "-"
    middle_text, low, high = (f"{value:.2f}" for value in (found.middle, *found.ends))
    return middle_text if found.low == found.high else f"{middle_text} ({low}-{high})"


def outcome_of(found: Results) -> Outcome:
    """Of those that never failed, in the order of the header."""
    failed = {failure["allocator"] for failure in found.failures}
    outcome: Outcome = {name: {} for name in found.header["allocators"] if name not in failed}
    for record in found.runs:
        if record["allocator"] in outcome:
            outcome[record["allocator"]][record["round"]] = record
    return {name: runs for name, runs in outcome.items() if runs}


def figures_of(outcome: Outcome) -> dict[str, Figure]:
    """The columns that the table has: those that any run tells."""
    every = [run for runs in outcome.values() for run in runs.values()]
    told = {name: figure for name, figure in FIGURES.items() if any(figure(run) is not None for run in every)}
    return told | {name: figure for name, figure in SHARED.items() if all(figure(run) is not None for run in every)}


def tables(outcome: Outcome, base: str) -> Iterator[Table]:
    figures = figures_of(outcome)
    rounds = max(len(runs) for runs in outcome.values())
    table = Table("RSS over time" + (f" (medians of {rounds} rounds)" if rounds > 1 else ""), ["", *figures])
    for name, runs in outcome.items():
        table.rows.append([name, *(text(middle(runs, figure)) for figure in figures.values())])
    yield table
    if base not in outcome or len(outcome) < 2:
        return
    span = " (range over the rounds)" if rounds > 1 else ""
    room = max(1, (layout.WIDTH - max(map(len, outcome))) // RATIO_WIDTH)
    for what, names in _groups(figures):
        for some in (names[at : at + room] for at in range(0, len(names), room)):
            heads = [name.replace("\n", " ").partition(" MiB")[0].removesuffix(" s") for name in some]
            table = Table(f"{what} as a ratio to {base}{span}", ["", *heads])
            for name, runs in outcome.items():
                if name != base:
                    cells = (ratio_text(ratio(runs, outcome[base], figures[figure])) for figure in some)
                    table.rows.append([name, *cells])
            yield table


def _groups(figures: Collection[str]) -> Iterator[tuple[str, list[str]]]:
    """What belongs together in tables of ratios, with a title."""
    groups: dict[str, Iterable[str]] = {
        "RSS": RSS,
        "Area, PSS and USS": SPACE,
        "Time": [name for name in figures if name not in RSS + SPACE],
    }
    for what, names in groups.items():
        chosen = [name for name in names if name in figures]
        if chosen:
            yield what, chosen


def _span(values: Collection[float], unit: str = "") -> str:
    """5 ms, or 5 to 7 ms."""
    least, most = (f"{value:.0f}" for value in (min(values), max(values)))
    return f"{least}{unit}" if least == most else f"{least} to {most}{unit}"


def notes(outcome: Outcome, folder: Path | None, load: str | None) -> Iterator[str]:
    """Paragraphs."""
    every = [(name, number, run) for name, runs in outcome.items() for number, run in runs.items()]
    runs = [run for _, _, run in every]
    sampled = f"RSS was read every {_span([run['sampled_every_ms'] or 0 for run in runs], ' ms')}"
    rare = [run["pss_every_ms"] for run in runs if run["pss_every_ms"]]
    sampled += f", PSS, USS and LazyFree every {_span(rare, ' ms')}" if rare else ""
    sampled += f", by {max(run['sampler_share'] for run in runs):.1%} of one processor at most."
    yield sampled
    if any(run["p95_kib"] is None for run in runs):
        fewest = min(run["samples"] for run in runs)
        yield f"No p95: it takes {series.ENOUGH} samples in every run, and there were only {fewest} in one."
    most = max(run["processes"] for run in runs)
    if most > 1 and any(run["mean_pss_kib"] is None for run in runs):
        yield f"No mean of PSS: it takes {series.ENOUGH_RARE} readings in every run."
    if most > 1:
        shorter = _span([run["looked_every_ms"] for run in runs], " ms")
        yield (
            f"The sum of up to {most} processes. RSS counts what they share once for each; PSS counts it once. "
            f"Processes that lived shorter than {shorter} may be missing."
        )
    if load:
        yield "time: of the load. Memory: from the program's start to its end, idle times included."
    for name, number, run in every:
        for remark in run["remarks"]:
            yield f"{name}, round {number}: {remark}."
    if folder:
        yield f"What the programs wrote is in {folder}: ALLOCATOR-ROUND.out and .err" + (
            ", -load.out." if load else "."
        )
