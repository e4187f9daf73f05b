"""`lab campaign`: measures everything that README and docs state, piece by piece, and writes the pages of docs/results."""

import argparse
import fnmatch
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from tslab_lab.allocators import installed, variants
from tslab_lab.base import machine, places, processes
from tslab_lab.campaign import plan as plans
from tslab_lab.campaign.raw import Entry, Raw
from tslab_lab.display import figures, layout
from tslab_lab.measure import honesty, measurement
from tslab_lab.memory import family
from tslab_lab.report import render
from tslab_lab.results import merging, published, quoted, storage

NAME = "campaign"
HELP = "measures all that the docs state, in pieces, and writes the pages of docs/results"
DESCRIPTION = (
    "Measures a plan: a page for each step, and pieces of some minutes for each page. What a piece has measured is kept, "
    "compressed, in the folder raw beside the pages; a campaign goes on from there whenever it is started, on another day "
    "or in another clone, as long as the engine's sources (src and include) are the same. A page is written when all of its "
    "pieces are there. The plan full measures with --strict: it waits for a quiet machine, and runs again what others "
    "disturb. --check says whether the pages are what the raw results say, whether README and docs say what the pages say, "
    "and whether a page is older than it may be without saying so."
)
FLEETBENCH = measurement.FLEETBENCH
BUSY_HOURS = 6  # so long it waits for a quiet machine, if --minutes does not end it before
TARGETS = ("tslab-malloc", "tslab-malloc-checked", "tslab-static")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--plan", choices=plans.PLANS, default="full", help="what is measured (default: %(default)s)")
    add(
        "--list",
        action="store_true",
        help="list the pieces, how long each takes and which are there, and measure nothing",
    )
    words = "only these, in this order: a step, or STEP:PIECE, also with * and ?"
    add("--pieces", nargs="+", default=[], metavar="PIECE", help=words)
    add("--minutes", type=float, metavar="M", help="begin no piece that would end later, and stop then at the latest")
    measurement.add_fleetbench(parser)
    add("--output", type=Path, default=storage.FOLDER / NAME, metavar="DIR", help="of the runs (default: %(default)s)")
    add("--pages", type=Path, metavar="DIR", help="of the pages (default: docs/results; of smoke: below --output)")
    add("--only-pages", action="store_true", help="measure nothing: write the pages anew from the raw results")
    add("--check", action="store_true", help="measure and write nothing: say what does not fit together; exit code 1")


def run(arguments: argparse.Namespace) -> int:
    if not places.ROOT:
        raise processes.Failure("A campaign is of a checkout, and this lab was installed without one.")
    full = arguments.plan != "smoke" or arguments.check
    pages = arguments.pages or (published.FOLDER if full else arguments.output / "pages")
    if arguments.check:
        return check(pages)
    steps = plans.PLANS[arguments.plan]()
    chosen = pieces_of(steps, arguments)
    raw = Raw(pages)
    if arguments.list:
        return show(chosen, raw)
    left, failed = ([], False) if arguments.only_pages else measure(chosen, raw, arguments)
    for step in steps:
        if any(step == one for one, _ in chosen) and whole(step, raw):
            page = pages / f"{step.name}.md"
            before = page.read_text(encoding="utf-8") if arguments.only_pages and page.is_file() else ""
            write(step, pages, pages)
            page.write_text(published.with_age(page.read_text(encoding="utf-8"), before), encoding="utf-8")
            print(page)
    if pages == published.FOLDER:
        for path in quoted.fill():
            print(path)
    for line in published.wrong() if pages == published.FOLDER else ():
        print(f"to do: {line}")
    if left:
        print(
            f"{layout.counted(len(left), 'piece')} left ({_minutes(left, raw):.0f} minutes). The same command goes on."
        )
    return 1 if failed else 0


Pair = tuple[plans.Step, plans.Piece]


def pieces_of(steps: Iterable[plans.Step], arguments: argparse.Namespace) -> list[Pair]:
    """In the user's order."""
    every = {f"{step.name}:{piece.name}": (step, piece) for step in steps for piece in step.pieces}
    chosen: dict[str, Pair] = {}
    for word in arguments.pieces or ("*",):
        pattern = word if ":" in word or word == "*" else f"{word}:*"
        found = [name for name in every if fnmatch.fnmatchcase(name, pattern)]
        if not found:
            arguments.error(f"--pieces: there is no {word}; --list shows all")
        chosen |= {name: every[name] for name in found if name not in chosen}
    return list(chosen.values())


