"""`tslab profile`: reads heap profiles that the library has written."""

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from tslab_tools.profiles import asking, figures, written

if TYPE_CHECKING:
    from tslab_tools.profiles.symbols import Symbols

NAME = "profile"
HELP = "who holds memory: heap profiles as tables, for pprof, as flame graphs"
DESCRIPTION = """Shows a heap profile that a program has written (option profile, docs/profiles.md): what is in use, was
allocated, and was in use at the peak, by the place that called for it; which places keep pages that few objects use;
and what grows. Of a running program, give the number of its process. It takes samples since its start (TSLAB_PROFILE),
or since `tslab ctl PID profile=512K`. It needs TSLAB_EXPORT=1, or TSLAB_STATS_SIGNAL and a file in TSLAB_PROFILE."""
SHOWN = {"live": "in use", "allocated": "allocated", "peak": "in use at the peak", "kept": "kept pages"}
SAMPLES_LEAST = 10
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("profile", metavar="FILE|PID", help="a file that the library wrote, or a process that is to write one")
    add("--kind", choices=list(SHOWN), default="live", help="what the table and the graph show (default: live)")
    add("--pins", action="store_true", help="who keeps pages that few objects use")
    add("--leaks", action="store_true", help="what lives, by place and by epoch, and what of it is new since --base")
    add(
        "--base",
        type=Path,
        metavar="FILE",
        help="an earlier profile of the same program, which is subtracted from what lives",
    )
    add("--top", type=int, default=20, metavar="N", help="how many places a table has (default: 20)")
    add("--pprof", type=Path, metavar="FILE", help="write it for pprof, gzipped")
    add("--svg", type=Path, metavar="FILE", help="write a flame graph")
    add("--html", type=Path, metavar="FILE", help="write a page with the flame graph, whose boxes can be looked into")


def _error(found: figures.Sum, share: float | None) -> str:
    """How far a sum may be off, either way: one sigma, in %. Of a share of a known sum only the division is uncertain,
    and even all of it may be one sample less."""
    if not found.samples or found.bytes <= 0:
        return ""
    if found.samples < SAMPLES_LEAST and found.variance:
        return "too few samples"
    rest = 1 if share is None else min(1, 1 - share + 1 / found.samples)
    return f"{100 * math.sqrt(found.variance * rest) / found.bytes:.0f}"


def _table(console: Console, title: str, sites: list[tuple[str, figures.Sum]], top: int, objects: str) -> None:
    total = sum(found.bytes for _, found in sites) or 1
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for head in ("MiB", "%", objects, "samples", "± %"):
        table.add_column(head, justify="right")
    table.add_column("place", overflow="fold")
    for site, found in sites[:top]:
        samples = str(found.samples) if found.samples else ""
        error = _error(found, found.bytes / total if objects == "pages" else None)
        row = (
            f"{found.bytes / 2**20:,.2f}",
            f"{100 * found.bytes / total:.1f}",
            f"{found.objects:,.0f}",
            samples,
            error,
        )
        table.add_row(*row, site, end_section=False)
    console.print(table)


def _pins(console: Console, profile: written.Written, names: "Symbols", top: int) -> None:
    sites = figures.by_site(figures.kept(profile), names)
    count, reached, total = figures.few_of(sites)
    if total == 0:
        console.print("No pages are kept by few objects.")
        return
    subject = "1 site keeps" if count == 1 else f"{count} sites keep"
    console.print(f"{subject} {100 * reached / total:.0f} % of {_size(total)} of retained pages")
    _table(console, "kept pages: at most half of each is in use", sites, top, "pages")
    draining = [epoch for epoch in profile.epochs.values() if epoch.state != "open"]
    for epoch in sorted(draining, key=lambda epoch: -epoch.memory)[:top]:
        name = f"'{epoch.label}'" if epoch.label else "without a label"
        console.print(
            f"An epoch {name} is {epoch.state}: {epoch.objects} objects of {_size(epoch.bytes)} "
            f"keep {_size(epoch.memory)}"
        )


def _size(size: float) -> str:
    power = next(power for power in range(len(_UNITS)) if size < 1024 ** (power + 1))
    return f"{size / 1024**power:.{0 if power == 0 else 1}f} {_UNITS[power]}"


def _leaks(
    console: Console,
    profile: written.Written,
    names: "Symbols",
    base: "tuple[written.Written, Symbols] | None",
    top: int,
) -> None:
    if base is None:
        sums, title = figures.live(profile), "what lives"
    else:
        sums, title = figures.growth(profile, names, *base), f"what lives now and did not in {base[0].path}"
    _table(console, title, figures.by_site(sums, names), top, "objects")
    by_epoch = figures.live(profile, key=lambda sample: sample.epoch)
    for epoch, found in sorted(by_epoch.items(), key=lambda item: -item[1].bytes)[:top]:
        named = profile.epochs.get(epoch)
        name = (
            "the process"
            if epoch == 0
            else f"epoch '{named.label}' ({named.state})"
            if named and named.label
            else f"epoch {epoch}"
        )
        console.print(f"{_size(found.bytes)} in {name}")


def run(arguments: argparse.Namespace) -> int:
    from tslab_tools.profiles import flame, pprof, symbols  # noqa: PLC0415  # the help needs no protobuf

    path = asking.ask(int(arguments.profile)) if arguments.profile.isdecimal() else Path(arguments.profile)
    profile = written.read(path)
    names = symbols.Symbols(profile)
    base = None
    if arguments.base is not None:
        before = written.read(arguments.base)
        base = before, symbols.Symbols(before)
    console = Console(soft_wrap=True, highlight=False)
    sums = (
        figures.growth(profile, names, *base)
        if base and arguments.kind == "live"
        else figures.by_stack(profile, arguments.kind)
    )
    title = f"{profile.head.get('program', '')} {profile.head.get('process', '')}: {SHOWN[arguments.kind]}".strip()
    if arguments.pprof:
        pprof.write(arguments.pprof, profile, names, arguments.kind)
    if arguments.svg:
        arguments.svg.write_text(flame.svg(flame.tree(sums, names, title)), encoding="utf-8")
    if arguments.html:
        page = flame.page(flame.tree(sums, names, title), title, figures.by_site(sums, names)[: arguments.top])
        arguments.html.write_text(page, encoding="utf-8")
    if arguments.pins:
        _pins(console, profile, names, arguments.top)
    if arguments.leaks:
        _leaks(console, profile, names, base, arguments.top)
    if not (arguments.pprof or arguments.svg or arguments.html or arguments.pins or arguments.leaks):
        _table(
            console,
            title,
            figures.by_site(sums, names),
            arguments.top,
            "pages" if arguments.kind == "kept" else "objects",
        )
    for word in ("lost", "stackless"):
        if profile.number(word):
            console.print(
                f"{profile.number(word)} samples found no room for their {'record' if word == 'lost' else 'stack'}"
            )
    return 0
