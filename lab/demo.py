"""Runs real work on the system's malloc and on tslab, in turns, and shows one table. `make demo` calls it."""

import sys

sys.dont_write_bytecode = True  # the demo leaves nothing behind but what it built

import argparse
import json
import os
import random
import shlex
import signal
import time
from pathlib import Path

try:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
except ImportError:
    sys.exit("demo: Python's rich is not installed. Run `make setup`, or: apt-get install python3-rich")

import compare
import machine
import programs
import report
import work_churn
import work_objects
import work_redis

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "build/release/libtslab-malloc.so"
SYSTEM, OURS = "system", "tslab"


class Contest:
    """One work on two allocators, each proven to be the one that the program gets."""

    def __init__(self, work, library, our_name):
        self.work = work
        self.runs = {SYSTEM: [], OURS: []}
        self.order = random.sample((SYSTEM, OURS), 2)  # turned round by round
        preload, self.linked_against = programs.system_preload(work.probe, work.title)
        self.environments = {SYSTEM: programs.environment(preload), OURS: programs.environment(library)}
        self.names = {SYSTEM: "the system's malloc", OURS: our_name}
        programs.require_served_by(library, work.probe, work.title, self.environments[OURS])

    def run(self, side):
        result = self.work.run(self.environments[side], f"{self.work.title} on {self.names[side]}")
        self.runs[side].append(result)
        return result

    def rows(self):
        return report.rows_of(self.work.title, self.work.unit, self.runs[SYSTEM], self.runs[OURS])


def parse_arguments(argv):
    parser = argparse.ArgumentParser(prog="demo.py", description=__doc__)
    add = parser.add_argument
    add("--library", type=Path, default=LIBRARY, metavar="PATH", help="the library to preload (default: %(default)s)")
    add("--rounds", type=int, default=5, help="each runs every work once on either allocator (default: %(default)s)")
    add("--seconds", type=float, default=105, help="start no round that would end later (default: %(default)s)")
    add("--quick", action="store_true", help="one round of little work: shows that it runs, and no more")
    add("--check", action="store_true", help="exit with 1 where tslab is slower or larger")
    add("--json", type=Path, metavar="FILE", help="write the figures of every run, and the machine's, to a file")
    arguments = parser.parse_args(argv)
    if arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    if arguments.quick:
        arguments.rounds = 1
    return arguments


def checked_library(path):
    if not path.is_file():
        raise programs.Failure(f"There is no library {path}. Run `make build` to build it, or name one with --library.")
    path = Path(os.path.abspath(path))
    if set(str(path)) & set(" :$"):
        raise programs.Failure(f"LD_PRELOAD cannot name {path}: the path must have no space, colon or dollar sign.")
    return path


def our_name(library):
    """What the table calls the library: tslab, or whatever else --library names."""
    return library.name.partition(".so")[0].removeprefix("lib").removesuffix("-malloc")


class Plain:
    """Progress for a pipe or a file: a line for each run."""

    def __init__(self, total):
        self._total, self._done = total, 0

    def __enter__(self):
        return self

    def __exit__(self, error, *_):
        if error:
            print()  # ends the line of the run that failed

    def begin(self, what):
        self._done += 1
        print(f"[{self._done:2}/{self._total}] {what} ...", end="", flush=True)

    def end(self, result):
        speed = result["operations"] / result["seconds"] / 1000
        peak, after = result["peak_kib"] / 1024, result["rss_kib"] / 1024
        print(f" {speed:.0f} k/s, {peak:.0f} then {after:.0f} MiB", flush=True)


class Live:
    """Progress for a terminal: a bar, gone when all is done."""

    def __init__(self, total, console):
        columns = (MofNCompleteColumn(), BarColumn(24), TimeElapsedColumn(), TextColumn("{task.description}"))
        self._progress = Progress(*columns, console=console, transient=True)
        self._task = self._progress.add_task("", total=total)

    def __enter__(self):
        self._progress.start()
        return self

    def __exit__(self, *_):
        self._progress.stop()

    def begin(self, what):
        self._progress.update(self._task, description=what)

    def end(self, _):
        self._progress.advance(self._task)


