"""What a page of a report is made of: the results in the forms that tables and figures take, and the sections as they come."""

import base64
import io
from pathlib import Path

from tslab_lab.base.shapes import Latency
from tslab_lab.display import figures
from tslab_lab.display.figures import Canvas
from tslab_lab.display.progress import Bar
from tslab_lab.memory import series
from tslab_lab.report import markup, plots
from tslab_lab.report.markup import Fragment
from tslab_lab.results import comparison, latencies, measures, standings
from tslab_lab.results.standings import Cases
from tslab_lab.results.storage import Results

Lines = dict[str, list[series.Line]]  # RSS over time, of each allocator in each round
Histograms = dict[str, list[Latency]]  # of each allocator, of all rounds


class Page:
    """The parts of the page in the making. `folder`: where the files of its figures go."""

    def __init__(self, results: Results, baseline: str, folder: Path, bar: Bar) -> None:
        self.results, self.folder, self._bar = results, folder, bar
        self.grid = standings.grid(results.runs, results.failures)
        self.names = allocators(results)
        self.baseline = baseline
        order = [name for name in results.header.get("cases") or {} if name in self.grid]
        self.grid = {name: self.grid[name] for name in [*order, *(n for n in self.grid if n not in order)]}
        self.times = standings.columns(self.grid, measures.time_ns)
        self.peaks = standings.columns(self.grid, measures.peak_kib)
        self.afters = standings.columns(self.grid, measures.after_kib)
        self.instructions: Cases = {}
        for record in results.instructions:  # exact: one round says all
            self.instructions.setdefault(record["case"], {})[record["allocator"]] = {1: record["value"]}
        settings = results.header.get("settings") or {}
        self.compared = comparison.of(results, settings["least_effect"]) if "least_effect" in settings else None
        self.sections: list[tuple[str, str, tuple[Fragment, ...]]] = []

    def add(self, name: str, title: str, *parts: Fragment) -> None:
        if any(parts):
            self.sections.append((name, title, parts))

    def lines(self) -> dict[str, Lines]:
        """By case, without moments that were not sampled."""
        found: dict[str, Lines] = {}
        for record in self.results.series:
            times, kib = series.known(record.get("t_ms", ()), record.get("rss_kb", ()))
            if len(times) > 1:
                found.setdefault(record["case"], {}).setdefault(record["allocator"], []).append((times, kib))
        return found

    def latency(self) -> dict[tuple[str, str], Histograms]:
        """By case and operation."""
        found: dict[tuple[str, str], Histograms] = {}
        for record in self.results.latency:
            key = record["case"], record.get("operation", "")
            found.setdefault(key, {}).setdefault(record["allocator"], []).append(record)
        return found

    def latency_curves(self, by_name: Histograms, width: float = plots.WIDTH) -> Canvas:
        """The figure of one kind of operation; None where there are too few."""
        names = [name for name in self.names if name in by_name]
        pooled = {name: latencies.pooled(by_name[name]) for name in names}
        curves = {name: latencies.cumulative(buckets, count) for name, (buckets, count, _) in pooled.items()}
        curves = {name: curve for name, curve in curves.items() if curve[0]}
        return plots.latency(curves, names, width) if curves else None

    def figure(self, name: str, title: str, alt: str, drawn: Canvas, wide: bool = False) -> Fragment:
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
        inside: Fragment = markup.parts.figure(source, width, height, alt, title, wide)
        return inside


def allocators(results: Results) -> list[str]:
    """All that the header names, in its order, and whoever else ran."""
    ran = [run.get("allocator", "") for run in results.runs]
    ran += [record.get("allocator", "") for record in (*results.series, *results.latency)]
    return [name for name in dict.fromkeys([*(results.header.get("allocators") or {}), *ran]) if name in ran]