def show(chosen: Sequence[Pair], raw: Raw) -> int:
    """A line for each piece: how long it takes, or took; when it was measured, and whether of this engine."""
    table = layout.Table("Pieces", ["", "minutes", "measured"])
    for step, piece in chosen:
        known = raw.of(step.name, piece.name)
        when = (known["measured"] + ("" if _is_current(known) else ", another engine or machine")) if known else "-"
        table.rows.append([f"{step.name}:{piece.name}", f"{_minutes([(step, piece)], raw):.1f}", when])
    layout.console().print(table.rich())
    left = [pair for pair in chosen if not _is_current(raw.of(pair[0].name, pair[1].name))]
    pieces, minutes = layout.counted(len(left), "piece"), _minutes(left, raw)
    print(f"{pieces} of {len(chosen)} to measure, {minutes:.0f} minutes; engine {machine.engine()}.")
    return 0


def _minutes(pairs: Iterable[Pair], raw: Raw) -> float:
    """How long they took when they were measured last, for as many rounds as they have now, or should take."""
    known = [(raw.of(step.name, piece.name), piece) for step, piece in pairs]
    return sum(
        one["minutes"] * piece.rounds / one.get("rounds", piece.rounds) if one else piece.minutes
        for one, piece in known
    )


def _is_current(known: Entry | None) -> bool:
    return bool(known and (known["engine"], known.get("machine")) == (machine.engine(), machine.name()))


def measure(chosen: Sequence[Pair], raw: Raw, arguments: argparse.Namespace) -> tuple[list[Pair], bool]:
    """Measures what is not there of this engine. Returns the pieces that are left, and whether any of them failed: for the
    others there was no time."""
    end = time.monotonic() + 60 * arguments.minutes if arguments.minutes is not None else None
    strict = arguments.plan != "smoke"
    wanted = [pair for pair in chosen if not _is_current(raw.of(pair[0].name, pair[1].name))]
    if strict and wanted:
        prepare([piece for _, piece in wanted])
    print(f"{layout.counted(len(wanted), 'piece')} to measure, {_minutes(wanted, raw):.0f} minutes.", flush=True)
    left, failed = list[Pair](), False
    for step, piece in chosen:
        name = f"{step.name}:{piece.name}"
        if step.name == plans.FLEETBENCH and FLEETBENCH not in os.environ and (step, piece) in wanted:
            print(f"{name}: wants the files: --fleetbench DIR", flush=True)
            continue
        if (step, piece) not in wanted:
            print(f"{name}: is there", flush=True)
            continue
        if end is not None and time.monotonic() + 60 * _minutes([(step, piece)], raw) > end:
            left.append((step, piece))
            continue
        if strict and not wait_until_quiet(name, end):
            left.append((step, piece))
            continue
        begun = time.monotonic()
        print(f"{name}: {piece.minutes:.0f} minutes, {' '.join(piece.words)}", flush=True)
        try:
            lines = measured(piece, arguments.output.absolute() / step.name / piece.name, end)
        except processes.Failure as failure:
            print(f"lab: {name}: {failure}", file=sys.stderr, flush=True)
            left.append((step, piece))
            failed = True
            continue
        spent = round((time.monotonic() - begun) / 60, 1)
        facts: Entry = {"engine": machine.engine(), "machine": machine.name(), "commit": machine.commit()[0]}
        raw.keep(step.name, piece.name, lines, facts | {"minutes": spent, "rounds": piece.rounds})
        print(f"{name}: took {spent:g} minutes", flush=True)
    return left, failed


def prepare(pieces: Collection[plans.Piece]) -> None:
    """Builds what they measure, and sees that all peers are here."""
    if machine.commit()[1]:
        raise processes.Failure(
            "The sources have changes that are not committed: nobody can build the same library again."
        )
    variants.command(("cmake", "--preset", "release"), quoted.ROOT)
    variants.command(("cmake", "--build", "--preset", "release", "--target", *TARGETS), quoted.ROOT)
    variants.build(list(dict.fromkeys(variant for piece in pieces for variant in piece.builds)), False)
    if any(plans.ALL[1] in words.split(",") for piece in pieces for words in piece.words):
        _, missing = installed.found([plans.ALL[1]])
        if missing:
            raise processes.Failure(f"Not here: {', '.join(missing)}. To get them: lab/lab peers install")


