"""What a page says first, by the command that measured: a sentence, and the one figure that shows it, at full width."""

import base64
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from markupsafe import Markup, escape

from tslab_lab.allocators.catalogue import OURS
from tslab_lab.display import layout
from tslab_lab.display.layout import counted
from tslab_lab.estimates import medians
from tslab_lab.memory import series
from tslab_lab.report import ab_page, demo_picture, html_tables, markup, plots
from tslab_lab.report.markup import Fragment
from tslab_lab.report.material import Histograms, Page
from tslab_lab.results import case_runs, demo_findings, latencies, measures, standings
from tslab_lab.results.standings import Cases
from tslab_lab.workloads import held, named

# How less, level and more are called, by what is measured.
WORDS = {"time": ("faster", "level", "slower")}
SIZES = ("less", "level", "more")


class Said(tuple[str, ...]):
    """Sentences. What is **strong** is between stars, and nothing else is marked."""

    def html(self) -> Markup:
        sentences = [Markup(re.sub(r"\*\*(.*?)\*\*", r"<b>\1</b>", str(escape(one)))) for one in self]
        found: Markup = (
            markup.parts.listed(sentences)
            if len(sentences) > 1
            else Markup("").join(map(markup.parts.paragraph, sentences))
        )
        return found

    def markdown(self) -> str:
        return (
            "\n".join(layout.filled(f"- {one}") for one in self) if len(self) > 1 else "".join(map(layout.filled, self))
        )


Answer = Iterable[Said | Fragment]


def of(page: Page) -> Markup:
    """HTML; empty where there is nothing to say."""
    return Markup("").join(part.html() if isinstance(part, Said) else part for part in _parts(page) if part)


def sentences(page: Page) -> list[str]:
    """What `of` says in words, as Markdown: a paragraph or a list each."""
    return [part.markdown() for part in _parts(page) if part and isinstance(part, Said)]


def _parts(page: Page) -> Answer:
    return BY_COMMAND.get(page.results.header.get("command", ""), compared)(page)


def _said(*found: str) -> Said:
    return Said(found)


def _times(page: Page, cases: Cases, what: str, text: Callable[[float], str]) -> Iterator[str]:
    """One case in a sentence: ours, and the others as multiples of it."""
    ours = page.baseline
    for case, found in cases.items():
        if ours not in found:
            continue
        others = {
            name: ratio
            for name, values in found.items()
            if name != ours and (ratio := standings.ratio(values, found[ours]))
        }
        parts = [
            f"{name} {html_tables.ratio_text(others[name])}"
            for name in sorted(others, key=lambda name: others[name].middle)
        ]
        own = f"{ours} {text(standings.middle(found[ours]))}"
        yield f"**{what}**, {case}: {own}" + (f"; {ours} = 1: {', '.join(parts)}." if parts else ".")


def compared(page: Page) -> Answer:
    """Allocators on workloads: who needs less over all."""
    measured = {"time": page.times, "peak RSS": page.peaks}
    measured = {title: cases for title, cases in measured.items() if cases}
    if not measured:
        return ()
    if len(page.grid) == 1 or len(page.names) < 2:
        texts = {"time": plots.time_text, "peak RSS": html_tables.memory_text}
        sentences = [line for what, cases in measured.items() for line in _times(page, cases, what, texts[what])]
        (case, *_) = page.grid
        drawn = plots.case(
            page.times.get(case, {}), page.peaks.get(case, {}), page.afters.get(case, {}), page.names, plots.WIDE
        )
        alt = f"Time and memory of each allocator in {case}: the figures are in the tables below."
        return _said(*sentences), page.figure("answer", f"{case}: medians of the rounds", alt, drawn, wide=True)
    ours = page.baseline
    means = {
        title: {name: found.mean for name in page.names if (found := standings.overall(cases, name, ours))}
        for title, cases in measured.items()
    }
    drawn = ""
    if len(means) == 2 and set(means["time"]) & set(means["peak RSS"]) - {ours}:
        alt = f"Time and peak RSS of each allocator against {ours}: the figures are in the table below."
        title = f"All workloads at a glance: geometric means, {ours} = 1, with 95 % intervals"
        drawn = page.figure("overview", title, alt, plots.overview(means["time"], means["peak RSS"], ours), wide=True)
    return _said(*_overall(page, measured), *_rows(measured, ours)), drawn


def _rows(measured: Mapping[str, Cases], ours: str) -> Iterator[str]:
    """In how many rows ours is the best, or next to it."""
    for title, cases in measured.items():
        against = standings.against_best(
            cases, ours, {name for found in cases.values() for name in found if name != ours}
        )
        first, near = standings.leaders(cases)[ours][0], sum(found.middle <= NEAR for _, _, found, _ in against)
        yield f"{ours} has the least {title} in {first} of {counted(len(against), 'workload')}, and within {NEAR:g} of the least in {near}."


