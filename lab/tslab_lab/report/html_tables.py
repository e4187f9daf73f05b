"""The tables of a report as HTML. A cell that is a number carries it as data-v, which the page sorts by."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from markupsafe import Markup

from tslab_lab.base.shapes import AccountsOf, AllocatorFacts, Failed
from tslab_lab.display import palette
from tslab_lab.display.layout import three_digits
from tslab_lab.estimates.medians import Spread
from tslab_lab.estimates.randomisation import Judged
from tslab_lab.memory import series
from tslab_lab.report import ab_page, markup, plots
from tslab_lab.report.markup import Fragment
from tslab_lab.report.material import Lines
from tslab_lab.results import accounting, latencies, standings
from tslab_lab.results.latencies import Pooled
from tslab_lab.results.standings import ByAllocator, Cases, Column, Grid

MIB = 1024
Text = Callable[[float], str]  # how a figure is told
MANY_CLASSES = 12
HEAT = ((1.05, "w1"), (1.25, "w2"), (1.75, "w3"))  # up to this ratio, this shade; then the darkest
DARKEST = "w4"


@dataclass(frozen=True)
class Cell:
    """`value` is what the page sorts by; `note` stands beside the text and is `told` by a title, `small` below it."""

    text: object
    value: float | None = None
    classes: str = ""
    small: tuple[str, ...] = ()
    note: str = ""
    told: str = ""
    is_head: bool = False


MISSING = Cell("-", classes="missing")
Rows = Sequence[Sequence[Cell]]


def named(name: str) -> Markup:
    """With the colour that it has in the figures."""
    return Markup(markup.parts.named(name, palette.style(name)["color"]))


def table(caption: str, heads: Sequence[str], rows: Rows, feet: Rows = (), classes: str = "") -> Markup:
    """`rows`, `feet`: lists of cells, of which the first is the row's head. A column of which nothing is known is left out."""
    kept = [i for i in range(len(heads)) if i == 0 or not rows or any(cells[i] != MISSING for cells in rows)]
    body, foot = ([[cells[i] for i in kept] for cells in some] for some in (rows, feet))
    return Markup(markup.parts.table(caption, [heads[i] for i in kept], body, foot, classes))


def head(text: object) -> Cell:
    return Cell(text, is_head=True)


def cell(text: object, value: float | None = None, classes: str = "", small: tuple[str, ...] = ()) -> Cell:
    return Cell(text, value, classes, small)


def span(found: Spread) -> str:
    """The interval in words; empty where a single round has none."""
    low, high = found.ends
    if low == high:
        return ""
    ends = f"{low:.2f}", f"{high:.2f}"
    digits = 3 if ends[0] == ends[1] or "1.00" in ends else 2  # which side of 1 it is on, is what matters
    return f"{low:.{digits}f}\N{EN DASH}{high:.{digits}f}"


def ratio_text(found: Spread) -> str:
    return f"{found.middle:.2f}" + (f" ({span(found)})" if span(found) else "")


def memory_text(kib: float) -> str:
    return f"{three_digits(kib / MIB)} MiB"


