"""The tables of all commands: rows of runs and figures of each, ratios of them round by round, allocators over all cases, what was
judged of A and B, percentiles. Intervals are of 95 %, by the bootstrap."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import mean

from tslab_lab.allocators import sides
from tslab_lab.allocators.catalogue import OURS
from tslab_lab.base.shapes import Record
from tslab_lab.display.layout import Table, interval_text, mib, short, three_digits, time_text
from tslab_lab.estimates.histogram import SHARES, Histogram, pooled
from tslab_lab.estimates.medians import Spread
from tslab_lab.estimates.randomisation import Judged
from tslab_lab.results import measures, standings
from tslab_lab.results.standings import ByAllocator, Cases, Grid, Rounds

Rows = Mapping[str, Rounds]  # of runs, by name
Figures = Mapping[str, measures.Figure]  # by the head of their column


def spread_text(runs: Rounds, figure: measures.Figure) -> str:
    values = standings.column(runs, figure)
    return interval_text(standings.spread(values)) if values and len(values) == len(runs) else "-"


def median_text(runs: Rounds, figure: measures.Figure) -> str:
    values = standings.column(runs, figure)
    return short(standings.middle(values)) if values and len(values) == len(runs) else "-"


def of_runs(
    title: str, rows: Rows, figures: Figures, text: Callable[[Rounds, measures.Figure], str] = median_text
) -> Table:
    """Without the figures that no run has."""
    told = {
        head: figure
        for head, figure in figures.items()
        if any(standings.column(runs, figure) for runs in rows.values())
    }
    return Table(
        title, ["", *told], [[name, *(text(runs, figure) for figure in told.values())] for name, runs in rows.items()]
    )


def ratio_of(ours: Rounds, theirs: Rounds | None, figure: measures.Figure) -> Spread | None:
    return standings.ratio(*(standings.column(runs, figure) for runs in (ours, theirs))) if theirs else None


def against(title: str, rows: Rows, others: Mapping[str, tuple[measures.Figure, Rounds | None]]) -> Table:
    """Ratios. `others`: by the head, the figure, and the runs that it is divided by."""
    table = Table(title, ["", *others])
    for name, runs in rows.items():
        ratios = (ratio_of(runs, theirs, figure) if theirs is not runs else None for figure, theirs in others.values())
        table.rows.append([name, *map(interval_text, ratios)])
    return table


def best_of(rows: Rows, figure: measures.Figure) -> str | None:
    """The row with the least median of it, of those that have it."""
    return standings.best({name: values for name, runs in rows.items() if (values := standings.column(runs, figure))})


def rival(found: ByAllocator) -> str | None:
    """The best that is not ours, whatever its options."""
    return standings.best({name: values for name, values in found.items() if not sides.is_ours(name)})


def _ratio(found: ByAllocator, other: str | None) -> Spread | None:
    return standings.ratio(found[OURS], found[other]) if OURS in found and other else None


def medians(title: str, cases: Cases, names: Sequence[str], unit: float = 1) -> Table:
    """All allocators; a star marks the best of the others, which ours is compared with."""
    table = Table(title, ["", *names, f"{OURS} / best*\n(95 % interval)"])
    for case, found in cases.items():
        best = rival(found)
        cells = [
            short(standings.middle(found[name]) / unit) + "*" * (name == best) if name in found else "-"
            for name in names
        ]
        table.rows.append([case, *cells, interval_text(_ratio(found, best))])
    return table


def compact(times: Cases, peaks: Cases) -> Table:
    """Ours and the best of the others."""
    heads = ["", OURS, "best other", "ratio", OURS, "leanest other", "ratio"]
    table = Table("Time per operation, ns; peak RSS, MiB", heads)
    for case in dict.fromkeys([*times, *peaks]):
        row = [case]
        for found, unit in ((times.get(case, {}), 1), (peaks.get(case, {}), 1024)):
            other = rival(found)
            row.append(short(standings.middle(found[OURS]) / unit) if OURS in found else "-")
            row.append(f"{other} {short(standings.middle(found[other]) / unit)}" if other else "-")
            row.append(interval_text(_ratio(found, other)))
        table.rows.append([*row[:6], row[6].partition(" ")[0]])
    return table


def overview(grid: Grid, names: Iterable[str], wide: bool) -> Table:
    """Each allocator over all cases. `wide`: there is room for intervals."""
    heads = ["", f"time /\n{OURS}", "fastest\nin", f"peak RSS /\n{OURS}", "leanest\nin", f"RSS after /\n{OURS}"]
    table = Table(
        f"Overview: geometric means over all cases (less is better{'; in brackets: 95 % interval' * wide})", heads
    )
    figures = [standings.columns(grid, figure) for figure in (measures.time_ns, measures.peak_kib, measures.after_kib)]
    leaders = [standings.leaders(columns) for columns in figures]
    for name in names:
        cells = [_overall(columns, name, wide) for columns in figures]
        first = [str(found.get(name, 0)) for found in leaders]
        table.rows.append([name, cells[0], first[0], cells[1], first[1], cells[2]])
    return table


def _overall(columns: Cases, name: str, wide: bool = False) -> str:
    found = standings.overall(columns, name, OURS)
    text = interval_text(found.mean) if found else "-"
    return "1" if name == OURS else text if wide else text.partition(" ")[0]


BESIDE: Figures = {
    "private\nafter": measures.private_kib, "PSS\nafter": measures.proportional_kib, "page\nfaults": measures.faults,
    "kernel's\ntime": measures.system_ns,
}  # fmt: skip


def beside(grid: Grid, names: Iterable[str], littered: bool) -> Table | None:
    """The columns beside time and RSS. None where a workload has none. `littered`: what is alive lies in the litter's place."""
    ratios = {head: standings.columns(grid, figure) for head, figure in BESIDE.items()}
    peaks = {} if littered else standings.columns(grid, measures.peak_over_live)
    huge = standings.columns(grid, measures.huge_share)
    heads = ["", "peak /\nlive", *(f"{head} /\n{OURS}" for head in ratios), "in huge\npages, %"]
    table = Table("Beside time and RSS: geometric means over all cases", heads)
    for name in names:
        weights, shares = (
            [standings.middle(found[name]) for found in cases.values() if name in found] for cases in (peaks, huge)
        )
        cells = [three_digits(standings.geometric_mean(weights)) if weights else "-"]
        cells += [_overall(columns, name) for columns in ratios.values()]
        table.rows.append([name, *cells, three_digits(100 * mean(shares)) if shares else "-"])
    return table if any(ratios.values()) else None


