"""`tslab profile`: reads heap profiles that the library has written."""

import argparse
import functools
import math
import os
import re
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tslab_tools import values
from tslab_tools.failure import Failure, told
from tslab_tools.profiles import asking, figures, flame, pprof, symbols, written
from tslab_tools.profiles.wrappers import Wrappers
from tslab_tools.terminal import plain_text, size

HELP = "who holds memory: heap profiles as tables, for pprof, as flame graphs"
DESCRIPTION = """Shows a heap profile that a program has written (option profile, docs/profiles.md): what is in use, was
allocated, and was in use at the peak, by the place that called for it; which places keep pages that few objects use;
and what grows. Functions that allocate for others are skipped: a place is the first function that does not. Of a
running program, give the number of its process. It takes samples since its start (TSLAB_PROFILE), or since `tslab ctl
PID profile=512K`. It needs TSLAB_EXPORT=1, or TSLAB_STATS_SIGNAL and a file in TSLAB_PROFILE."""
SKIPPED_SHOWN = 8
UNBROKEN = 10_000
UNTOLD = 0.1  # a part of what lives
Site = Callable[[int], str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("profile", metavar="FILE|PID", help="a file that the library wrote, or a process that is to write one")
    add("--kind", choices=list(figures.KINDS), default="live", help="what the table and the graph show (default: live)")
    add("--pins", action="store_true", help="who keeps pages that few objects use")
    add("--leaks", action="store_true", help="what lives, by place and by epoch, and what of it is new since --base")
    add(
        "--base",
        type=Path,
        metavar="FILE",
        help="an earlier profile of the same program, which is subtracted from what lives",
    )
    some = values.whole_number(1)
    add("--top", type=some, default=20, metavar="N", help="how many places a table has (default: 20)")
    add("--depth", type=some, default=1, metavar="N", help="how many callers a place has, itself included (default: 1)")
    add("--skip", metavar="REGEX", help="functions that are skipped, too; '': none is, not even malloc's wrappers")
    add("--debuginfod", metavar="URLS", help="servers to ask for missing symbols (default: DEBUGINFOD_URLS, else none)")
    add("--pprof", type=Path, metavar="FILE", help="write it for pprof, gzipped")
    add("--html", type=Path, metavar="FILE", help="write a page with flame graphs of all kinds")


def _error(found: figures.Sum, share: float | None) -> str:
    """How far a sum may be off, either way: one sigma, in %. Of a share of a known sum only the division is uncertain,
    and even all of it may be one sample less."""
    if not found.samples or found.bytes <= 0:
        return ""
    if found.is_rough:
        return "too few samples"
    rest = 1 if share is None else min(1, 1 - share + 1 / found.samples)
    return f"{100 * math.sqrt(found.variance * rest) / found.bytes:.0f}"


def _table(console: Console, title: str, sites: list[tuple[str, figures.Sum]], top: int, objects: str) -> None:
    total = sum(found.bytes for _, found in sites) or 1
    if not sites:
        console.print(f"{plain_text(title)}: no sample. A lower rate takes more samples.")
        return
    table = Table(title=Text(plain_text(title)), title_justify="left", box=None, pad_edge=False)
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
        table.add_row(*row, Text(plain_text(site)), end_section=False)
    console.print(table)


def _pins(console: Console, profile: written.Written, site: Site, who: str, top: int) -> None:
    sites = figures.by_site(figures.kept(profile), site)
    few, total = figures.few_of(sites), sum(found.bytes for _, found in sites)
    if total == 0:
        console.print("No pages are kept by few objects.")
        return
    of_all = f"of {size(total)} of retained pages"
    if few:
        subject = "1 site keeps" if len(few) == 1 else f"{len(few)} sites keep"
        rough = " (too few samples)" if any(found.is_rough for found in few) else ""
        console.print(f"{subject} {100 * sum(found.bytes for found in few) / total:.0f} % {of_all}{rough}")
    else:
        console.print(f"No sample tells who keeps any {of_all}. A lower rate takes more samples.")
    _table(console, f"{who}kept pages: at most half of each is in use", sites, top, "pages")
    draining = [epoch for epoch in profile.epochs.values() if epoch.state != "open"]
    for epoch in sorted(draining, key=lambda epoch: -epoch.memory)[:top]:
        name = f"'{plain_text(epoch.label)}'" if epoch.label else "without a label"
        console.print(
            f"An epoch {name} is {plain_text(epoch.state)}: {epoch.objects} objects of {size(epoch.bytes)} "
            f"keep {size(epoch.memory)}"
        )


def _leaks(console: Console, profile: written.Written, sums: figures.Sums, site: Site, title: str, top: int) -> None:
    _table(console, title, figures.by_site(sums, site), top, "objects")
    by_epoch = figures.live(profile, key=lambda sample: sample.epoch)
    for epoch, found in sorted(by_epoch.items(), key=lambda item: -item[1].bytes)[:top]:
        named = profile.epochs.get(epoch)
        name = (
            "the process"
            if epoch == 0
            else f"epoch '{plain_text(named.label)}' ({plain_text(named.state)})"
            if named and named.label
            else f"epoch {epoch}"
        )
        console.print(f"{size(found.bytes)} in {name}{' (too few samples)' if found.is_rough else ''}")


def _note_rest(console: Console, sums: figures.Sums, live: int) -> None:
    """Sampling may have begun after much was allocated."""
    told, variance = (sum(getattr(of, what) for of in sums.values()) for what in ("bytes", "variance"))
    if live - told > max(live * UNTOLD, 3 * math.sqrt(variance)):
        console.print(
            f"{size(live)} live in the process. What the samples do not tell of was allocated before they began."
        )


def _notes(console: Console, profile: written.Written, names: symbols.Symbols, wrappers: Wrappers) -> None:
    skipped = [plain_text(name) for name in wrappers.skipped()]
    if skipped:
        more = f" and {len(skipped) - SKIPPED_SHOWN} more" if len(skipped) > SKIPPED_SHOWN else ""
        console.print(f"Skipped, because they allocate for others: {', '.join(skipped[:SKIPPED_SHOWN])}{more}")
    for word in ("lost", "stackless"):
        if profile.number(word):
            console.print(
                f"{profile.number(word)} samples found no room for their {'record' if word == 'lost' else 'stack'}"
            )
    for tool, package in names.missing.items():
        console.print(f"Names of functions need {tool}. To install it: apt-get install {package}")


def run(arguments: argparse.Namespace) -> int:
    pid = values.process(arguments.profile)
    asked = asking.Asked(Path(arguments.profile), 0) if pid is None else asking.ask(pid)
    profile = written.read(asked.file)
    before = None if arguments.base is None else written.read(arguments.base)
    servers = os.environ.get("DEBUGINFOD_URLS", "") if arguments.debuginfod is None else arguments.debuginfod
    names = symbols.Symbols(profile, servers, pid)
    try:
        wrappers = Wrappers(names, arguments.skip)
    except re.error as wrong:
        raise Failure(f"--skip {arguments.skip} is no regular expression: {wrong}") from wrong
    site = functools.partial(wrappers.site, depth=arguments.depth)
    console = Console(soft_wrap=True, highlight=False, markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = UNBROKEN  # lines for other programs
    grown = None if before is None else figures.growth(profile, names, before, symbols.Symbols(before, servers))
    lives = figures.live(profile) if grown is None else grown
    sums = lives if arguments.kind == "live" else figures.by_stack(profile, arguments.kind)
    who = f"{profile.title}: " if profile.title else ""
    if arguments.pprof:
        with told("write", arguments.pprof):
            pprof.write(arguments.pprof, profile, names, wrappers.dropped(), arguments.kind)
    if arguments.html:
        page = flame.page(profile, names, wrappers, arguments.kind, grown)
        with told("write", arguments.html):
            arguments.html.write_text(page, encoding="utf-8")
    if arguments.pins:
        _pins(console, profile, site, who, arguments.top)
    if arguments.leaks:
        since = f"what lives now and did not in {arguments.base}"
        _leaks(console, profile, lives, site, who + ("what lives" if before is None else since), arguments.top)
    if not (arguments.pprof or arguments.html or arguments.pins or arguments.leaks):
        objects = "pages" if arguments.kind == "kept" else "objects"
        _table(console, who + figures.KINDS[arguments.kind], figures.by_site(sums, site), arguments.top, objects)
    if sums is lives and grown is None:
        _note_rest(console, sums, asked.live)
    _notes(console, profile, names, wrappers)
    return 0
