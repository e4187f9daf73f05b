"""The figures of the request server, as PNG and PDF. They are to be read in print and by colour-blind readers: every
line has a pattern of its own and its name at its end."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tslab_lab.base.shapes import Point
from tslab_lab.display import palette
from tslab_lab.display.figures import GRID, Array, Axes, name_lines, save
from tslab_lab.report import plots
from tslab_lab.request_server.outcomes import CPU, Column, Outcome
from tslab_lab.results import latencies

HEIGHT = 3.6  # of a panel
STEP_MS = 20
HEADROOM = 1.08


def latency(outcome: Outcome, directory: Path) -> list[Path]:
    """The handler's time of all columns, by percentiles."""
    curves: dict[str, latencies.Curve] = {}
    for column in outcome.columns:
        histogram = outcome.pooled(column, CPU)
        buckets = [(histogram.growth**bucket, count) for bucket, count in sorted(histogram.buckets.items())]
        curves[column.name] = latencies.cumulative(buckets, histogram.count)
    curves = {name: curve for name, curve in curves.items() if curve[0]}
    return save(plots.latency(curves, list(curves), plots.WIDE), directory, "requests-latency") if curves else []


def median_series(all_series: Iterable[Sequence[Point]], last_ms: int) -> tuple[Array, Array]:
    """Times and the median over the rounds, on a grid; before its first sample a round has the value of that one."""
    import numpy

    grid = numpy.arange(0, last_ms + 1, STEP_MS)
    columns = [tuple(zip(*series)) for series in all_series if series]
    rows = [numpy.interp(grid, times, values) for times, values in columns]
    return grid, numpy.median(rows, axis=0)


def _rss_panel(
    axes: Axes, outcome: Outcome, columns: Iterable[Column], last_ms: int, title: str
) -> tuple[list[tuple[float, float]], list[Any]]:
    ends, lines = list[tuple[float, float]](), list[Any]()
    for column in columns:
        all_series = [run["series"] for run in outcome.runs[column.name]]
        grid, kib = median_series(all_series, last_ms)
        (line,) = axes.plot(grid / 1000, kib / 1024, **palette.line(column.name))
        lines.append(line)
        ends.append((last_ms / 1000, kib[-1] / 1024))
    axes.set_title(title, fontsize=10)
    axes.set_xlabel("seconds since the start of the load", fontsize=8)
    axes.set_ylabel("RSS, MiB", fontsize=8)
    axes.grid(color=GRID, linewidth=0.6)
    return ends, lines


def rss(outcome: Outcome, directory: Path, idle_seconds: float) -> list[Path]:
    """Peers and one of ours, our policies, and, in a panel of its own because it presses the others flat, what should
    grow: the deferred build, and sessions inside of requests' epochs."""
    from matplotlib import pyplot

    ours = [column for column in outcome.columns if column.is_judged]
    growing = [column for column in outcome.columns if not column.is_peer and not column.is_judged]
    groups = {"allocators": [*outcome.peers, *ours[:1]], "policies": ours if len(ours) > 1 else []}
    groups["for comparison"] = [*growing, *ours[:1]] if growing else []
    groups = {title: columns for title, columns in groups.items() if columns}
    last_ms = min(run["series"][-1][0] for runs in outcome.runs.values() for run in runs if run["series"])
    figure, panels = pyplot.subplots(len(groups), squeeze=False, figsize=(plots.WIDE, HEIGHT * len(groups)))
    shared = []
    for axes, (title, columns) in zip(panels[:, 0], groups.items()):
        drawn = _rss_panel(axes, outcome, columns, last_ms, title)
        shared.append((axes, columns, *drawn))
    plain = [axes for axes, columns, *_ in shared if not set(columns) & set(growing)]
    most = max((axes.get_ylim()[1] for axes in plain), default=0)
    for axes, columns, ends, lines in shared:
        axes.set_ylim(0, HEADROOM * (most if axes in plain else axes.get_ylim()[1]))
        axes.axvline(max(0, last_ms / 1000 - idle_seconds), color="#808080", linewidth=0.8, linestyle=":")
        name_lines(axes, [column.name for column in columns], ends, lines, last_ms / 1000)
    figure.tight_layout()
    files = save(figure, directory, "requests-rss")
    pyplot.close(figure)
    return files


def draw(outcome: Outcome, directory: Path, idle_seconds: float) -> dict[str, str]:
    """All figures that these columns allow; returns their PNG files with titles."""
    directory.mkdir(parents=True, exist_ok=True)
    titles: dict[str, str] = {}
    if files := latency(outcome, directory):
        titles[files[0].name] = "The handler's processor time by percentile"
    files = rss(outcome, directory, idle_seconds)
    titles[files[0].name] = (
        "RSS of the server over time (medians of the rounds); the dotted line is the end of the load"
    )
    return titles