def count_text(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else three_digits(number)


def heat_class(value: float) -> str:
    return next((name for limit, name in HEAT if value < limit), DARKEST)


def _heat_cell(values: Column, leading: Column, text: Text) -> Cell:
    """`leading`: the column of the row's best."""
    found = standings.ratio(values, leading)
    absolute = text(standings.middle(values))
    if found is None:
        return MISSING
    small = (span(found), absolute)
    if values is leading:
        return Cell("1.00", 1, "best", (absolute,), "best")
    if standings.verdict(found, len(standings.rounds_together(values, leading))) == standings.LEVEL:
        return Cell(f"{found.middle:.2f}", found.middle, "level", small, "\N{ALMOST EQUAL TO}", "no difference shown")
    return cell(f"{found.middle:.2f}", found.middle, heat_class(found.middle), small)


def heat(caption: str, cases: Cases, names: Sequence[str], text: Text) -> Markup:
    """Cases by allocators: how many times the best of the row each one is. With one allocator: its own figures."""
    names = [name for name in names if any(name in found for found in cases.values())]
    rows = []
    for case, found in cases.items():
        cells = [head(case)]
        leading = standings.least(found)
        for name in names:
            if name not in found:
                cells.append(MISSING)
            elif len(names) == 1:
                value = standings.spread(found[name])
                low, high = value.ends
                range_text = f"{text(low)}\N{EN DASH}{text(high)}" if low != high else ""
                cells.append(cell(text(value.middle), value.middle, small=(range_text,)))
            else:
                cells.append(_heat_cell(found[name], leading, text))
        rows.append(cells)
    heads = ["Workload", *(named(name) for name in names)]
    return table(caption, heads, rows, [_means(cases, names)] if len(names) > 1 and len(cases) > 1 else (), "heat")


def _means(cases: Cases, names: Sequence[str]) -> list[Cell]:
    """The foot of the table: how far from the best each one is over all, where it took part everywhere."""
    cells = [head("geometric mean")]
    for name in names:
        if all(name in found for found in cases.values()):
            pairs = [(found[name], standings.least(found)) for found in cases.values()]
            ratios = [
                ratio.middle for values, leading in pairs if (ratio := standings.ratio(values, leading)) is not None
            ]
            if len(ratios) == len(pairs):
                cells.append(cell(f"{standings.geometric_mean(ratios):.2f}"))
                continue
        cells.append(MISSING)
    return cells


def _overall_cell(cases: Cases, name: str, baseline: str) -> Cell:
    if name == baseline:
        return cell("1.00", 1)
    found = standings.overall(cases, name, baseline)
    if found is None:
        return MISSING
    mean, count, rounds = found
    note = "" if count == len(cases) else f"{count} of {len(cases)} workloads"
    state = {standings.WINS: "less", standings.LOSES: "more"}.get(standings.verdict(mean, rounds) or "", "")
    return cell(f"{mean.middle:.2f}", mean.middle, state, (span(mean), note))


def overall(figures: Mapping[str, Cases], counted: Mapping[str, Cases], names: Sequence[str], baseline: str) -> Markup:
    """A row for each allocator. `figures`: by title; `counted`: the same of those that are won or lost."""
    heads = ["Allocator", *(title for title in figures)]
    leaders = {title: standings.leaders(cases) for title, cases in counted.items()}
    heads += [f"{title}: first in" for title in counted]
    heads += [f"{title}: less / level / more" for title in counted]
    rows = []
    for name in names:
        cells = [head(markup.parts.strong(named(name)) if name == baseline else named(name))]
        cells += [_overall_cell(cases, name, baseline) for cases in figures.values()]
        for title in counted:
            first, clear = leaders[title].get(name, [0, 0])
            cells.append(cell(first, first, small=(f"{clear} clearly",) if first else ()))
        for cases in counted.values():
            less, level, more = standings.tally(cases, name, baseline)
            one = name == baseline or less + level + more == 0
            cells.append(MISSING if one else cell(f"{less} / {level} / {more}", less - more))
        rows.append(cells)
    caption = (
        f"Geometric mean over all workloads against {baseline} (1.00); in how many workloads each one has the least; "
        f"and in how many it has less than {baseline}, no difference is shown, or it has more"
    )
    return table(caption, heads, rows)


ACCOUNTS_SHOWN = 8


def accounts(records: Iterable[AccountsOf]) -> Markup:
    """The accounts by workload: those that have most of the memory with pages in any of them, and all others together."""
    parts = {record["case"]: accounting.parts(record["accounts"]) for record in records}
    sums: dict[str, int] = {}
    for found in parts.values():
        for name, (touched, _) in found.items():
            sums[name] = sums.get(name, 0) + touched
    shown = sorted((name for name in sums if sums[name] > 0), key=sums.__getitem__, reverse=True)[:ACCOUNTS_SHOWN]
    rows = []
    for case, found in parts.items():
        all_touched = sum(touched for touched, _ in found.values())
        each = [found.get(name, (0, 0))[0] for name in shown]
        figures = [all_touched, *each, all_touched - sum(each)]
        rows.append([head(case), *(cell(_mib(value), value) for value in figures)])
    heads = ["Workload", "all", *(name.replace("_", " ") for name in shown), "others"]
    return table("Accounts of memory with pages, MiB", heads, rows)


def fragmentation(records: Iterable[AccountsOf]) -> Fragment:
    """The size classes that waste most, over all workloads."""
    every = [(record["case"], entry) for record in records for entry in record["classes"]]
    most = sorted(every, key=lambda found: accounting.waste(found[1]), reverse=True)[:MANY_CLASSES]
    counts = ["slabs_full", "slabs_partial", "slabs_empty", "pages", "pages_free"]
    counts += ["pages_kept_1", "pages_kept_2", "pages_kept_4"]
    rows = []
    for case, entry in most:
        wasted = accounting.waste(entry)
        figures = (cell(f"{entry[name]:,}", entry[name]) for name in counts)
        size = cell(f"{entry['size']:,}", entry["size"])
        rows.append([head(case), size, cell(_mib(wasted), wasted), *figures])
    heads = ["Workload", "size", "waste, MiB", *(name.replace("_", " ") for name in counts)]
    return table("Fragmentation: the size classes that waste most", heads, rows) if rows else ""


def _mib(value: float) -> str:
    return f"{value / 1024**2:.2f}"


def facts(cases: Grid, names: Sequence[str]) -> Fragment:
    """What the runs say of themselves."""
    rows = []
    for case, allocators in cases.items():
        for fact, found in standings.facts(allocators).items():
            cells = [head(case), cell(_fact_name(fact))]
            for name in names:
                cells.append(_fact_cell(fact, found[name]) if name in found else MISSING)
            rows.append(cells)
    heads = ["Workload", "Fact", *(named(name) for name in names)]
    return table("What really happened: medians over the rounds", heads, rows, classes="facts") if rows else ""


def _fact_name(fact: str) -> str:
    for ending, unit in (("_kib", ", MiB"), ("_mib_s", ", MiB x s"), ("_ms", ", ms")):
        if fact.endswith(ending):
            return fact.removesuffix(ending).replace("_", " ") + unit
    return fact.replace("_", " ") + (", %" if fact.endswith("_share") else "")


def _fact_cell(fact: str, value: float | str) -> Cell:
    if isinstance(value, str):
        return cell(value)
    shown = value / MIB if fact.endswith("_kib") else 100 * value if fact.endswith("_share") else value
    return cell(f"{shown:,.0f}" if shown == int(shown) or shown >= 1000 else three_digits(shown), shown)


def percentiles(caption: str, pooled: Mapping[str, Pooled], names: Sequence[str]) -> Markup:
    """`pooled`: by allocator, of one case and operation."""
    heads = ["Allocator", "operations", *(plots.percentile_name(s) for s in latencies.SHARES), "max"]
    rows = []
    for name in names:
        buckets, count, most = pooled[name]
        cells = [head(named(name)), cell(f"{count:,}", count)]
        for share in latencies.SHARES:
            value = latencies.percentile_ns(buckets, count, most, share)
            cells.append(MISSING if value is None else cell(plots.time_text(value), value))
        rows.append([*cells, cell(plots.time_text(most), most)])
    return table(caption, heads, rows)


OVER_TIME: tuple[Callable[[list[int], list[int]], float | None], ...] = (
    series.mean,
    series.p95,
    lambda _, kib: max(kib),
)


def memory_over_time(caption: str, lines: Lines, names: Sequence[str], afters: ByAllocator) -> Markup:
    """`lines`: by allocator, one for each round. `afters`: the RSS after the work, where it is known."""
    heads = ["Allocator", "mean, MiB", "p95, MiB", "most, MiB", "after, MiB", "samples"]
    rows = []
    for name in names:
        cells = [head(named(name))]
        for figure in OVER_TIME:
            values = [value for line in lines[name] if (value := figure(*line)) is not None]
            whole = len(values) == len(lines[name])
            cells.append(cell(three_digits(median(values) / MIB), median(values)) if whole else MISSING)
        after = standings.middle(afters[name]) if name in afters else None
        cells.append(MISSING if after is None else cell(three_digits(after / MIB), after))
        samples = min(len(times) for times, _ in lines[name])
        rows.append([*cells, cell(f"{samples:,}", samples)])
    return table(caption, heads, rows)


def judged(caption: str, found: Iterable[Judged]) -> Markup:
    """The rows of `lab ab`."""
    rows = [
        [
            head(f"{one.row.case}: {one.row.figure}"),
            *(cell(text) for text in ab_page.cells(one, True)[1:]),
        ]
        for one in found
    ]
    return table(caption, ["Row", *ab_page.heads(True)[1:]], rows)


def failures(found: Iterable[Failed]) -> Markup:
    rows = [
        [head(str(f.get("case"))), cell(str(f.get("allocator"))), cell(str(f.get("round"))),
         cell(markup.parts.pre(f.get("why")))]
        for f in found
    ]  # fmt: skip
    return table("Who failed where, and why", ["Workload", "Allocator", "Round", "Why"], rows, classes="words")


def allocators(found: Mapping[str, AllocatorFacts]) -> Markup:
    rows = []
    for name, facts_of in found.items():
        cells = [head(named(name)), cell(facts_of.get("title") or "")]
        cells.append(cell(str(facts_of.get("version") or "-")))
        cells.append(cell(facts_of["released"]) if facts_of.get("released") else MISSING)
        cells.append(cell(facts_of.get("source") or "-"))
        cells.append(cell(markup.parts.code(facts_of.get("library") or "the C library itself")))
        cells.append(cell(markup.parts.code(facts_of.get("sha256") or "-"), classes="hash"))
        rows.append(cells)
    return table(
        "The allocators", ["Name", "Title", "Version", "Released", "From", "Library", "SHA-256"], rows, classes="words"
    )


def machine(facts_of: Mapping[str, object]) -> Markup:
    rows = []
    for name, value in facts_of.items():
        title = name.removesuffix("_kib").replace("_", " ")
        rows.append([head(title), cell(_machine_text(name, value))])
    return table("The machine", ["Fact", "Value"], rows, classes="words")


def _machine_text(name: str, value: object) -> str:
    if name.endswith("_kib") and isinstance(value, (int, float)):
        return f"{value / MIB / 1024:.1f} GiB"
    if isinstance(value, dict):
        return " ".join(f"{key}={what}" for key, what in value.items()) or "-"
    return "-" if value in (None, "") else f"{value:.2f}" if isinstance(value, float) else str(value)
