"""The tables and the page of `lab epochs`: each described once, for a terminal (80 columns) and Markdown."""

from collections.abc import Callable, Iterable, Iterator
from statistics import median

from tslab_lab.allocators.catalogue import OURS
from tslab_lab.allocators.sides import BASE
from tslab_lab.display import layout
from tslab_lab.display.layout import Setting, Table, interval_text, limit_verdict, short
from tslab_lab.epoch_cost import cases
from tslab_lab.epoch_cost.cases import Outcome

Figures = dict[str, cases.Figure]  # by the head of their column

AMOUNTS: Figures = {"request": cases.nanoseconds, "steps": cases.nanoseconds, "crowd": cases.weight}


def _limit_cell(outcome: Outcome, name: str, figure: cases.Figure) -> str:
    limit = cases.limit_of(name, figure)
    return "-" if limit is None else limit_verdict(limit.most, outcome.met(limit))


def _number(value: float | None) -> str:
    return "-" if value is None else short(value)


def request_table(outcome: Outcome) -> Table:
    fastest = outcome.best(outcome.mallocs, cases.nanoseconds)
    heads = ["", "ns", "/ apr", "/ apr,\nown", "/ apr,\nstatic", f"/ {fastest or 'the fastest'}", "at most"]
    table = Table("A request of 225 objects, processor's time (95 % intervals)", heads)
    for variant in outcome.of_group("request"):
        cells = [variant.name, _number(outcome.median(variant.name, cases.nanoseconds))]
        for peer in (cases.POOL, cases.OWN_POOL, cases.STATIC_POOL, fastest):
            against = None if peer == variant.name else outcome.against(variant.name, peer, cases.nanoseconds)
            cells.append(interval_text(against))
        cells[3:5] = (cell.partition(" ")[0] for cell in cells[3:5])
        table.rows.append([*cells, _limit_cell(outcome, variant.name, cases.nanoseconds)])
    return table


def _figures_table(outcome: Outcome, group: str, title: str, figures: Figures) -> Table:
    """A row for each variant, and for each figure its interval, and the limit where there is one."""
    heads = [""]
    for head, figure in figures.items():
        heads.append(head)
        if any(limit.figure is figure for limit in cases.LIMITS):
            heads.append("at most")
    table = Table(title, heads)
    for variant in outcome.of_group(group):
        cells = [variant.name]
        for figure in figures.values():
            cells.append(interval_text(outcome.interval(variant.name, figure)))
            if any(limit.figure is figure for limit in cases.LIMITS):
                cells.append(_limit_cell(outcome, variant.name, figure))
        table.rows.append(cells)
    return table


def steps_table(outcome: Outcome) -> Table:
    figures: Figures = {"ns (95 % interval)": cases.nanoseconds}
    return _figures_table(outcome, "steps", "The steps around a request, processor's time", figures)


def crowd_table(outcome: Outcome) -> Table:
    figures: Figures = {
        "RSS / asked": cases.weight,
        "RSS, MiB": lambda run: run["grown_kib"] / 1024,
        "left, MiB": lambda run: run["left_kib"] / 1024,
    }
    return _figures_table(outcome, "crowd", "Many requests at once (95 % intervals)", figures)


def reclaim_table(outcome: Outcome) -> Table:
    figures: Figures = {
        "MiB": lambda run: run["grown_kib"] / 1024,
        "at close": lambda run: run["at_close_kib"] / 1024,
        "left, %": cases.left_percent,
        "us a page": cases.page_microseconds,
    }
    table = _figures_table(outcome, "reclaim", "Close with reclaim (95 % intervals)", figures)
    for row in table.rows:  # these two say how much there was; their spread is of no interest
        row[1:3] = (cell.partition(" ")[0] for cell in row[1:3])
    return table


def many_table(outcome: Outcome) -> Table:
    table = Table("Many epochs", ["", "growth, KiB", "at most", "bytes each"])
    for variant in outcome.of_group("many"):
        grown = outcome.interval(variant.name, cases.grown_kib)
        each = f"{outcome.median(variant.name, cases.bytes_each):.0f}" if variant.name == "open" else "-"
        limit = _limit_cell(outcome, variant.name, cases.grown_kib)
        table.rows.append([variant.name, layout.interval_text(grown), limit, each])
    return table


def base_table(outcome: Outcome) -> Table | None:
    """Two builds against each other; None where that was not asked for."""
    twins = [variant for variant in outcome.variants if variant.allocator == BASE]
    table = Table(f"{OURS} against {BASE}", ["", BASE, OURS, f"{OURS} / {BASE} (95 % interval)"])
    figures = AMOUNTS | {"reclaim": cases.page_microseconds, "many": cases.grown_kib}
    for variant in twins:
        figure = figures[variant.group]
        values = [outcome.median(variant.name, figure, allocator) for allocator in (BASE, OURS)]
        row = [f"{variant.group}: {variant.name}"]
        row += ["-" if value is None else layout.three_digits(value) for value in values]
        table.rows.append([*row, interval_text(outcome.against_base(variant.name, figure))])
    return table if twins else None


TABLES: dict[str, Callable[[Outcome], Table]] = {
    "request": request_table,
    "steps": steps_table,
    "crowd": crowd_table,
    "reclaim": reclaim_table,
    "many": many_table,
}


def all_tables(outcome: Outcome) -> dict[str, Table]:
    """By group, those that ran, in order."""
    found = {group: table(outcome) for group, table in TABLES.items() if outcome.of_group(group)}
    base = base_table(outcome)
    return found | ({"base": base} if base else {})


def misses(outcome: Outcome) -> Iterator[str]:
    """What was held to a limit and missed it, in words."""
    for limit in cases.LIMITS:
        if outcome.met(limit) is False:
            yield f"{limit.name}: {interval_text(outcome.judged(limit))}, at most {limit.most:g} {limit.unit}"


def answer(outcome: Outcome) -> Iterator[str]:
    """What the page says first: paragraphs."""
    ours = outcome.median("release", cases.nanoseconds)
    fastest = {
        "pool of APR": outcome.best((cases.POOL, cases.OWN_POOL), cases.nanoseconds),
        "malloc and free": outcome.best(outcome.mallocs, cases.nanoseconds),
    }
    ratios = [
        f"{interval_text(outcome.against('release', name, cases.nanoseconds))} times the fastest {what} ({name})"
        for what, name in fastest.items()
        if name and ours
    ]
    if ratios and ours is not None:
        yield f"**A request of 225 objects in an epoch takes {short(ours)} ns**: {', '.join(ratios)}."
    left = outcome.column("close, release", cases.left_percent)
    if left:
        pages = outcome.median("close, release", cases.page_microseconds)
        yield f"**Closed with reclaim, an epoch leaves {median(left):.2g} % of its memory**, for {_number(pages)} us a page."


def markdown_page(outcome: Outcome, answer: Iterable[str], setting: Setting, notes: Iterable[str]) -> str:
    """A page for docs/results. `answer` and `notes`: paragraphs."""
    parts = [*answer, *notes]
    for group, table in all_tables(outcome).items():
        parts += [f"## {table.title}", *([cases.GROUPS[group]] if group in cases.GROUPS else []), table.markdown()]
    missed = [f"- {line}" for line in misses(outcome)]
    parts += ["## Limits missed", "\n".join(missed) if missed else "None."]
    return layout.markdown_page("Epochs: what they cost, and what they weigh", parts, setting)
