"""The page of a report: one HTML file with everything inside, from what a file of results holds."""

import base64
import csv
import io
import shlex
from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path
from statistics import median

from tslab_lab.allocators import sides
from tslab_lab.base.shapes import Header
from tslab_lab.display import layout
from tslab_lab.display.progress import Bar
from tslab_lab.report import answers, html_tables, markup, plots, summary
from tslab_lab.report.markup import Fragment
from tslab_lab.report.material import Page
from tslab_lab.results import latencies, standings
from tslab_lab.results import marks as result_marks
from tslab_lab.results.standings import Cases
from tslab_lab.results.storage import Results

MANY_CASES = 16  # beyond it, dot plots are drawn for each group
NOTE = (
    "A cell tells how many times the best of its row an allocator takes; below it the 95 % interval of that ratio "
    "(bootstrap over the ratios of the rounds) and the median itself. \N{ALMOST EQUAL TO}: no difference to the best "
    "is shown."
)


def title_of(results: Results) -> str:
    started = results.header.get("started", "at an unknown time").replace("T", " ").replace("Z", " UTC")
    return f"tslab {results.header.get('command', '?')}, {started}"


def marks(page: Page) -> Iterator[str]:
    """What a reader must know before the figures."""
    results = page.results
    yield from result_marks.of(results)
    if sides.AGAIN in page.names:
        yield f"What {sides.AGAIN} differs from {sides.A} by is noise."
    for failure in results.failures:
        yield f"{failure.get('allocator')} failed in {failure.get('case')} and takes no part in it."


def _groups(page: Page, cases: Cases) -> dict[str, Cases]:
    """By title: all together, or, where they are many, by the groups that the header tells."""
    if len(cases) <= MANY_CASES:
        return {"all": cases}
    told = page.results.header.get("cases") or {}
    groups: dict[str, Cases] = {}
    for case, found in cases.items():
        groups.setdefault((told.get(case) or {}).get("group") or "others", {})[case] = found
    return groups


def _slug(text: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in text).strip("-").lower()


def _dots(page: Page, cases: Cases, what: str, name: str) -> list[Fragment]:
    parts: list[Fragment] = []
    for group, chosen in _groups(page, cases).items():
        label = what if group == "all" else f"{what}: {group}"
        alt = f"{label} of each allocator against {page.baseline}, with intervals. The table below has the figures."
        file = name if group == "all" else f"{name}-{_slug(group)}"
        drawn = plots.ratios(chosen, page.names, page.baseline, what)
        parts.append(page.figure(file, f"{label} against {page.baseline}, with 95 % intervals", alt, drawn))
    return parts


def add_ratios(page: Page) -> None:
    """Time and memory side by side, group by group."""
    if len(page.names) < 2 or len(page.grid) < 2:
        return
    pairs: list[list[Fragment]] = []
    for cases, what, name in ((page.times, "Time", "time"), (page.peaks, "Peak RSS", "peak")):
        chosen = {case: found for case, found in cases.items() if page.baseline in found and len(found) > 1}
        pairs.append(_dots(page, chosen, what, name) if chosen else [])
    parts = [drawn for pair in zip_longest(*pairs, fillvalue="") for drawn in pair]
    grid = markup.parts.box("grid", parts) if any(parts) else ""
    page.add("against", f"Against {page.baseline}", grid)


def add_measures(page: Page) -> None:
    for name, title, cases, text in (
        ("time", "Time", page.times, plots.time_text),
        ("peak", "Peak RSS", page.peaks, html_tables.memory_text),
        ("after", "RSS after", page.afters, html_tables.memory_text),
        ("instructions", "Instructions", page.instructions, html_tables.count_text),
    ):
        if not cases:
            continue
        note = markup.parts.paragraph(NOTE) if len(page.names) > 1 and name == "time" else ""
        caption = {"time": "Time per operation", "instructions": "Instructions per operation"}.get(
            name, f"{title}, as multiples of the best of each row"
        )
        apart = (
            [{case: found} for case, found in cases.items()]
            if page.results.header.get("command") == "epochs"
            else [cases]
        )
        tables = (
            html_tables.heat(f"{caption}: {next(iter(some))}" if len(apart) > 1 else caption, some, page.names, text)
            for some in apart
        )
        page.add(name, title, note, *tables)


