"""Makes the page of a run and the files of its figures."""

import os
import shutil
import tempfile
from pathlib import Path

from rich.console import Console

from tslab_lab.allocators import catalogue, sides
from tslab_lab.base import processes
from tslab_lab.display import figures, progress
from tslab_lab.report import material
from tslab_lab.report import page as pages
from tslab_lab.results import standings
from tslab_lab.results.storage import Results

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def baseline_of(found: Results, wanted: str | None) -> str:
    """`wanted`, if it is there; else ours, else the first."""
    names = material.allocators(found)
    if wanted and wanted not in names:
        there = f"There are: {', '.join(names)}." if names else "No allocator has a run there."
        raise processes.Failure(f"--baseline: {wanted} is not in these results. {there}")
    ours = (catalogue.OURS, sides.B)  # whose wins and losses a reader wants to see, if nothing else is said
    return wanted or next((name for name in ours if name in names), names[0] if names else "")


def _figures_expected(found: Results) -> int:
    """For the bar only."""
    cases = standings.grid(found.runs, found.failures)
    series = {record["case"] for record in found.series}
    latency = {(record["case"], record.get("operation")) for record in found.latency}
    return 3 + len(cases) + len(series) + len(latency)


def print_page(page: Path) -> Path:
    """The page as a PDF beside it, by way of a browser."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise processes.Failure("--pdf needs Chromium, which is not here (apt-get install chromium). The page is made.")
    target = page.with_suffix(".pdf")
    with tempfile.TemporaryDirectory(prefix="tslab-report-") as profile:
        argv = [browser, "--headless=new", "--disable-gpu", f"--user-data-dir={profile}", "--no-pdf-header-footer"]
        argv += ["--no-sandbox"] if os.geteuid() == 0 else []
        argv += [f"--print-to-pdf={target}", page.as_uri()]
        processes.run(argv, processes.environment(), Path(browser).name)
    if not target.is_file():
        raise processes.Failure(f"{browser} printed no {target}.")
    return target


def answer(found: Results, path: Path, alt: str) -> tuple[list[str], list[str]]:
    """What a page of Markdown says first: its sentences, and a list with the link to its figure, which is drawn beside `path` as
    .png and .pdf. Two empty lists where there are no figures. `alt`: what the figure shows."""
    if figures.available():
        return [], []
    with tempfile.TemporaryDirectory(prefix="tslab-report-") as directory:
        sentences = pages.answer(found, baseline_of(found, None), Path(directory), progress.nothing())
        drawn = next(iter(sorted(Path(directory).glob("*.png"))), None)
        if drawn is None:
            return sentences, []
        for suffix in (".png", ".pdf"):
            shutil.copy(drawn.with_suffix(suffix), path.with_suffix(suffix))
        return sentences, [f"![{alt}]({path.with_suffix('.png').name})"]


def make(found: Results, output: Path | None = None, baseline: str | None = None) -> Path:
    """Writes the page and the files of its figures, and says where they are. Returns the page."""
    problem = figures.available()
    if problem:
        raise processes.Failure(problem)
    baseline = baseline_of(found, baseline)
    page = (output or found.path.parent / "report.html").absolute()
    folder = page.parent / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    with progress.of(_figures_expected(found), Console()) as bar:
        text = pages.html(found, baseline, folder, bar)
    page.write_text(text, encoding="utf-8")
    print(f"{page}\n{folder}{os.sep}: the figures as PNG and PDF")
    return page
