"""The tables and the page of the request server: each described once, for a terminal (80 columns) and Markdown."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from tslab_lab.display import layout
from tslab_lab.display.layout import Setting, Table, interval_text
from tslab_lab.estimates.histogram import Histogram
from tslab_lab.request_server import outcomes, survivors
from tslab_lab.request_server.outcomes import CLIENT, CPU, WALL, Column, Outcome, ScatteredOutcome
from tslab_lab.results.measures import Figure

SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
SLABS = {"opened": "slabs\nopened", "recycled": "re-\ncycled", "refills": "refills", "harvests": "harvests"}
TITLES = {
    CPU: "Handler, processor's time, µs",
    WALL: "Handler, wall clock, µs",
    CLIENT: "Client's view, µs (queue, network and the client's own delays included)",
}


def short(value: float | None) -> str:
    """Three digits at least; a dash for what there is not."""
    return "-" if value is None else layout.three_digits(value)


def signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.0f}"


def _row_of(histogram: Histogram) -> list[str]:
    values = [histogram.mean_ns, *(histogram.percentile_ns(share) for share in SHARES.values()), histogram.most_ns]
    share = f"{100 * histogram.long_share:.2f}".rstrip("0").rstrip(".") if histogram.long_share else "0"
    return [short(None if value is None else value / 1000) for value in values] + [share]


def times_table(outcome: Outcome, kind: str) -> Table:
    extra = {CPU: "whole\nserver", WALL: "switches\n/ 1,000"}.get(kind)
    table = Table(TITLES[kind], ["", "mean", *SHARES, "max", "> 1 ms\n%", *([extra] if extra else [])])
    for column in outcome.columns:
        cells = [column.name, *_row_of(outcome.pooled(column, kind))]
        if kind == CPU:
            cells.append(short(outcome.median(column, outcomes.process_us)))
        if kind == WALL:
            cells.append(short(outcome.median(column, outcomes.interruptions)))
        table.rows.append(cells)
    return table


def _against(outcome: Outcome, title: str, figures: Mapping[str, Figure], columns: Iterable[Column]) -> Table:
    """Ratios of our columns to the peer that is best at each figure."""
    heads = [""]
    peers: dict[str, Column | None] = {}
    for name, figure in figures.items():
        peer = peers[name] = outcome.best_peer(figure)
        heads.append(f"{name}\n/ {peer.name if peer else '-'}")
    table = Table(title, heads)
    for column in columns:
        ratios = [outcome.ratio(column, peers[name], figure) for name, figure in figures.items()]
        table.rows.append([column.name, *map(interval_text, ratios)])
    return table


def time_ratios_table(outcome: Outcome) -> Table:
    figures = {f"CPU {name}": figure for name, figure in outcomes.JUDGED.items()}
    figures["wall p99"] = outcomes.percentile_us(WALL, 0.99)
    columns = [column for column in outcome.columns if not column.is_peer]
    return _against(outcome, "Against the peer that is best (95 % interval)", figures, columns)


def memory_ratios_table(outcome: Outcome) -> Table:
    names = {"RSS peak": "peak", "after": "after", "after idling": "idle"}
    figures = {name: outcomes.memory_mib(which) for name, which in names.items()}
    columns = [column for column in outcome.columns if not column.is_peer]
    return _against(outcome, "RSS against the peer that is leanest (95 % interval)", figures, columns)


def memory_table(outcome: Outcome) -> Table:
    heads = ["", "before", "peak", "after", "after\nidling", "growth in KiB\n/ 1,000 requests"]
    table = Table("RSS of the server, MiB", heads)
    for column in outcome.columns:
        values = [outcome.median(column, outcomes.memory_mib(which)) for which in ("before", "peak", "after", "idle")]
        growth = outcome.median(column, outcomes.growth_kib)
        table.rows.append([column.name, *map(short, values), signed(growth)])
    return table


def slabs_table(outcome: Outcome) -> Table | None:
    """None where nothing of ours ran."""
    columns = [column for column in outcome.columns if not column.is_peer]
    table = Table("Slabs and slow paths, per 1,000 requests", ["", *SLABS.values(), "longest\nqueue"])
    for column in columns:
        cells = [short(outcome.median(column, outcomes.slabs(which))) for which in SLABS]
        found = [run["server"]["slabs"] for run in outcome.runs[column.name]]
        longest = "-" if None in found else str(max(slabs["queue_longest"] for slabs in found))
        table.rows.append([column.name, *cells, longest])
    return table if table.rows else None


def deferred_table(outcome: Outcome) -> Table | None:
    """Recycling at close only, against recycling at once, both under never; None where that was not asked for."""
    deferred = outcome.column(f"{outcomes.DEFERRED} never")
    ours = outcome.column(f"{outcomes.OURS} never")
    if deferred is None or ours is None:
        return None
    heads = ["", "deferred", "continuous", "ratio (95 % interval)"]
    table = Table("Deferred against continuous recycling, never", heads)
    figures = {f"handler CPU {name}, µs": figure for name, figure in outcomes.JUDGED.items()}
    figures["handler wall p99, µs"] = outcomes.percentile_us(WALL, 0.99)
    figures["whole server, µs a request"] = outcomes.process_us
    figures["slabs opened / 1,000 requests"] = outcomes.slabs("opened")
    figures["RSS peak, MiB"] = outcomes.memory_mib("peak")
    figures["RSS after idling, MiB"] = outcomes.memory_mib("idle")
    for name, figure in figures.items():
        values = [outcome.median(column, figure) for column in (deferred, ours)]
        has_zero = 0 in outcome.figures(ours, figure)
        ratio = None if has_zero else outcome.ratio(deferred, ours, figure)
        table.rows.append([name, *map(short, values), interval_text(ratio)])
    growth = [outcome.median(column, outcomes.growth_kib) for column in (deferred, ours)]
    table.rows.append(["RSS growth, KiB / 1,000 requests", *map(signed, growth), "-"])
    return table


def scattered_table(scattered: ScatteredOutcome) -> Table:
    heads = ["", "peak", "after", "idle", "when asked", "at most", "CPU, s:\nallocate", "\nend"]
    table = Table("Scattered survivors: RSS above the start, MiB", heads)
    for name, runs in scattered.runs.items():
        cells = [short(scattered.median_mib(name, when)) for when in ("peak", "after", "later", "asked")]
        limit = "-"
        if name in scattered.epochs:
            worst = max(survivors.above_start(run, "after") for run in runs)
            limit = "5 met" if worst <= survivors.LIMIT_KIB else "5 OVER"
        seconds = [layout.three_digits(sorted(run[key] for run in runs)[len(runs) // 2]) for key in SECONDS]
        table.rows.append([name, *cells, limit, *seconds])
    return table


SECONDS = ("allocate_seconds", "finish_seconds")


def page_table(outcome: Outcome) -> Table:
    """What a page shows of all tables of the server."""
    heads = ["", "handler's CPU: mean", "p99", "p99.9", "client: p99", "RSS, MiB: peak", "after", "after idling"]
    table = Table("The request server: µs a request, and RSS", heads)
    for column in outcome.columns:
        cpu, client = outcome.pooled(column, CPU), outcome.pooled(column, CLIENT)
        times = [cpu.mean_ns, cpu.percentile_ns(0.99), cpu.percentile_ns(0.999), client.percentile_ns(0.99)]
        cells = [short(None if time is None else time / 1000) for time in times]
        cells += [short(outcome.median(column, outcomes.memory_mib(which))) for which in ("peak", "after", "idle")]
        table.rows.append([column.name, *cells])
    return table


def server_tables(outcome: Outcome) -> list[Table]:
    tables = [times_table(outcome, kind) for kind in (CPU, WALL)]
    if outcome.peers and any(not column.is_peer for column in outcome.columns):
        tables.append(time_ratios_table(outcome))
    tables += [times_table(outcome, CLIENT), memory_table(outcome)]
    if outcome.peers and any(not column.is_peer for column in outcome.columns):
        tables.append(memory_ratios_table(outcome))
    return [*tables, *filter(None, (slabs_table(outcome), deferred_table(outcome)))]


def markdown_page(
    outcome: Outcome | None,
    scattered: ScatteredOutcome | None,
    setting: Setting,
    answer: Iterable[str],
    notes: Mapping[str, Iterable[str]],
    figures: Mapping[str, str],
    missed: Iterable[str],
    unjudged: str,
    path: Path,
) -> str:
    """A page for docs/results, with all tables in a file beside `path`. `answer`: paragraphs; `notes`: those for the server and
    for the survivors; `figures`: titles by file."""
    parts: list[layout.Part] = [*answer, *(f"![{title}]({file})" for file, title in figures.items())]
    if outcome:
        more = layout.keep_tables(path, server_tables(outcome))
        ratios = (
            [time_ratios_table(outcome)]
            if outcome.peers and any(not column.is_peer for column in outcome.columns)
            else []
        )
        parts += ["## The server", page_table(outcome), *ratios, *notes["server"], more]
    if scattered:
        parts += ["## Scattered survivors", scattered_table(scattered), *notes["scattered"]]
    lines = [*missed, *([f"The server's times are not judged: {unjudged}."] if unjudged else [])]
    parts += ["## Limits missed", "\n".join(f"- {line}" for line in lines) if lines else "None."]
    return layout.markdown_page("A request server: tslab's policies against other allocators", parts, setting)
