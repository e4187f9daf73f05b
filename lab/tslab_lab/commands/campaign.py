"""`tslab campaign`: measures everything that README and docs state, on one commit, and writes the pages of docs/results."""

import importlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tslab_lab.base import machine, places, processes
from tslab_lab.measure import honesty
from tslab_lab.report import scatter
from tslab_lab.results import published, storage

NAME = "campaign"
HELP = "measures all that the docs state, on one commit, and writes the pages of docs/results"
DESCRIPTION = (
    "Runs all steps of a plan, hours on a quiet machine, each into a folder below --output; a campaign that was stopped goes on "
    "with the steps that are not complete. The plan full measures with --strict: it waits for a quiet machine, and runs again "
    "what others disturb. Then the raw results go compressed into the folder raw beside the pages, and the pages are written "
    "from them, and README's picture from the page of the matrix. --check says whether the pages are what the raw results say, whether README and docs say what the pages say, "
    "and whether a page is older than the engine by more than it may be."
)
RAW_MOST = 5 << 20  # bytes of all raw results together
RAW = "raw"
BUSY_HOURS = 6  # so long it waits for a quiet machine
STATE = "campaign.json"
PICTURE = "matrix.svg"  # README's


@dataclass(frozen=True)
class Step:
    """The words of the command, in the checkout; the page has the step's name. The soak has a command of its own."""

    name: str
    words: tuple


def _programs():
    return ("redis", "python", "sqlite3", "lua", "perl", "cc1plus", "git", "nginx")


def full():
    rounds = ("--rounds", "10", "--strict")
    every = ("--allocators", "all")
    threads = [f"churn-fixed:threads={count}" for count in (4, 16)]
    checked = ("tslab", "build/release/libtslab-malloc-checked.so", *_programs(), "app", "scopes", "mixed-remote", "burst-idle")
    deferred = ("--deferred", "build/deferred/libtslab-malloc.so")
    return (
        Step("matrix", ("bench", "standard", "programs", *every, *rounds, "--seconds", "14400")),
        Step("patterns", ("bench", "patterns", "--allocators", "tslab,debian", *rounds, "--seconds", "7200")),
        Step("latency", ("latency", "latency", *threads, "--allocators", "all,tslab@magazines=0", *rounds, "--seconds", "7200", "--no-figures")),
        Step("epochs", ("epochs", *rounds, "--seconds", "3600")),
        Step("requests", ("requests", *every, *deferred, *rounds, "--seconds", "7200", "--no-figures")),
        Step("rss", ("rss", *every, *rounds, "app:operations=60000000")),
        Step("boundaries", ("boundaries", *every, *rounds, "--seconds", "3600", "--no-figures")),
        Step("demo", ("demo", *rounds, "--seconds", "1800")),
        Step("checked", ("ab", *checked, *rounds, "--seconds", "7200", "--question", "what does the checked library cost?")),
        Step("soak", ("60",)),
    )  # fmt: skip


def smoke():
    """Next to nothing of it: shows that it runs."""
    two = ("--allocators", "glibc,tslab")
    return (
        Step("matrix", ("bench", "pair:operations=20000", "replace:operations=20000,live=100", *two, "--rounds", "2")),
        Step("latency", ("latency", "pair:operations=20000", *two, "--rounds", "1", "--no-figures")),
        Step("epochs", ("epochs", "--quick", "--rounds", "1", "--groups", "request,steps", *two)),
        Step("rss", ("rss", *two, "--rounds", "1", "pair:operations=3000000")),
        Step("checked", ("ab", "glibc", "tslab", "pair:operations=20000", "--rounds", "5")),
    )


PLANS = {"full": full, "smoke": smoke}


def add_arguments(parser):
    add = parser.add_argument
    add("--plan", choices=PLANS, default="full", help="what is measured (default: %(default)s)")
    add("--output", type=Path, default=storage.FOLDER / NAME, metavar="DIR", help="of the runs (default: %(default)s)")
    add("--pages", type=Path, metavar="DIR", help="of the pages (default: docs/results; of smoke: below --output)")
    add("--steps", metavar="A,B,...", help="only these")
    add("--only-pages", action="store_true", help="measure nothing: write the pages anew from the raw results")
    add("--check", action="store_true", help="measure and write nothing: say what does not fit together; exit code 1")


def run(arguments):
    if not places.ROOT:
        raise processes.Failure("A campaign is of a checkout, and this lab was installed without one.")
    pages = arguments.pages or (published.FOLDER if arguments.plan == "full" or arguments.check else arguments.output / "pages")
    if arguments.check:
        return check(pages)
    steps = PLANS[arguments.plan]()
    if arguments.steps:
        wanted = arguments.steps.split(",")
        unknown = set(wanted) - {step.name for step in steps}
        if unknown:
            arguments.error(f"--steps: there is no {', '.join(sorted(unknown))}")
        steps = [step for step in steps if step.name in wanted]
    if not arguments.only_pages:
        measure(steps, arguments.output, arguments.plan)
        keep([step.name for step in steps], arguments.output, pages)
    for name in [step.name for step in steps]:
        if raw_of(pages, name).is_file():
            write(name, pages, pages)
            print(f"{pages / name}.md")
    if picture := drawn(pages):
        (pages / PICTURE).write_text(picture, encoding="utf-8")
        print(pages / PICTURE)
    return 0