def measured(piece: plans.Piece, folder: Path, end: float | None) -> Path:
    """Runs the command. Returns the file of its results."""
    if folder.exists():
        shutil.rmtree(folder)  # of an earlier time
    with (
        family.none_left(),
        processes.started(argv_of(piece, folder), dict(os.environ), 1, 2, cwd=quoted.ROOT) as process,
    ):
        try:
            code = process.wait(None if end is None else max(1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise processes.Failure("it was stopped: --minutes are over") from None
    lines = quoted.ROOT / "build/soak/soak.jsonl" if piece.name == plans.SOAK else folder / storage.FILE
    if piece.name == plans.SOAK and code == 0:
        return lines
    footer = storage.read(lines).footer if lines.is_file() else None
    if not (footer and footer["complete"]):
        raise processes.Failure(f"it ended with {code} and is not complete")
    return lines


def argv_of(piece: plans.Piece, folder: Path) -> list[str]:
    if piece.name == plans.SOAK:
        folder.mkdir(parents=True)
        return ["make", "soak", f"SOAK_MINUTES={piece.words[0]}", f"SOAK_PAGE={folder}/soak.md"]
    command, *words = piece.words
    return [sys.executable, "-B", "lab/lab", command, "--output", str(folder), *words]


def wait_until_quiet(name: str, end: float | None) -> bool:
    """Returns whether it is, before `end`."""
    deadline = time.monotonic() + 3600 * BUSY_HOURS if end is None else end
    while not honesty.wait_until_quiet(min(honesty.QUIET_SECONDS, deadline - time.monotonic())):
        if time.monotonic() > deadline:
            print(f"{name}: the machine was busy all the while", flush=True)
            return False
        print(f"{name}: waits for a quiet machine", flush=True)
    return True


def whole(step: plans.Step, raw: Raw) -> bool:
    """Whether all pieces of a page are there, all of one engine and one machine."""
    known = [one for piece in step.pieces if (one := raw.of(step.name, piece.name))]
    whole_step = step.page and len(known) == len(step.pieces)
    return whole_step and len({(one["engine"], one.get("machine")) for one in known}) == 1


def write(step: plans.Step, pages: Path, folder: Path) -> None:
    """The page of a step, from its raw results, into a folder."""
    raw = Raw(pages)
    if step.name == plans.SOAK:
        with tempfile.TemporaryDirectory(prefix="tslab-campaign-") as directory:
            lines = raw.unpack(step.name, plans.SOAK, directory)
            program = quoted.ROOT / "tests/soak/soak.py"
            argv = [sys.executable, "-B", str(program), "page", str(lines), str(folder / "soak.md")]
            processes.run(argv, processes.environment(), "the soak's page")
        return
    found = raw.read(step.name, [piece.name for piece in step.pieces])
    together = merging.merged(list(found.values()))
    command = importlib.import_module(f"tslab_lab.commands.{together.header['command']}")
    report, path = command.report(together), folder / f"{step.name}.md"
    report.title += f": {step.name}" if together.header["command"] == "bench" else ""
    path.write_text(render.markdown(report, path), encoding="utf-8")


def check(pages: Path) -> int:
    """What does not fit together, a line each."""
    wrong = [*changed(pages, [*plans.full(), *plans.long()]), *published.wrong(), *quoted.wrong()]
    for line in wrong:
        print(line)
    print(f"{len(wrong)} things do not fit." if wrong else "Pages, raw results, README and docs fit together.")
    return 1 if wrong else 0


def changed(pages: Path, steps: Iterable[plans.Step]) -> Iterator[str]:
    """Pages, tables and pictures that are not what their raw results say."""
    raw = Raw(pages)
    for step in steps:
        if not whole(step, raw):
            continue
        with tempfile.TemporaryDirectory(prefix="tslab-campaign-") as directory:
            write(step, pages, Path(directory))
            for made in sorted(Path(directory).glob(f"{step.name}[.-]*[dgv]")):
                if not (pages / made.name).is_file() or _said(made) != _said(pages / made.name):
                    yield f"{made.name} is not what its raw results say: lab campaign --only-pages --pieces {step.name}"


def _said(file: Path) -> str | bytes:
    """A picture's figures in words: its points differ from one matplotlib to the next."""
    return figures.told_in(file) if file.suffix == ".png" else published.as_measured(file.read_text(encoding="utf-8"))