NAMES_SHOWN = 4  # one by one, in a sentence
NEAR = 1.1


def _overall(page: Page, measured: Mapping[str, Cases]) -> Iterator[str]:
    """The geometric means in words, least first. Below 1 is less than ours."""
    ours = page.baseline
    for title, cases in measured.items():
        found = {name: value for name in page.names if name != ours and (value := standings.overall(cases, name, ours))}
        words = dict(zip((standings.WINS, standings.LEVEL, standings.LOSES), WORDS.get(title, SIZES)))
        parts = []
        for state, word in (words | {None: ""}).items():
            names = [name for name, (mean, _, rounds) in found.items() if standings.verdict(mean, rounds) == state]
            names.sort(key=lambda name: found[name].mean.middle)
            texts = [f"{name} {html_tables.ratio_text(found[name].mean)}" for name in names]
            if len(texts) > NAMES_SHOWN:
                texts = [f"{len(texts)} others, from {texts[0]} to {texts[-1]}"]
            parts += [f"{word}: {', '.join(texts)}".removeprefix(": ")] if texts else []
        if parts:
            what = title[0].upper() + title[1:]
            over = counted(len(cases), "workload")
            yield f"**{what}** over {over}, {ours} = 1: {'; '.join(parts)}."


def ab(page: Page) -> Iterator[Said | Fragment]:
    """The verdict, what A and B are, and the rows that decide."""
    found = page.compared
    if found is None or not found.judged:
        return
    reasons = " ".join((*ab_page.words(found), *ab_page.sensitivity(found)))
    yield markup.parts.verdict(found.verdict, reasons, list(ab_page.sides_of(page.results)))
    shown = found.deciding or sorted(found.judged, key=lambda one: one.chance)[:ROWS_SHOWN]
    what = "The rows that decide" if found.deciding else "The rows that are furthest from chance"
    yield page.figure(
        "effects", what, f"{what}: the figures are in the table below.", plots.effects(shown[:ROWS_SHOWN]), wide=True
    )
    yield html_tables.judged(what, shown)


ROWS_SHOWN = 16


def latency(page: Page) -> Answer:
    """How long the rare ones take."""
    found = page.latency()
    if not found:
        return ()
    if len(found) > KINDS_SHOWN and page.baseline:
        return _percentiles(page, found)
    (case, operation), by_name = next(iter(found.items()))
    return _said(*_rare(found)), _curves(page, case, operation, by_name)


KINDS_SHOWN = 6


def _percentiles(page: Page, found: Mapping[tuple[str, str], Histograms]) -> Answer:
    """Of many kinds of operations: one percentile of each, as ratios."""
    ours = page.baseline
    pooled = {key: {name: latencies.pooled(lines) for name, lines in by_name.items()} for key, by_name in found.items()}
    for share in reversed(latencies.SHARES[:-1]):
        values = {
            f"{case}: {operation}": {
                name: {1: value} for name, one in named.items() if (value := latencies.percentile_ns(*one, share))
            }
            for (case, operation), named in pooled.items()
        }
        values = {kind: by_name for kind, by_name in values.items() if ours in by_name and len(by_name) > 1}
        if values:
            break
    else:
        return ()
    means = {
        name: over_all.mean.middle
        for name in page.names
        if name != ours and _in_most(values, name) and (over_all := standings.overall(values, name, ours))
    }
    texts = [f"{name} {means[name]:.2f}" for name in sorted(means, key=means.__getitem__)]
    what = plots.percentile_name(share)
    sentence = f"**{what}** over {counted(len(values), 'kind')} of operations, {ours} = 1: {', '.join(texts)}."
    alt = f"{what} of each kind of operation against {ours}: the figures are in the tables below."
    points = {
        kind: {name: found[name][1] / found[ours][1] for name in page.names if name in found}
        for kind, found in values.items()
    }
    drawn = plots.strips(points, page.names, ours, what)
    return _said(sentence), page.figure("answer", f"{what}, {ours} = 1", alt, drawn, wide=True)


def _in_most(values: Mapping[str, Mapping[str, object]], name: str) -> bool:
    """Who took part in a few alone is not comparable to the others over all."""
    return sum(name in by_name for by_name in values.values()) * 4 >= len(values) * 3


