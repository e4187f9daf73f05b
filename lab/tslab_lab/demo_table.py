"""The demo's table. It fits 80 columns, is plain ASCII inside the cells, and says in words what the colours say."""

from dataclasses import dataclass

from rich import box
from rich.table import Table
from rich.text import Text

from tslab_lab import compare

STYLES = {
    compare.FASTER: "green",
    compare.SMALLER: "green",
    compare.SLOWER: "bold red",
    compare.LARGER: "bold red",
}
MIB = 1024  # KiB
WIDTH = 80  # needed by the table; a narrower terminal wraps it


@dataclass(frozen=True)
class Row:
    work: str
    measure: str
    unit: float  # of the figures shown, in those of the runs
    system: compare.Spread
    ours: compare.Spread
    ratio: compare.Spread
    verdict: str


def rows_of(title, unit, system_runs, our_runs):
    """Three rows for one work; run i of either list belongs to the same round."""

    def row(measure, scale, figure, judge):
        theirs, ours = [figure(run) for run in system_runs], [figure(run) for run in our_runs]
        ratio = compare.spread(compare.ratios(ours, theirs))
        return Row(title, measure, scale, compare.spread(theirs), compare.spread(ours), ratio, judge(ours, theirs))

    def speed(run):
        return run["operations"] / run["seconds"]

    scale, prefix = (1e6, "M ") if max(map(speed, system_runs)) >= 1e6 else (1e3, "k ")
    return [
        row(prefix + unit, scale, speed, compare.judge_speed),
        row("peak RSS, MiB", MIB, lambda run: run["peak_kib"], compare.judge_memory),
        row("RSS after, MiB", MIB, lambda run: run["rss_kib"], compare.judge_memory),
    ]


def three_digits(value):
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def cell(spread, unit=1.0):
    middle, low, high = (three_digits(value / unit) for value in (spread.middle, spread.low, spread.high))
    text = Text(middle)
    if low != high:
        text.append(f" ({low}-{high})", "dim")
    return text


def table(rows, system_name, our_name):
    result = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    result.add_column("median (min-max)", no_wrap=True)
    for name in (f"system:\n{system_name}", our_name, f"{our_name} /\nsystem"):
        result.add_column(name, justify="right", no_wrap=True)
    result.add_column("", no_wrap=True)
    work = None
    for row in rows:
        if row.work != work:
            if work is not None:
                result.add_section()
            work = row.work
            result.add_row(Text(work, "bold"))
        style = STYLES.get(row.verdict, "")
        result.add_row(
            row.measure, cell(row.system, row.unit), cell(row.ours, row.unit), cell(row.ratio), Text(row.verdict, style)
        )
    return result


def complaints(rows):
    return [f"{row.work}, {row.measure}: {row.verdict}" for row in rows if row.verdict in compare.BAD]
