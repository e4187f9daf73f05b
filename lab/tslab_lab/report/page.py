"""The page of a report: one HTML file with everything inside, from what a file of results holds."""

import base64
import csv
import io
import shlex
from itertools import zip_longest
from statistics import median

from tslab_lab.allocators import sides
from tslab_lab.display import figures, layout
from tslab_lab.memory import series
from tslab_lab.report import answers, html_tables, markup, plots, summary
from tslab_lab.results import comparison, latencies, measures, standings
from tslab_lab.results import marks as result_marks

MANY_CASES = 16  # beyond it, dot plots are drawn for each group
NOTE = (
    "A cell tells how many times the best of its row an allocator takes; below it the 95 % interval of that ratio "
    "(bootstrap over the ratios of the rounds) and the median itself. \N{ALMOST EQUAL TO}: no difference to the best "
    "is shown."
)


class Page:
    """The parts of the page in the making. `draw`: whether there are figures; `folder`: where their files go."""

    def __init__(self, results, baseline, folder, bar):
        self.results, self.folder, self._bar = results, folder, bar
        self.grid = standings.grid(results.runs, results.failures)
        self.names = allocators(results)
        self.baseline = baseline
        order = [name for name in results.header.get("cases") or {} if name in self.grid]
        self.grid = {name: self.grid[name] for name in [*order, *(n for n in self.grid if n not in order)]}
        self.times = standings.columns(self.grid, measures.time_ns)
        self.peaks = standings.columns(self.grid, measures.peak_kib)
        self.afters = standings.columns(self.grid, measures.after_kib)
        self.instructions = {}
        for record in results.instructions:  # exact: one round says all
            self.instructions.setdefault(record["case"], {})[record["allocator"]] = {1: record["value"]}
        settings = results.header.get("settings") or {}
        self.compared = comparison.of(results, settings["least_effect"]) if "least_effect" in settings else None
        self.sections = []

    def add(self, name, title, *parts):
        if any(parts):
            self.sections.append((name, title, parts))

    def lines(self):
        """RSS over time: dict case -> dict allocator -> list of (milliseconds, KiB), without moments that were not sampled."""
        found = {}
        for record in self.results.series:
            times, kib = series.known(record.get("t_ms", ()), record.get("rss_kb", ()))
            if len(times) > 1:
                found.setdefault(record["case"], {}).setdefault(record["allocator"], []).append((times, kib))
        return found

    def latency(self):
        """dict (case, operation) -> dict allocator -> histograms of all rounds."""
        found = {}
        for record in self.results.latency:
            key = record["case"], record.get("operation", "")
            found.setdefault(key, {}).setdefault(record["allocator"], []).append(record)
        return found

    def latency_curves(self, by_name, width=plots.WIDTH):
        """The figure of one kind of operation; None where there are too few."""
        names = [name for name in self.names if name in by_name]
        pooled = {name: latencies.pooled(by_name[name]) for name in names}
        curves = {name: latencies.cumulative(buckets, count) for name, (buckets, count, _) in pooled.items()}
        curves = {name: curve for name, curve in curves.items() if curve[0]}
        return plots.latency(curves, names, width) if curves else None

    def figure(self, name, title, alt, drawn, wide=False):
        """Keeps the files beside the page, and the same drawing inside of it."""
        if drawn is None:
            return ""
        self._bar.begin(name)
        figures.save(drawn, self.folder, name)
        svg = io.BytesIO()
        drawn.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
        self._bar.end()
        source = base64.b64encode(svg.getvalue()).decode()
        width, height = (round(96 * inches) for inches in drawn.get_size_inches())
        return markup.parts.figure(source, width, height, alt, title, wide)


def allocators(results):
    """All that the header names, in its order, and whoever else ran."""
    every = [*results.runs, *results.series, *results.latency]
    found = dict.fromkeys([*(results.header.get("allocators") or {}), *(record.get("allocator") for record in every)])
    ran = {record.get("allocator") for record in every}
    return [name for name in found if name in ran]


def title_of(results):
    started = results.header.get("started", "at an unknown time").replace("T", " ").replace("Z", " UTC")
    return f"tslab {results.header.get('command', '?')}, {started}"


def marks(page):
    """What a reader must know before the figures."""
    results = page.results
    yield from result_marks.of(results)
    if sides.AGAIN in page.names:
        yield f"What {sides.AGAIN} differs from {sides.A} by is noise."
    for failure in results.failures:
        yield f"{failure.get('allocator')} failed in {failure.get('case')} and takes no part in it."


def _groups(page, cases):
    """dict title -> cases: all together, or, where they are many, by the groups that the header tells."""
    if len(cases) <= MANY_CASES:
        return {"all": cases}
    told = page.results.header.get("cases") or {}
    groups = {}
    for case, found in cases.items():
        groups.setdefault((told.get(case) or {}).get("group") or "others", {})[case] = found
    return groups


