"""`lab report`: a run as one HTML page, and its figures as PNG and PDF."""

import argparse
from pathlib import Path

from tslab_lab.report import make
from tslab_lab.results import storage

NAME = "report"
HELP = "a run as one HTML page, with its figures as PNG and PDF"
DESCRIPTION = """Makes report.html in the folder of a run, one page that needs no other file and no network, and draws
all of its figures as PNG and PDF into the folder figures beside it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("run_of", metavar="RUN", help="the folder of a run, its results.jsonl, or 'last' for the newest in tslab-runs")
    add("--output", type=Path, metavar="FILE", help="the page (default: report.html beside the results)")
    add("--baseline", metavar="NAME", help="the allocator that others are compared with (default: tslab)")
    add("--pdf", action="store_true", help="print the page as PDF, too (needs Chromium)")


def run(arguments: argparse.Namespace) -> int:
    page = make.make(storage.read(arguments.run_of), arguments.output, arguments.baseline)
    if arguments.pdf:
        print(make.print_page(page))
    return 0