def facts(grid: Grid, names: Sequence[str]) -> Table | None:
    """What the runs say of themselves."""
    table = Table("What really happened (medians)", ["", *names])
    for case, allocators in grid.items():
        for fact, found in standings.facts(allocators).items():
            texts = (found.get(name, "-") for name in names)
            cells = [text if isinstance(text, str) else three_digits(text) for text in texts]
            table.rows.append([f"{case}: {fact.replace('_', ' ')}", *cells])
    return table if table.rows else None


def amount(figure: str, value: float) -> str:
    return time_text(value) if figure == "time" else mib(value)


def _ratio_text(found: Spread) -> str:
    texts = [f"{value:.3f}" if value < 9.9995 else three_digits(value) for value in (found.middle, *found.ends)]
    return texts[0] if found.low is None else f"{texts[0]} ({texts[1]}-{texts[2]})"


def judged(title: str, found: Iterable[Judged], wide: bool, mixed: bool = False) -> Table:
    """Of `lab ab`. `wide`: the noise has its interval, too. `mixed`: of several figures, each of which is named."""
    interval = "\n(95 % interval)"
    heads = ["", "A", "B", f"B / A{interval}", f"A2 / A{interval if wide else ''}", "shown\nfrom", "B is"]
    table = Table(title, heads)
    for one in found:
        row = one.row
        both = standings.middle(dict(enumerate(row.a + row.a2))), standings.middle(dict(enumerate(row.b)))
        noise = _ratio_text(row.noise)
        cells = [
            row.case + f": {row.figure}" * mixed,
            *(amount(row.figure, value) for value in both),
            _ratio_text(row.interval),
        ]
        cells += [noise if wide else noise.partition(" ")[0]]
        cells += ["-" if one.shown_from is None else f"{100 * (one.shown_from - 1):.1f} %", one.verdict or "-"]
        table.rows.append(cells)
    return table


def percentiles(title: str, lines: Mapping[str, Sequence[Record]]) -> Table:
    """`lines`: by allocator, the histograms of all rounds."""
    table = Table(title, ["ns", "count", *(f"p{100 * share:g}" for share in SHARES), "longest"])
    for name, found in lines.items():
        one = pooled(map(Histogram.from_line, found))
        table.rows.append(
            [name, short(one.count), *(short(one.percentile_ns(share)) for share in SHARES), short(one.most_ns)]
        )
    return table


def kinds(found: Iterable[Record]) -> dict[tuple[str, str], dict[str, list[Record]]]:
    """Histograms by case and operation, then by allocator."""
    result: dict[tuple[str, str], dict[str, list[Record]]] = {}
    for line in found:
        result.setdefault((line["case"], line["operation"]), {}).setdefault(line["allocator"], []).append(line)
    return result


def all_percentiles(found: Iterable[Record], names: Sequence[str]) -> Iterator[Table]:
    for (case, operation), lines in kinds(found).items():
        yield percentiles(f"{case}: {operation}", {name: lines[name] for name in names if name in lines})