def _slug(text):
    return "".join(letter if letter.isalnum() else "-" for letter in text).strip("-").lower()


def _dots(page, cases, what, name):
    parts = []
    for group, chosen in _groups(page, cases).items():
        label = what if group == "all" else f"{what}: {group}"
        alt = f"{label} of each allocator against {page.baseline}, with intervals. The table below has the figures."
        file = name if group == "all" else f"{name}-{_slug(group)}"
        drawn = plots.ratios(chosen, page.names, page.baseline, what)
        parts.append(page.figure(file, f"{label} against {page.baseline}, with 95 % intervals", alt, drawn))
    return parts


def add_ratios(page):
    """Time and memory side by side, group by group."""
    if len(page.names) < 2 or len(page.grid) < 2:
        return
    pairs = []
    for cases, what, name in ((page.times, "Time", "time"), (page.peaks, "Peak RSS", "peak")):
        chosen = {case: found for case, found in cases.items() if page.baseline in found and len(found) > 1}
        pairs.append(_dots(page, chosen, what, name) if chosen else [])
    parts = [drawn for pair in zip_longest(*pairs, fillvalue="") for drawn in pair]
    grid = markup.parts.box("grid", parts) if any(parts) else ""
    page.add("against", f"Against {page.baseline}", grid)


def add_measures(page):
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


def add_memory(page):
    """Where times are told in another way."""
    for name, title, cases in (("peak", "Peak RSS", page.peaks), ("after", "RSS after", page.afters)):
        caption = f"{title}, as multiples of the best of each row"
        page.add(name, title, html_tables.heat(caption, cases, page.names, html_tables.memory_text) if cases else "")


def add_judged(page):
    """All rows of `lab ab`."""
    if page.compared and page.compared.judged:
        page.add("rows", "All rows", html_tables.judged("B against A", page.compared.judged))


def add_workloads(page):
    if len(page.grid) < 2:
        return  # the answer is about it
    told = page.results.header.get("cases") or {}
    parts = []
    for case in page.grid:
        times, peaks = page.times.get(case, {}), page.peaks.get(case, {})
        if not times and not peaks:
            continue
        words = []
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


def add_accounts(page):
    told = page.results.accounts
    if not told:
        return
    note = markup.parts.paragraph(
        "From one more run of each workload on tslab, when it ends. Each committed byte is in one account; here is the "
        "part that has pages. Waste is what has pages and nobody has. docs/statistics.md says what the names mean."
    )
    page.add("accounts", "Where the memory is", note, html_tables.accounts(told), html_tables.fragmentation(told))


def add_series(page):
    parts = []
    answered = page.results.header.get("command") == "rss"
    for case, lines in page.lines().items():
        names = [name for name in page.names if name in lines]
        title = f"{case}: RSS over time (median of the rounds; shade: all of them)"
        alt = f"RSS over time of {', '.join(names)} in {case}: mean, most and end are in the table beside it."
        drawn = "" if answered else page.figure(f"rss-{_slug(case)}", title, alt, plots.series(lines, names))
        table = html_tables.memory_over_time(f"RSS over time: {case}", lines, names, page.afters.get(case, {}))
        parts.append(markup.parts.box("two beside", [drawn, table]) if drawn else table)
    page.add("rss", "RSS over time", *parts)


def add_latency(page):
    parts = []
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


def runs_csv(page):
    """All runs, for a spreadsheet."""
    keys = dict.fromkeys(key for run in page.results.runs for key in run if key != "kind")
    text = io.StringIO()
    writer = csv.DictWriter(text, list(keys), extrasaction="ignore")
    writer.writeheader()
    writer.writerows(page.results.runs)
    return text.getvalue()


def _command(header, name="lab"):
    """As it was typed."""
    return f"{name} {header.get('command', '')} {shlex.join(map(str, header.get('arguments') or ()))}".strip()


def _repeat(page):
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


def add_circumstances(page):
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


def _setting(page):
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


ALL = (summary.add_to, add_ratios, add_measures, add_workloads, add_series, add_latency, add_accounts)
# What a page has behind its answer, where that is not all there could be.
SECTIONS = {
    "ab": (add_judged, add_workloads, add_accounts),
    "latency": (add_latency, add_memory),
    "requests": (add_latency, add_series, add_memory),
    "rss": (add_series,),
    "boundaries": (add_measures,),
    "epochs": (add_measures, add_workloads),
    "demo": (add_series, add_measures),
}


def answer(results, baseline, folder, bar):
    """What the page says first, in words (Markdown); its figure goes to `folder`."""
    return answers.sentences(Page(results, baseline, folder, bar))


def html(results, baseline, folder, bar):
    """The whole page; the figures' files go to `folder`."""
    page = Page(results, baseline, folder, bar)
    answer = answers.of(page)
    for add in (*SECTIONS.get(results.header.get("command"), ALL), add_circumstances):
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
