"""`tslab profile`: reads heap profiles that the library has written."""

import argparse
import math
import os
import re
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from tslab_tools.failure import Failure
from tslab_tools.profiles import figures, written

if TYPE_CHECKING:
    from tslab_tools.profiles.symbols import Symbols

NAME = "profile"
HELP = "who holds memory: heap profiles as tables, for pprof, as flame graphs"
DESCRIPTION = """Shows a heap profile that a program has written (option profile, docs/profiles.md): what is in use, was
allocated, and was in use at the peak, by the place that called for it; which places keep pages that few objects use;
and what grows. Of a running program, give the number of its process: it needs the options profile, with a file,
and stats_signal."""
SHOWN = {"live": "in use", "allocated": "allocated", "peak": "in use at the peak", "kept": "kept pages"}
WAIT_SECONDS = 20
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


def _variables(pid: int) -> dict[str, str]:
    try:
        words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError as failure:
        raise Failure(f"process {pid}: {failure.strerror}") from failure
    found: dict[str, str] = {}
    for word in words:
        name, _, value = word.decode(errors="replace").partition("=")
        if name == "TSLAB_OPTIONS":
            options = (item.partition("=") for item in re.split(r",(?=[^,=]*=)", value) if "=" in item)
            found.update({option: chosen for option, _, chosen in options})
        elif name.startswith("TSLAB_"):
            found[name.removeprefix("TSLAB_").lower()] = value
    return found


def _files(pattern: str, pid: int) -> dict[Path, tuple[int, int]]:
    """The files that the process may have written, with the time of each one's last change."""
    program = Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    name = (
        pattern.replace("%%", "\0").replace("%p", str(pid)).replace("%n", "*").replace("%e", program).replace("\0", "%")
    )
    path = Path(f"/proc/{pid}/cwd").resolve() / name
    return {found: (found.stat().st_mtime_ns, found.stat().st_size) for found in path.parent.glob(path.name)}


def ask(pid: int) -> Path:
    """Has a running program write its profile. Returns the file."""
    options = _variables(pid)
    pattern = options.get("profile", "").partition(",")[2]
    if not pattern or not options.get("stats_signal"):
        raise Failure(f"process {pid} was started without a file in TSLAB_PROFILE or without TSLAB_STATS_SIGNAL")
    name = options["stats_signal"].removeprefix("SIG")
    number = int(name) if name.isdecimal() else getattr(signal, f"SIG{name}", None)
    if number is None:
        raise Failure(f"there is no signal {name}")
    before = _files(pattern, pid)
    os.kill(pid, number)
    deadline = time.monotonic() + WAIT_SECONDS
    last = before
    while time.monotonic() < deadline:
        time.sleep(0.1)
        now = _files(pattern, pid)
        changed = [path for path, stamp in now.items() if before.get(path) != stamp]
        if changed and now == last:
            return max(changed, key=lambda path: now[path])
        last = now
    raise Failure(f"process {pid} wrote no profile within {WAIT_SECONDS} s: it writes at its next slow allocation")


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

    path = ask(int(arguments.profile)) if arguments.profile.isdecimal() else Path(arguments.profile)
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
