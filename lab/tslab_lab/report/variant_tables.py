"""What `lab variants` found, as tables of Markdown."""

from collections.abc import Iterator, Mapping, Sequence

from tslab_lab.allocators.variants import Cost
from tslab_lab.display import layout
from tslab_lab.results import latencies, measures, standings
from tslab_lab.results.standings import ByAllocator, Cases
from tslab_lab.results.storage import Results
from tslab_lab.workloads.catalogue import Case

LIMIT = 1.05  # what is less does not count, either way
SMALL = 64  # bytes: smaller objects share cache lines


def labels(cases: Sequence[Case], quick: bool) -> dict[str, str]:
    """How cases are called in a table, by name: the workload, and the parameters that differ among these, or from what is
    usual."""
    found = {}
    for case in cases:
        same = [other.parameters(quick) for other in cases if other.workload == case.workload]
        own = case.parameters(quick)
        usual = case.workload.parameters | (case.quick if quick else {})
        told = [key for key, value in own.items() if any(values[key] != value for values in (*same, usual))]
        words = [f"{key} {own[key]:,}" for key in told]
        found[case.name] = case.workload.name + (": " + ", ".join(words) if words else "")
    return found


def times(found: Results, cases: Sequence[Case], base: str, quick: bool) -> Iterator[str]:
    """The table of times, and a line for each group of cases: how often each variant is faster or slower."""
    columns = standings.columns(standings.grid(found.runs, found.failures), measures.time_ns)
    names = list(found.header["allocators"])
    table = layout.Table("", ["", *(f"{name}, ns" if name == base else name for name in names)])
    called = labels(cases, quick)
    for case in cases:
        own = columns.get(case.name, {})
        table.rows.append([called[case.name], *(_cell(own, name, base) for name in names)])
    yield table.markdown()
    others = [name for name in names if name != base]
    if others:
        yield _summary(columns, cases, others, base).markdown()


def _cell(columns: ByAllocator, name: str, base: str) -> str:
    if name == base:
        return layout.interval_text(standings.spread(columns[name])) if name in columns else "-"
    both = name in columns and base in columns
    return layout.interval_text(standings.ratio(columns[name], columns[base])) if both else "-"


def _summary(columns: Cases, cases: Sequence[Case], names: Sequence[str], base: str) -> layout.Table:
    table = layout.Table("", ["geometric mean; 5 % faster or slower in so many cases", *names])
    for title, chosen in groups(cases).items():
        some = {case.name: columns[case.name] for case in chosen if case.name in columns}
        cells = []
        for name in names:
            both = [(own[name], own[base]) for own in some.values() if name in own and base in own]
            ratios = [ratio.middle for ours, theirs in both if (ratio := standings.ratio(ours, theirs))]
            if not ratios:
                cells.append("-")
                continue
            faster, slower = sum(x < 1 / LIMIT for x in ratios), sum(x > LIMIT for x in ratios)
            cells.append(f"{standings.geometric_mean(ratios):.2f}; {faster} faster, {slower} slower of {len(ratios)}")
        table.rows.append([title, *cells])
    return table


def groups(cases: Sequence[Case]) -> dict[str, list[Case]]:
    """Cases by what they show: objects that share cache lines and are freed by others, and the rest."""
    found: dict[str, list[Case]] = {}
    for case in cases:
        values = case.values
        hands_over = values.get("remote", 0) > 0 or case.workload.program == "handoff"
        small = values.get("max", SMALL) < SMALL
        title = f"{'below' if small else 'also above'} {SMALL} bytes, freed by others" if hands_over else "all others"
        found.setdefault(title, []).append(case)
    return found


def counts(counted: Mapping[str, Mapping[str, Cost]], beginnings: tuple[str, ...]) -> Iterator[str]:
    """`counted`: by variant and operation."""
    names = list(counted)
    operations = [name for name in counted[names[0]] if name.startswith(beginnings)]
    table = layout.Table("", ["locked instructions (locks of others) for each operation", *names])
    for operation in operations:
        found = [counted[name].get(operation) for name in names]
        table.rows.append([operation, *("-" if one is None else f"{one[0]:.3f} ({one[1]:.3f})" for one in found)])
    if operations:
        yield table.markdown()


def percentiles(found: Results) -> Iterator[str]:
    """A row for each workload, operation and percentile that is supported."""
    names = list(found.header["allocators"])
    table = layout.Table("", ["ns, with the timer", *names])
    for case, operation in dict.fromkeys((line["case"], line["operation"]) for line in found.latency):
        pooled = {
            name: latencies.pooled(
                [x for x in found.latency if (x["case"], x["operation"], x["allocator"]) == (case, operation, name)]
            )
            for name in names
        }
        for share in (0.5, 0.99, 0.999):
            values = [latencies.percentile_ns(*pooled[name], share) for name in names]
            cells = ["-" if value is None else layout.short(value) for value in values]
            table.rows.append([f"{case}: {operation}, p{100 * share:g}", *cells])
    if table.rows:
        yield table.markdown()