def measure(steps, output, plan):
    """Runs what is not complete, on the commit that the campaign was begun on."""
    output.mkdir(parents=True, exist_ok=True)
    commit, changed = machine.commit()
    state = {"plan": plan, "commit": commit}
    known = json.loads((output / STATE).read_text()) if (output / STATE).is_file() else state
    if known != state:
        raise processes.Failure(f"{output} holds a campaign of plan {known['plan']} on commit {known['commit']}: name another --output.")
    if plan == "full" and changed:
        raise processes.Failure("The checkout has changes that are not committed: a campaign is of a commit.")
    (output / STATE).write_text(json.dumps(state) + "\n")
    for number, step in enumerate(steps, 1):
        folder = output / step.name
        if complete(step, folder):
            print(f"{number}/{len(steps)} {step.name}: is complete", flush=True)
            continue
        if folder.exists():
            shutil.rmtree(folder)  # of a step that was stopped
        if plan == "full":
            wait_until_quiet(step)
        print(f"{number}/{len(steps)} {step.name}: {' '.join(step.words)}", flush=True)
        code = subprocess.run(argv_of(step, folder), cwd=places.ROOT, stdin=subprocess.DEVNULL, check=False).returncode
        if not complete(step, folder):
            raise processes.Failure(f"{step.name} ended with {code} and is not complete. The same command goes on here.")


def argv_of(step, folder):
    if step.name == "soak":
        folder.mkdir(parents=True)
        return ["make", "soak", f"SOAK_MINUTES={step.words[0]}", f"SOAK_PAGE={folder.absolute()}/soak.md"]
    command, *words = step.words
    return [sys.executable, "-B", "lab/tslab", command, "--output", str(folder.absolute()), *words]


def complete(step, folder):
    if step.name == "soak":
        return (folder / "soak.md").is_file()
    path = folder / storage.FILE
    footer = storage.read(path).footer if path.is_file() else None
    return bool(footer and footer["complete"])


def wait_until_quiet(step):
    deadline = time.monotonic() + 3600 * BUSY_HOURS
    while not honesty.wait_until_quiet():
        print(f"{step.name}: waits for a quiet machine", flush=True)
        if time.monotonic() > deadline:
            raise processes.Failure(f"The machine was busy for {BUSY_HOURS} hours. The same command goes on here.")


def raw_of(pages, name):
    return pages / RAW / f"{name}.jsonl.zst"


def keep(names, output, pages):
    """The raw results, compressed, beside the pages."""
    (pages / RAW).mkdir(parents=True, exist_ok=True)
    for name in names:
        lines = places.ROOT / "build/soak/soak.jsonl" if name == "soak" else output / name / storage.FILE
        _zstd("-q", "-f", "--ultra", "-22", str(lines), "-o", str(raw_of(pages, name)))
    size = sum(file.stat().st_size for file in (pages / RAW).glob("*.zst"))
    if size > RAW_MOST:
        raise processes.Failure(f"The raw results take {size >> 10} KiB, at most {RAW_MOST >> 10}.")


def _zstd(*words):
    try:
        done = subprocess.run(["zstd", *words], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise processes.Failure("There is no zstd here. Run `make lab`, or: apt-get install zstd") from None
    if done.returncode != 0:
        raise processes.Failure(f"zstd: {done.stderr.strip()}")


def write(name, pages, folder):
    """The page of a step, from its raw results, into a folder."""
    with tempfile.TemporaryDirectory(prefix="tslab-campaign-") as directory:
        lines = Path(directory) / storage.FILE
        _zstd("-q", "-d", "-f", str(raw_of(pages, name)), "-o", str(lines))
        if name == "soak":
            argv = [sys.executable, "-B", str(places.ROOT / "tests/soak/soak.py"), "page", str(lines), str(folder / "soak.md")]
            processes.run(argv, processes.environment(), "the soak's page")
            return
        found = storage.read(lines)
        module = importlib.import_module(f"tslab_lab.commands.{found.header['command']}")
        (folder / f"{name}.md").write_text(module.page(found, folder), encoding="utf-8")


def drawn(pages):
    """README's picture, of the page of the matrix; nothing where there is none."""
    page = pages / "matrix.md"
    return scatter.of(page.read_text(encoding="utf-8")) if page.is_file() else None


def check(pages):
    """What does not fit together, a line each."""
    wrong = [*_changed(pages), *_redrawn(pages), *_unsupported(), *_old()]
    for line in wrong:
        print(line)
    print(f"{len(wrong)} things do not fit." if wrong else "Pages, raw results, README and docs fit together.")
    return 1 if wrong else 0


def _changed(pages):
    for raw in sorted((pages / RAW).glob("*.jsonl.zst")):
        name = raw.name.partition(".")[0]
        with tempfile.TemporaryDirectory(prefix="tslab-campaign-") as directory:
            write(name, pages, Path(directory))
            if (Path(directory) / f"{name}.md").read_text() != (pages / f"{name}.md").read_text():
                yield f"{name}.md is not what its raw results say: tslab campaign --only-pages --steps {name}"


def _redrawn(pages):
    picture = drawn(pages)
    if picture and not ((pages / PICTURE).is_file() and (pages / PICTURE).read_text(encoding="utf-8") == picture):
        yield f"{PICTURE} is not what matrix.md says: tslab campaign --only-pages"


def _unsupported():
    pages = published.pages()
    for file in published.quoting():
        for figure, where in published.unsupported(file.read_text(encoding="utf-8"), pages):
            yield f"{file.relative_to(places.ROOT)}: {figure} is in no page that is named beside it: {where}"


def _old():
    for name, days, most in published.ages():
        if days is not None and days > most:
            yield f"{name}.md: the engine has gone on for {days:.0f} days since, at most {most}"
