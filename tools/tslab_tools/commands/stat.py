"""`tslab stat`: the figures of one process that runs on tslab, or all that a report has."""

import argparse
import json

from tslab_tools import terminal
from tslab_tools.live import processes, report, screen, summary
from tslab_tools.values import process

HELP = "the figures of a process that runs on tslab, or of a report"
DESCRIPTION = """Shows the figures of a process that runs on tslab with TSLAB_EXPORT=1: its memory by use, rates,
accounts, size classes and epochs. The process does not stop.

For a FILE that a program has written with TSLAB_STATS=2, it shows the newest report in it: all totals, options,
accounts, size classes, threads and labels."""
REPORT_WIDTH = 200  # the table of size classes has many columns


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", metavar="PID|FILE")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="JSON, on one line")
    form.add_argument("--openmetrics", action="store_true", help="OpenMetrics, as `tslab export` serves it")


def _show_report(path: str) -> int:
    title, tables = report.shown(path)
    console = terminal.console()
    console.width = max(console.width, REPORT_WIDTH)
    console.print(title)
    for table in tables:
        console.print("", table.title, table.rich(), sep="\n")
    return 0


def run(arguments: argparse.Namespace) -> int:
    pid = process(arguments.what)
    if pid is None:
        if arguments.json or arguments.openmetrics:
            arguments.error("--json and --openmetrics go with a PID")
        return _show_report(arguments.what)
    with processes.Watched([pid]) as watched:
        found = watched.look(twice=True)
        watched.require(found)
        if arguments.openmetrics:
            from tslab_tools.live import metrics  # noqa: PLC0415  # the help needs no prometheus_client

            print(metrics.text(found), end="")
        elif arguments.json:
            print(json.dumps(summary.as_json(found[0])))
        else:
            console = terminal.console()
            for line in screen.details(found[0], console.width):
                console.print(line, no_wrap=True, crop=False, overflow="ignore")
    return 0
