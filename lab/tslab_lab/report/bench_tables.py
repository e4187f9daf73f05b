"""The tables of `lab bench`: one description of each, shown on a terminal (80 columns) or as Markdown."""

import operator
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median

from tslab_lab.display import layout
from tslab_lab.display.layout import Part, Setting, Table, interval_text, limit_verdict, short, three_digits, verdict
from tslab_lab.results import case_runs, measures, standings
from tslab_lab.results.case_runs import CaseRuns
from tslab_lab.results.standings import Overall
from tslab_lab.results.storage import Results
from tslab_lab.workloads import held

# Facts that are what their workloads are about.
TOLD = {
    "copied_kib": "copied on write, KiB",
    "return_ms": "back to a tenth of a burst, ms",
    "enter_ns": "a visit, ns",
    "epoch_ns": "an epoch, ns",
    "epoch_after_crowd_ns": "after the crowd, ns",
    "large_granted_ns": "large, granted, ns",
    "large_refused_ns": "large, refused, ns",
    "small_granted_ns": "small, granted, ns",
    "small_refused_ns": "small, refused, ns",
}


def marked(
    outcome: CaseRuns, names: Sequence[str], figure: measures.Figure, unit: float = 1.0, best: str | None = None
) -> list[str]:
    """The medians of the allocators; a star marks the one that ours is compared with."""
    cells: list[str] = []
    for name in names:
        text = short(outcome.median(name, figure) / unit) if name in outcome.runs else "-"
        cells.append(text + "*" if name == best else text)
    return cells


def time_table(outcomes: Sequence[CaseRuns], names: Sequence[str], ours: str) -> Table:
    table = Table("Time per operation, ns", ["", *names, f"{ours} / best*\n(95 % interval)", "at most"])
    for outcome in outcomes:
        best = outcome.best(measures.time_ns)
        cells = marked(outcome, names, measures.time_ns, best=best)
        ratio = interval_text(outcome.against(best, measures.time_ns))
        table.rows.append([outcome.case.name, *cells, ratio, limit_verdict(outcome.case.limit, outcome.time_met())])
    return table


def memory_table(
    outcomes: Sequence[CaseRuns], names: Sequence[str], ours: str, system: str, wide: bool = False
) -> Table:
    """`wide`: both ratios with their intervals."""
    heads = ["", *names, f"{ours} / leanest*\n(95 % interval)", f"/\n{system}", "both"]
    table = Table("Peak RSS, MiB", heads)
    for outcome in outcomes:
        leanest = outcome.leanest()
        cells = marked(outcome, names, measures.peak_kib, 1024, leanest)
        glibc = outcome.against(system, measures.peak_kib)
        glibc_text = interval_text(glibc) if wide or glibc is None else f"{glibc.middle:.2f}"
        ratio = interval_text(outcome.against(leanest, measures.peak_kib))
        table.rows.append([outcome.case.name, *cells, ratio, glibc_text, verdict(outcome.memory_met())])
    return table


def _fact_rows(outcome: CaseRuns) -> Iterator[tuple[str, measures.Figure]]:
    """What to say about a case beside time and memory: the fact's name, and its figure of a run as a text."""
    every = [run for runs in outcome.runs.values() for run in runs]
    if "remote_share" in every[0]:
        yield "freed remotely, %", lambda run: 100 * run["remote_share"]
        yield "live at most, MiB", lambda run: run["live_kib"] / 1024
        yield "RSS / live", measures.over_live
    for name, words in TOLD.items():
        if name in every[0]:
            yield words, operator.itemgetter(name)
    if "shared_lines" in every[0]:
        yield "lines shared, %", lambda run: 100 * run["shared_lines"]
    if outcome.case.live_limit:
        yield "live at most, MiB", lambda run: run["live_kib"] / 1024
        yield "RSS / live", measures.over_live
        yield "million hand-offs/s", lambda run: run["operations"] / run["seconds"] / 1e6


def facts_table(outcomes: Sequence[CaseRuns], names: Sequence[str]) -> Table | None:
    table = Table("What really happened (medians)", ["", *names])
    for outcome in outcomes:
        for name, figure in _fact_rows(outcome):
            cells = [three_digits(outcome.median(n, figure)) if n in outcome.runs else "-" for n in names]
            table.rows.append([f"{outcome.case.name}: {name}", *cells])
    return table if table.rows else None