def run_rounds(contests, rounds, budget_seconds, progress):
    """Each round runs every work once on either side. Returns how many rounds there was time for."""
    start = time.monotonic()
    for number in range(1, rounds + 1):
        for contest in contests:
            for side in contest.order:
                progress.begin(f"round {number}: {contest.work.title} on {contest.names[side]}")
                result = contest.run(side)
                result |= {"round": number, "at_seconds": round(time.monotonic() - start, 3)}
                progress.end(result)
            contest.order.reverse()
        spent = time.monotonic() - start
        if spent + spent / number > budget_seconds:
            return number
    return rounds


def notes(contests, facts, rounds, wanted_rounds, quick):
    """What the table must be read with, a paragraph a line."""
    remarks = ["RSS after: one second after the work is gone."]
    remarks += [contest.work.remark(contest.runs[SYSTEM] + contest.runs[OURS]) for contest in contests]
    for contest in contests:
        if contest.linked_against:
            title, linked = contest.work.title, Path(contest.linked_against).name
            remarks.append(f"{title} is linked against {linked}: for 'system', libc is preloaded before it.")
    needed = compare.rounds_to_show(rounds)
    if needed is None:
        judging = "Speed is not judged: these rounds are too few for that."
    else:
        judging = f"faster, SLOWER: in {'all' if needed == rounds else f'at least {needed} of'} {rounds} rounds."
    judging += " smaller, LARGER: by over 5 % or 1 MiB (the larger). level: neither."
    limits = ""
    if quick:
        limits = " This was --quick: too little work for figures to quote."
    elif rounds < wanted_rounds:
        limits = f" There was time for {rounds} of {wanted_rounds} only: this machine is slow, or busy."
    options = "".join(f", {name}={value}" for name, value in facts["options"].items())
    kernel = facts["kernel"].partition("-")[0]
    setting = f"{facts['cpus']} CPUs, Linux {kernel}, {facts['libc']}, THP {facts['thp']}{options}."
    return "\n".join([judging, " ".join(remarks), f"{setting} Rounds, interleaved: {rounds}.{limits}"])


def write_json(path, facts, library, contests, rows):
    works = {
        contest.work.title: {"unit": contest.work.unit, "linked_against": contest.linked_against, "runs": contest.runs}
        for contest in contests
    }
    summary = [
        {"work": row.work, "measure": row.measure, "ratio": row.ratio.middle, "verdict": row.verdict} for row in rows
    ]
    document = {"format": 1, "library": str(library), "machine": facts, "works": works, "summary": summary}
    path.write_text(json.dumps(document, indent=1) + "\n")


def demo(arguments):
    console = Console()
    console.width = max(console.width, report.WIDTH)
    library = checked_library(arguments.library)
    if arguments.json and not os.access(arguments.json.absolute().parent, os.W_OK):
        raise programs.Failure(f"Cannot write {arguments.json}: there is no such directory, or it is not yours.")
    compiler = shlex.split(os.environ.get("CC", "cc"))
    facts = machine.facts(ROOT, compiler[0])
    name = our_name(library)

    churn = ROOT / "build/lab/churn"
    work_churn.build(ROOT / "lab/churn.c", churn, compiler)
    quick = arguments.quick
    works = (work_redis.Work(quick), work_objects.Work(quick), work_churn.Work(churn, quick))
    contests = [Contest(work, library, name) for work in works]

    total = 2 * len(contests) * arguments.rounds
    with Live(total, console) if console.is_terminal else Plain(total) as progress:
        rounds = run_rounds(contests, arguments.rounds, arguments.seconds, progress)

    rows = [row for contest in contests for row in contest.rows()]
    text = notes(contests, facts, rounds, arguments.rounds, quick)
    console.print("", report.table(rows, facts["libc"], name), sep="\n")
    console.print("", text, "", sep="\n", width=report.WIDTH, markup=False, highlight=False)
    if arguments.json:
        write_json(arguments.json, facts, library, contests, rows)
    complaints = report.complaints(rows) if arguments.check else []
    for complaint in complaints:
        print(f"--check: {complaint}")
    print(f"Run your own program on {name}:")
    print(f"LD_PRELOAD={shlex.quote(str(library))} your-program ...", flush=True)
    return 1 if complaints else 0


def interrupted(*_):
    raise KeyboardInterrupt


def main():
    sys.stdout.reconfigure(errors="replace")  # a terminal without UTF-8 shows '?' instead of lines and dots
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    try:
        return demo(parse_arguments(sys.argv[1:]))
    except (programs.Failure, OSError) as failure:
        print(f"demo: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("demo: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