def _rare(found: Mapping[tuple[str, str], Histograms]) -> Iterator[str]:
    """For each kind of operation the highest percentile that all support."""
    for (case, operation), by_name in found.items():
        pooled = {name: latencies.pooled(records) for name, records in by_name.items()}
        for share in reversed(latencies.SHARES):
            values = {
                name: value
                for name, one in pooled.items()
                if (value := latencies.percentile_ns(*one, share)) is not None
            }
            if len(values) == len(pooled):
                texts = [f"{name} {plots.time_text(values[name])}" for name in sorted(values, key=values.__getitem__)]
                yield f"{case}, {operation}, **{plots.percentile_name(share)}**: {', '.join(texts)}."
                break


def _curves(page: Page, case: str, operation: str, by_name: Histograms) -> Fragment:
    drawn = page.latency_curves(by_name, plots.WIDE)
    title = f"{case}: {operation}, all rounds together. {plots.SUPPORTED}"
    alt = f"Percentiles of the times of {operation} in {case}: the figures are in the tables below."
    return page.figure("answer", title, alt, drawn, wide=True)


def rss(page: Page) -> Iterator[Said | Fragment]:
    """Memory over time."""
    for case, lines in page.lines().items():
        names = [name for name in page.names if name in lines]
        means = {name: medians.spread([series.mean(*line) for line in lines[name]]).middle for name in names}
        ours = means.get(page.baseline)
        parts = [
            f"{name} {html_tables.memory_text(means[name])}"
            + (f" ({means[name] / ours:.2f} of {page.baseline})" if ours and name != page.baseline else "")
            for name in sorted(means, key=means.__getitem__)
        ]
        yield _said(f"**Mean RSS** of {case}: {', '.join(parts)}.")
        alt = f"RSS over time of {', '.join(names)} in {case}: the figures are in the table below."
        title = f"{case}: RSS over time (median of the rounds; shade: all of them)"
        yield page.figure("answer", title, alt, plots.series(lines, names, plots.WIDE), wide=True)


def boundaries(page: Page) -> Answer:
    """Whether there is a cliff, and the curves."""
    told = page.results.header.get("cases") or {}
    listed = case_runs.of(page.results, [case for case in named.select(["boundaries"]) if case.name in told])
    groups: dict[str, tuple[plots.Curves, ...]] = {}
    for group, chosen in case_runs.stepping(listed):
        groups[group] = tuple(
            {
                name: [(float(one.case.largest), one.median(name, figure)) for one in chosen if name in one.runs]
                for name in page.names
            }
            for figure in (measures.time_ns, measures.peak_kib)
        )
    if not groups:
        return ()
    cliffs = list(case_runs.cliffs(listed))
    judged = OURS in page.names and standings.rounds_of(page.grid)[1] > 1
    sentence = f"{OURS} has {counted(len(cliffs), 'cliff')}:" if cliffs else f"No step of {OURS} is a cliff."
    words = _said(f"**{sentence}**") if judged else ""
    listing = markup.parts.listed(cliffs) if judged else ""
    rule = markup.parts.paragraph(
        "A step from one size to the next is a cliff where the time grows more than the size, or shrinks, by more than "
        "half as much again; dashed: where something ends inside of the engine."
    )
    alt = "Time of an operation and peak RSS over the size of objects, both logarithmic: the figures are in the tables below."
    drawn = plots.curves(groups, page.names, held.ENGINE_LIMITS)
    title = "boundaries: sizes from 16 bytes to this one; edges: this size alone"
    return words, listing, page.figure("answer", title, alt, drawn, wide=True), rule


def demo(page: Page) -> Answer:
    """The demo's own verdict and picture."""
    drawn = demo_picture.of(page.results)
    alt = "RSS over time and speed of the allocators in each scene: the figures are in the tables below."
    source = base64.b64encode(drawn.encode()).decode() if drawn else ""
    size = demo_picture.size_of(drawn) if drawn else ()
    picture = markup.parts.figure(source, *size, alt, "RSS over time, and speed", True) if drawn else ""
    return _said(*demo_findings.verdict(page.results)), picture


def epochs(page: Page) -> Answer:
    """A request of many objects, by the way in which it is served."""
    case = "request" if "request" in page.times else next(iter(page.times), None)
    if case is None:
        return ()
    found = page.times[case]
    order = sorted(found, key=lambda name: standings.middle(found[name]))
    texts = [f"{name} {plots.time_text(standings.middle(found[name]))}" for name in order]
    alt = f"Time of {case} by the way in which its objects are served: the figures are in the tables below."
    drawn = plots.case({name: found[name] for name in order}, {}, {}, order, plots.WIDE)
    return _said(f"**{case}**: {', '.join(texts)}."), page.figure("answer", f"{case}: time", alt, drawn, wide=True)


BY_COMMAND: dict[str, Callable[[Page], Answer]] = {
    "ab": ab, "latency": latency, "requests": latency, "rss": rss, "boundaries": boundaries, "demo": demo, "epochs": epochs,
}  # fmt: skip