def add_memory(page: Page) -> None:
    """Where times are told in another way."""
    for name, title, cases in (("peak", "Peak RSS", page.peaks), ("after", "RSS after", page.afters)):
        caption = f"{title}, as multiples of the best of each row"
        page.add(name, title, html_tables.heat(caption, cases, page.names, html_tables.memory_text) if cases else "")


def add_judged(page: Page) -> None:
    """All rows of `lab ab`."""
    if page.compared and page.compared.judged:
        page.add("rows", "All rows", html_tables.judged("B against A", page.compared.judged))


def add_workloads(page: Page) -> None:
    if len(page.grid) < 2:
        return  # the answer is about it
    told = page.results.header.get("cases") or {}
    parts: list[Fragment] = []
    for case in page.grid:
        times, peaks = page.times.get(case, {}), page.peaks.get(case, {})
        if not times and not peaks:
            continue
        words: list[str] = []
        for figures_of, text in ((times, plots.time_text), (peaks, html_tables.memory_text)):
            names = [name for name in page.names if name in figures_of]
            words += [f"{name} {text(standings.middle(figures_of[name]))}" for name in names]
        facts = told.get(case) or {}
        parameters = facts.get("parameters") or {}
        given = ", ".join(f"{key} {value}" for key, value in parameters.items() if value is not None)
        title = f"{case}: {facts.get('title') or ''}" + (f" ({given})" if given else "")
        drawn = plots.case(times, peaks, page.afters.get(case, {}), page.names)
        parts.append(page.figure(f"workload-{_slug(case)}", title, f"{case}: {'; '.join(words)}", drawn))
    page.add("workloads", "Each workload", markup.parts.box("grid", parts) if parts else "")


def add_accounts(page: Page) -> None:
    told = page.results.accounts
    if not told:
        return
    note = markup.parts.paragraph(
        "From one more run of each workload on tslab, when it ends. Each committed byte is in one account; here is the "
        "part that has pages. Waste is what has pages and nobody has. docs/statistics.md says what the names mean."
    )
    page.add("accounts", "Where the memory is", note, html_tables.accounts(told), html_tables.fragmentation(told))


def add_series(page: Page) -> None:
    parts: list[Fragment] = []
    answered = page.results.header.get("command") == "rss"
    for case, lines in page.lines().items():
        names = [name for name in page.names if name in lines]
        title = f"{case}: RSS over time (median of the rounds; shade: all of them)"
        alt = f"RSS over time of {', '.join(names)} in {case}: mean, most and end are in the table beside it."
        drawn = "" if answered else page.figure(f"rss-{_slug(case)}", title, alt, plots.series(lines, names))
        table = html_tables.memory_over_time(f"RSS over time: {case}", lines, names, page.afters.get(case, {}))
        parts.append(markup.parts.box("two beside", [drawn, table]) if drawn else table)
    page.add("rss", "RSS over time", *parts)


def add_latency(page: Page) -> None:
    parts: list[Fragment] = []
    for (case, operation), by_name in page.latency().items():
        names = [name for name in page.names if name in by_name]
        pooled = {name: latencies.pooled(by_name[name]) for name in names}
        timers = [record["timer_ns"] for records in by_name.values() for record in records if record.get("timer_ns")]
        what = f"{case}: {operation}"
        alt = f"Percentiles of the times of {operation} in {case}: they are in the table beside it."
        title = f"{what}, all rounds together. {plots.SUPPORTED}"
        curves = page.latency_curves(by_name)
        drawn = page.figure(f"latency-{_slug(what)}", title, alt, curves) if curves else ""
        timer = f" (the timer itself: {plots.time_text(median(timers))})" if timers else ""
        table = html_tables.percentiles(f"Latency of {what}{timer}", pooled, names)
        parts.append(markup.parts.box("two beside", [drawn, table]))
    note = markup.parts.paragraph(
        "All rounds together, in buckets of 1 %. A percentile that fewer than ten values lie beyond is not told."
    )
    page.add("latency", "Latency", note if parts else "", *parts)