def steps_table(group: str, outcomes: Sequence[CaseRuns], names: Sequence[str], ours: str) -> Table:
    """Each largest size with the time per operation, and how that grew from the size before it for each byte."""
    table = Table(f"{group}: ns (a byte, against the size before)", ["up to", *names, "step"])
    before: CaseRuns | None = None
    for outcome in outcomes:
        cells: list[str] = []
        for name in names:
            text = short(outcome.median(name, measures.time_ns)) if name in outcome.runs else "-"
            if before and name in outcome.runs:
                grown = case_runs.step(outcome, before, name).middle / case_runs.growth(outcome, before)
                text += f" ({three_digits(grown)})"
            cells.append(text)
        met = None
        if before and ours in outcome.runs:
            met = case_runs.meets_step(case_runs.step(outcome, before, ours), case_runs.growth(outcome, before))
        table.rows.append([f"{outcome.case.largest:,}", *cells, verdict(met)])
        before = outcome
    return table


def base_table(outcomes: Sequence[CaseRuns], ours: str, base: str) -> Table:
    """Two builds against each other."""
    heads = ["", f"{base}\nns", f"{ours}\nns", f"ns {ours} / {base}\n(95 % interval)"]
    heads += [f"{base}\nMiB", f"{ours}\nMiB", "MiB\nratio"]
    table = Table(f"{ours} against {base}", heads)
    for outcome in outcomes:
        cells = [outcome.case.name, *marked(outcome, (base, ours), measures.time_ns)]
        cells.append(interval_text(outcome.against(base, measures.time_ns)))
        cells += marked(outcome, (base, ours), measures.peak_kib, 1024)
        weight = outcome.against(base, measures.peak_kib)
        cells.append(f"{weight.middle:.2f}" if weight else "-")
        table.rows.append(cells)
    return table


def _overall_text(found: Overall | None, is_ours: bool, wide: bool) -> str:
    if found is None or is_ours:
        return "1" if found else "-"
    return interval_text(found.mean) if wide else three_digits(found.mean.middle)


def overview_table(found: Results, names: Sequence[str], ours: str, wide: bool) -> Table:
    """Each allocator over all cases. `found`: a file of results; `wide`: there is room for intervals."""
    heads = ["", f"time /\n{ours}", "fastest\nin", f"peak RSS /\n{ours}", "leanest\nin", f"RSS after /\n{ours}"]
    brackets = "; in brackets: 95 % interval" if wide else ""
    table = Table(f"Overview: geometric means over all cases (less is better{brackets})", heads)
    grid = standings.grid(found.runs, found.failures)
    figures = [standings.columns(grid, figure) for figure in (measures.time_ns, measures.peak_kib, measures.after_kib)]
    leaders = [standings.leaders(columns) for columns in figures]
    for name in names:
        row = [name]
        for index, columns in enumerate(figures):
            row.append(_overall_text(standings.overall(columns, name, ours), name == ours, wide))
            if index < 2:
                row.append(str(leaders[index].get(name, [0])[0]))
        table.rows.append(row)
    return table


def _own_and_best(outcome: CaseRuns, figure: measures.Figure, unit: float, best: str | None, ours: str) -> list[str]:
    """Cells: ours, the best peer's with its name, the ratio."""
    own = short(outcome.median(ours, figure) / unit) if ours in outcome.runs else "-"
    other = f"{best} {short(outcome.median(best, figure) / unit)}" if best else "-"
    return [own, other, interval_text(outcome.against(best, figure) if best else None)]


def compact_table(outcomes: Sequence[CaseRuns], ours: str) -> Table:
    """Ours and the best of the others, where there is no room for all."""
    table = Table(
        "Time per operation, ns; peak RSS, MiB", ["", ours, "best other", "ratio", ours, "leanest other", "ratio"]
    )
    for outcome in outcomes:
        cells = _own_and_best(outcome, measures.time_ns, 1, outcome.best(measures.time_ns), ours)
        memory = _own_and_best(outcome, measures.peak_kib, 1024, outcome.best(measures.peak_kib), ours)
        ratio = outcome.against(outcome.best(measures.peak_kib), measures.peak_kib)
        memory[2] = "-" if ratio is None else three_digits(ratio.middle)
        table.rows.append([outcome.case.name, *cells, *memory])
    return table


def after_table(outcomes: Sequence[CaseRuns], names: Sequence[str], ours: str) -> Table | None:
    """What stays resident when the work is over; in the cases that tell."""
    table = Table("RSS after, MiB", ["", *names, f"{ours} / least*\n(95 % interval)"])
    for outcome in outcomes:
        if any(measures.after_kib(run) is None for runs in outcome.runs.values() for run in runs):
            continue
        best = outcome.best(measures.after_kib)
        cells = marked(outcome, names, measures.after_kib, 1024, best)
        table.rows.append([outcome.case.name, *cells, interval_text(outcome.against(best, measures.after_kib))])
    return table if table.rows else None


