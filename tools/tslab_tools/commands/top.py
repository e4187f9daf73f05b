"""`tslab top`: all processes that run on tslab, as they go."""

import argparse
import json
import sys
import time

from tslab_tools import terminal
from tslab_tools.failure import Failure
from tslab_tools.live import keys, processes, screen, summary
from tslab_tools.values import seconds

HELP = "a live view of the processes that run on tslab"
DESCRIPTION = """Shows the processes that run on tslab with TSLAB_EXPORT=1: their memory by use, allocations a second,
and epochs. You see the processes of your own user; root sees all. Keys: arrows and Enter go into a process, q goes back
and ends, h shows all keys."""
SORTS = [column.name for column in screen.COLUMNS]
SCHEMA, VERSION = "tslab-top", 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("pids", nargs="*", type=int, metavar="PID", help="only these processes (default: all that there are)")
    add("--once", action="store_true", help="print them once, and end; also where there is no terminal")
    add("--json", action="store_true", help="with --once: JSON, on one line")
    add("--sort", choices=SORTS, default="rss", metavar="COLUMN", help=f"by {', '.join(SORTS)} (default: rss)")
    add("--interval", type=seconds(0.2), default=2.0, metavar="SECONDS", help="how often (default: 2; at least 0.2)")


def _once(watched: processes.Watched, arguments: argparse.Namespace) -> int:
    found = watched.look(twice=True)
    watched.require(found)
    for problem in watched.unreadable.values():
        print(f"tslab: {problem}", file=sys.stderr)
    if arguments.json:
        each = [summary.as_json(process) for process in found]
        print(json.dumps({"schema": SCHEMA, "version": VERSION, "processes": each}))
        return 0
    console = terminal.console()
    for line in screen.overview(screen.View(found, sort=arguments.sort), console.width):
        console.print(line, no_wrap=True, crop=False, overflow="ignore")
    return 0


def _live(watched: processes.Watched, arguments: argparse.Namespace) -> int:
    from rich.console import Console, Group  # noqa: PLC0415  # --once does not need them
    from rich.live import Live  # noqa: PLC0415

    console = Console()
    view = screen.View(watched.look(), sort=arguments.sort)
    watched.require(view.processes)
    due = 0.0
    with keys.Keyboard() as keyboard, Live(console=console, screen=True, auto_refresh=False) as live:
        while not view.ended:
            if view.asked or time.monotonic() >= due:
                view.show(watched.look(), list(watched.unreadable.values()))
                due = time.monotonic() + arguments.interval
            live.update(Group(*screen.lines(view, *console.size)), refresh=True)
            for key in keyboard.wait(min(0.25, max(0.0, due - time.monotonic()))):
                view.press(key)
                view.obey()
    return 0


def run(arguments: argparse.Namespace) -> int:
    if arguments.json and not arguments.once:
        arguments.error("--json goes with --once")
    with processes.Watched(arguments.pids) as watched:
        if arguments.once:
            return _once(watched, arguments)
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise Failure("top needs a terminal. Elsewhere: tslab top --once, or --once --json")
        return _live(watched, arguments)