def runs_csv(page: Page) -> str:
    """All runs, for a spreadsheet."""
    keys = dict.fromkeys(key for run in page.results.runs for key in run if key != "kind")
    text = io.StringIO()
    writer = csv.DictWriter(text, list(keys), extrasaction="ignore")
    writer.writeheader()
    writer.writerows(page.results.runs)
    return text.getvalue()


def _command(header: Header, name: str = "lab") -> str:
    """As it was typed."""
    return f"{name} {header.get('command', '')} {shlex.join(map(str, header.get('arguments') or ()))}".strip()


def _repeat(page: Page) -> Fragment:
    header = page.results.header
    commit = (header.get("machine") or {}).get("commit") or ""
    lines = []
    if commit:
        changed = "   # it had changes besides" if " " in commit else ""
        lines += [f"git checkout {commit.partition(' ')[0]}{changed}", "make build"]
    command = "lab/lab" if commit else "lab"
    lines.append(f"{command} peers install")
    lines.append(_command(header, command))
    return markup.parts.pre("\n".join(lines))


def add_circumstances(page: Page) -> None:
    header = page.results.header
    if page.results.failures:
        page.add("failures", "Failures", html_tables.failures(page.results.failures))
    page.add("facts", "What really happened", html_tables.facts(page.grid, page.names))
    page.add("allocators", "Allocators", html_tables.allocators(header.get("allocators") or {}))
    page.add("machine", "Machine", html_tables.machine(header.get("machine") or {}))
    data = ""
    if page.results.runs:
        source = base64.b64encode(runs_csv(page).encode()).decode()
        data = markup.parts.csv(source, layout.counted(len(page.results.runs), "run"))
    page.add("repeat", "How to repeat it", _repeat(page), data)


def _setting(page: Page) -> list[str]:
    """What is below the title: what was measured, and where."""
    header = page.results.header
    machine = header.get("machine") or {}
    least, most = standings.rounds_of(page.grid)
    rounds = layout.counted(most, "round") if least == most else f"{least} to {most} rounds"
    parts = [layout.counted(len(page.names), "allocator")]
    if page.grid:
        parts = [layout.counted(len(page.grid), "workload"), *parts, rounds]
    if machine:
        parts.append(f"{machine.get('cpus', '?')} CPUs, {machine.get('cpu', '?')}")
        parts.append(f"Linux {str(machine.get('kernel', '?')).partition('-')[0]}, {machine.get('libc', '?')}")
    titles = {name: facts.get("title") for name, facts in (header.get("allocators") or {}).items()}
    parts += [f"{name}: {titles[name]}" for name in page.names if name in (sides.A, sides.B) and titles.get(name)]
    return parts


Sections = tuple[Callable[[Page], None], ...]
ALL: Sections = (summary.add_to, add_ratios, add_measures, add_workloads, add_series, add_latency, add_accounts)
# What a page has behind its answer, where that is not all there could be.
SECTIONS: dict[str, Sections] = {
    "ab": (add_judged, add_workloads, add_accounts),
    "latency": (add_latency, add_memory),
    "requests": (add_latency, add_series, add_memory),
    "rss": (add_series,),
    "boundaries": (add_measures,),
    "epochs": (add_measures, add_workloads),
    "demo": (add_series, add_measures),
}


def answer(results: Results, baseline: str, folder: Path, bar: Bar) -> list[str]:
    """What the page says first, in words (Markdown); its figure goes to `folder`."""
    return answers.sentences(Page(results, baseline, folder, bar))


def html(results: Results, baseline: str, folder: Path, bar: Bar) -> str:
    """The whole page; the figures' files go to `folder`."""
    page = Page(results, baseline, folder, bar)
    answer = answers.of(page)
    for add in (*SECTIONS.get(results.header.get("command", ""), ALL), add_circumstances):
        add(page)
    return markup.page(
        title=title_of(results),
        command=_command(results.header),
        setting=_setting(page),
        answer=answer,
        marks=list(marks(page)),
        has_runs=bool(results.runs or results.series or results.latency),
        sections=page.sections,
    )
