"""`lab report`: a run as one HTML page, and its figures as PNG and PDF."""

import argparse
import importlib
import os
import shutil
from pathlib import Path

from tslab_lab.base import processes
from tslab_lab.report import render
from tslab_lab.results import storage

HELP = "a run as one HTML page, with its figures as PNG and PDF"
DESCRIPTION = """Makes report.html in the folder of a run, one page that needs no other file and no network, and draws
all of its figures as PNG and PDF into the folder figures beside it."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("run_of", metavar="RUN", help="the folder of a run, its results.jsonl, or 'last' for the newest in tslab-runs")
    add("--output", type=Path, metavar="FILE", help="the page (default: report.html beside the results)")
    add("--pdf", action="store_true", help="print the page as PDF, too (needs Chromium)")


def run(arguments: argparse.Namespace) -> int:
    found = storage.read(arguments.run_of)
    if not (found.runs or found.series or found.latency):
        raise processes.Failure("There is no run in these results.")
    command = importlib.import_module(f"tslab_lab.commands.{found.header['command']}")
    page = (arguments.output or found.path.parent / "report.html").absolute()
    render.html(found, command.report(found), page)
    print(f"{page}\n{page.parent / 'figures'}{os.sep}: the figures as PNG and PDF")
    if arguments.pdf:
        print(print_page(page))
    return 0


def print_page(page: Path) -> Path:
    """The page as a PDF beside it, by way of a browser."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise processes.Failure("--pdf needs Chromium, which is not here (apt-get install chromium). The page is made.")
    target = page.with_suffix(".pdf")
    argv = [browser, "--headless=new", "--disable-gpu", "--no-pdf-header-footer", f"--print-to-pdf={target}"]
    argv += ["--no-sandbox"] if os.geteuid() == 0 else []
    processes.run([*argv, page.as_uri()], processes.environment(), Path(browser).name)
    return target
