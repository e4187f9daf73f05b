"""What stands beside time and RSS: each allocator over all cases, in one table."""

from collections.abc import Callable, Sequence
from statistics import mean, median

from tslab_lab.display.layout import Table, three_digits
from tslab_lab.results import marks, measures, standings
from tslab_lab.results.standings import Cases
from tslab_lab.results.storage import Results

RATIOS: dict[str, measures.Figure] = {
    "private\nafter": measures.private_kib,
    "PSS\nafter": measures.proportional_kib,
    "page\nfaults": measures.faults,
    "kernel's\ntime": measures.system_ns,
}


def table(found: Results, names: Sequence[str], ours: str) -> Table | None:
    """`found`: a file of results. None where it tells nothing of it."""
    grid = standings.grid(found.runs, found.failures)
    ratios = {head: standings.columns(grid, figure) for head, figure in RATIOS.items()}
    if ours not in names or not any(ratios.values()):
        return None
    peaks, huge = (standings.columns(grid, figure) for figure in (measures.peak_over_live, measures.huge_share))
    if marks.LITTERED in found.header.get("marks", ()):
        peaks = {}  # what is alive lies in the litter's place
    heads = ["", "peak /\nlive", *(f"{head} /\n{ours}" for head in ratios), "in huge\npages, %"]
    result = Table("Beside time and RSS: geometric means over all cases", heads)
    for name in names:
        cells = [_mean_of(peaks, name, standings.geometric_mean)]
        cells += [_against(columns, name, ours) for columns in ratios.values()]
        result.rows.append([name, *cells, _mean_of(huge, name, lambda shares: 100 * mean(shares))])
    return result


def _mean_of(columns: Cases, name: str, average: Callable[[list[float]], float]) -> str:
    """Of the medians of its rounds."""
    medians = [median(of[name].values()) for of in columns.values() if name in of]
    return three_digits(average(medians)) if medians else "-"


def _against(columns: Cases, name: str, ours: str) -> str:
    if name == ours:
        return "1"
    overall = standings.overall(columns, name, ours)
    return three_digits(overall.mean.middle) if overall else "-"
