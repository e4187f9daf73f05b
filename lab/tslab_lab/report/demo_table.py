"""The demo's table. It fits 80 columns, is plain ASCII inside the cells, and says in words what the colours say."""

from dataclasses import dataclass
from statistics import median

from rich import box
from rich.table import Table
from rich.text import Text

from tslab_lab.display import layout
from tslab_lab.display.layout import three_digits
from tslab_lab.estimates import medians

MEMORY_SHARE = 0.05
MEMORY_KIB = 1024

FASTER, SLOWER = "faster", "SLOWER"
SMALLER, LARGER = "smaller", "LARGER"
LEVEL, UNJUDGED = "level", "-"
BAD = (SLOWER, LARGER)
STYLES = {
    FASTER: "green",
    SMALLER: "green",
    SLOWER: "bold red",
    LARGER: "bold red",
}
MIB = 1024  # KiB


def judge_speed(ours, theirs):
    pairs = medians.ratios(ours, theirs)
    needed = medians.rounds_to_show(len(pairs))
    if needed is None:
        return UNJUDGED
    if sum(ratio < 1 for ratio in pairs) >= needed:
        return SLOWER
    if sum(ratio > 1 for ratio in pairs) >= needed:
        return FASTER
    return LEVEL


def judge_memory(ours_kib, theirs_kib):
    """A difference counts above 5 % or 1 MiB, whichever is larger."""
    difference = median(ours_kib) - median(theirs_kib)
    limit = max(MEMORY_SHARE * median(theirs_kib), MEMORY_KIB)
    if difference > limit:
        return LARGER
    if difference < -limit:
        return SMALLER
    return LEVEL


@dataclass(frozen=True)
class Row:
    work: str
    measure: str
    unit: float  # of the figures shown, in those of the runs
    system: medians.Spread
    ours: medians.Spread
    ratio: medians.Spread
    verdict: str


def rows_of(title, unit, system_runs, our_runs):
    """Three rows for one work; run i of either list belongs to the same round."""

    def row(measure, scale, figure, judge):
        theirs, ours = [figure(run) for run in system_runs], [figure(run) for run in our_runs]
        ratio = medians.spread(medians.ratios(ours, theirs))
        return Row(title, measure, scale, medians.spread(theirs), medians.spread(ours), ratio, judge(ours, theirs))

    def speed(run):
        return run["operations"] / run["seconds"]

    scale, prefix = (1e6, "M ") if max(map(speed, system_runs)) >= 1e6 else (1e3, "k ")
    return [
        row(prefix + unit, scale, speed, judge_speed),
        row("peak RSS, MiB", MIB, lambda run: run["peak_kib"], judge_memory),
        row("RSS after, MiB", MIB, lambda run: run["rss_kib"], judge_memory),
    ]


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


def plain_table(rows, system_name, our_name):
    """The same for a page."""
    found = layout.Table(
        f"{our_name} against {system_name}, median (min-max)", ["", system_name, our_name, "ratio", ""]
    )
    for row in rows:
        cells = cell(row.system, row.unit), cell(row.ours, row.unit), cell(row.ratio)
        found.rows.append([f"{row.work}: {row.measure}", *(text.plain for text in cells), row.verdict])
    return found


def sentence(rows, system_name, our_name):
    """How often ours is better, and worse, and by how much there."""

    def told(verdicts):
        found = [row for row in rows if row.verdict in verdicts]
        each = "; ".join(
            f"{row.work}: {row.measure.partition(',')[0]} {three_digits(row.ratio.middle)}" for row in found
        )
        return len(found), f" ({each})" if found else ""

    (better, where), (worse, there) = told((FASTER, SMALLER)), told(BAD)
    return (
        f"**Against {system_name}, {our_name} is better in {better} of {len(rows)} figures{where}, and worse in {worse}{there}.** "
        f"{system_name} = 1."
    )


def complaints(rows):
    return [f"{row.work}, {row.measure}: {row.verdict}" for row in rows if row.verdict in BAD]
