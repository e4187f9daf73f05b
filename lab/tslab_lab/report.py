"""`tslab report`: a run as one HTML page, and its figures as PNG and PDF."""

import os
import shutil
import tempfile
from pathlib import Path

from rich.console import Console

from tslab_lab import ab, allocators, figures, programs, progress, report_page, results, summary

NAME = "report"
HELP = "a run as one HTML page, with its figures as PNG and PDF"
DESCRIPTION = """Makes report.html in the folder of a run, one page that needs no other file and no network, and draws
all of its figures as PNG and PDF into the folder figures beside it."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def add_arguments(parser):
    add = parser.add_argument
    add("run_of", metavar="RUN", help="the folder of a run, its results.jsonl, or 'last' for the newest in tslab-runs")
    add("--output", type=Path, metavar="FILE", help="the page (default: report.html beside the results)")
    add("--baseline", metavar="NAME", help="the allocator that others are compared with (default: tslab)")
    add("--pdf", action="store_true", help="print the page as PDF, too (needs Chromium)")


def baseline_of(found, wanted):
    """`wanted`, if it is there; else ours, else the first."""
    names = report_page.allocators(found)
    if wanted and wanted not in names:
        there = f"There are: {', '.join(names)}." if names else "No allocator has a run there."
        raise programs.Failure(f"--baseline: {wanted} is not in these results. {there}")
    ours = (allocators.OURS, ab.B)  # whose wins and losses a reader wants to see, if nothing else is said
    return wanted or next((name for name in ours if name in names), names[0] if names else "")


def _figures_expected(found):
    """For the bar only."""
    cases = summary.grid(found.runs, found.failures)
    series = {record["case"] for record in found.series}
    latency = {(record["case"], record.get("operation")) for record in found.latency}
    return 3 + len(cases) + len(series) + len(latency)


def print_page(page):
    """The page as a PDF beside it, by way of a browser."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise programs.Failure("--pdf needs Chromium, which is not here (apt-get install chromium). The page is made.")
    target = page.with_suffix(".pdf")
    with tempfile.TemporaryDirectory(prefix="tslab-report-") as profile:
        argv = [browser, "--headless=new", "--disable-gpu", f"--user-data-dir={profile}", "--no-pdf-header-footer"]
        argv += ["--no-sandbox"] if os.geteuid() == 0 else []
        argv += [f"--print-to-pdf={target}", page.as_uri()]
        programs.run(argv, programs.environment(), Path(browser).name)
    if not target.is_file():
        raise programs.Failure(f"{browser} printed no {target}.")
    return target


def make(found, output=None, baseline=None):
    """Writes the page and the files of its figures, and says where they are. Returns the page."""
    problem = figures.available()
    if problem:
        raise programs.Failure(problem)
    baseline = baseline_of(found, baseline)
    page = (output or found.path.parent / "report.html").absolute()
    folder = page.parent / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    with progress.of(_figures_expected(found), Console()) as bar:
        text = report_page.html(found, baseline, folder, bar)
    page.write_text(text, encoding="utf-8")
    print(f"{page}\n{folder}{os.sep}: the figures as PNG and PDF")
    return page


def run(arguments):
    page = make(results.read(arguments.run_of), arguments.output, arguments.baseline)
    if arguments.pdf:
        print(print_page(page))
    return 0