def instructions_table(outcomes: Sequence[CaseRuns], names: Sequence[str]) -> Table | None:
    """By callgrind, of one operation."""
    table = Table("Instructions per operation", ["", *names])
    for outcome in outcomes:
        if outcome.instructions:
            counts = (outcome.instructions.get(name) for name in names)
            cells = ["-" if count is None else short(count) for count in counts]
            table.rows.append([outcome.case.name, *cells])
    return table if table.rows else None


def _room_for_all(outcomes: Sequence[CaseRuns], names: Sequence[str], width: int) -> bool:
    longest = max(len(outcome.case.name) for outcome in outcomes)
    return width >= longest + sum(max(len(name), 6) + 1 for name in names) + 30


def all_tables(
    outcomes: Sequence[CaseRuns], names: Sequence[str], ours: str, system: str, base: str | None, width: int
) -> Iterator[Table | None]:
    """The tables for a terminal of this width, in order. `names` are the allocators but the base."""
    plain = [outcome for outcome in outcomes if outcome.case.group not in held.STEPPING]
    if plain and (len(names) <= 5 or _room_for_all(plain, names, width)):
        yield time_table(plain, names, ours)
        yield memory_table(plain, names, ours, system)
        yield after_table(plain, names, ours)
        yield facts_table(plain, names)
    elif plain:
        yield compact_table(plain, ours)
    yield instructions_table(outcomes, names)
    for group in held.STEPPING:
        chosen = [outcome for outcome in outcomes if outcome.case.group == group]
        if chosen:
            yield steps_table(group, chosen, names, ours)
    if base:
        yield base_table(outcomes, ours, base)


def misses(outcomes: Sequence[CaseRuns], ours: str) -> Iterator[str]:
    """What was held to a limit and missed it, in words."""
    before: dict[str, CaseRuns] = {}
    for outcome in outcomes:
        name = outcome.case.name
        if outcome.time_met() is False:
            yield f"{name}: time {interval_text(outcome.time())}, at most {outcome.case.limit:g}"
        if outcome.case.group in held.STEPPING:
            last = before.get(outcome.case.group)
            if last and ours in outcome.runs:
                step = case_runs.step(outcome, last, ours)
                if case_runs.meets_step(step, case_runs.growth(outcome, last)) is False:
                    yield f"{name}: step {interval_text(step)}, for {case_runs.growth(outcome, last):.3g} times the size"
            before[outcome.case.group] = outcome
            continue
        if outcome.memory_met() is False:
            yield f"{name}: peak RSS"
        if outcome.live_met() is False:
            weight = median(outcome.column(ours, measures.over_live))
            yield f"{name}: RSS {weight:.2f} times what is live, at most {outcome.case.live_limit:g}"


def group_tables(
    outcomes: Sequence[CaseRuns], names: Sequence[str], ours: str, system: str, base: str | None
) -> Iterator[Table]:
    """All tables, group by group."""
    for group in dict.fromkeys(outcome.case.group for outcome in outcomes):
        chosen = [outcome for outcome in outcomes if outcome.case.group == group]
        is_stepping = group in held.STEPPING
        first = steps_table(group, chosen, names, ours) if is_stepping else time_table(chosen, names, ours)
        tables: list[Table | None] = [first]
        tables += [memory_table(chosen, names, ours, system, wide=True), after_table(chosen, names, ours)]
        tables += [facts_table(chosen, names), instructions_table(chosen, names)]
        if base:
            tables.append(base_table(chosen, ours, base))
        yield from filter(None, tables)


def markdown_page(
    title: str,
    answer: Iterable[str],
    overview: Table | None,
    outcomes: Sequence[CaseRuns],
    names: Sequence[str],
    ours: str,
    system: str,
    base: str | None,
    setting: Setting,
    notes: Iterable[Part],
    path: Path,
) -> str:
    """A page for docs/results, with all tables in a file beside `path`. `answer` and `notes`: paragraphs."""
    tables = [*([overview] if overview else []), *group_tables(outcomes, names, ours, system, base)]
    parts: list[layout.Part] = [*answer, *([overview] if overview else []), *notes, layout.keep_tables(path, tables)]
    if len(names) > 1 and ours in names:
        parts += ["## Each case", compact_table(outcomes, ours)]
    missed = [f"- {line}" for line in misses(outcomes, ours)]
    if any(outcome.case.limit for outcome in outcomes):
        parts += ["## Limits missed", "\n".join(missed) if missed else "None."]
    return layout.markdown_page(title, parts, setting)
