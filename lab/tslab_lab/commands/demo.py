"""`tslab demo`: runs real work on the system's malloc and on tslab, in turns, and shows one table."""

import json
import os
import random
import shlex
import time
from pathlib import Path

from rich.console import Console

from tslab_lab.allocators import installed
from tslab_lab.base import machine, processes
from tslab_lab.display import layout, progress
from tslab_lab.measure.rounds import numbers
from tslab_lab.real import churn, objects, redis
from tslab_lab.report import demo_table
from tslab_lab.statistics import medians

NAME = "demo"
HELP = "real programs on the system's malloc and on tslab, in turns: one table"
DESCRIPTION = (
    "Runs redis, Python and a threaded program on the system's malloc and on tslab, in turns; shows one table."
)

SYSTEM, OURS = "system", "tslab"


class Contest:
    """One work on two allocators, each proven to be the one that the program gets."""

    def __init__(self, work, library, our_name):
        self.work = work
        self.runs = {SYSTEM: [], OURS: []}
        self.order = random.sample((SYSTEM, OURS), 2)  # turned round by round
        preload, self.linked_against = processes.system_preload(work.probe, work.title)
        self.environments = {SYSTEM: processes.environment(preload), OURS: processes.environment(library)}
        self.names = {SYSTEM: "the system's malloc", OURS: our_name}
        processes.require_served_by(library, work.probe, work.title, self.environments[OURS])

    def run(self, side):
        result = self.work.run(self.environments[side], f"{self.work.title} on {self.names[side]}")
        self.runs[side].append(result)
        return result

    def rows(self):
        return demo_table.rows_of(self.work.title, self.work.unit, self.runs[SYSTEM], self.runs[OURS])


def add_arguments(parser):
    add = parser.add_argument
    add("--library", type=Path, metavar="PATH", help="the library to preload (default: the one that was built)")
    add("--rounds", type=int, default=5, help="each runs every work once on either allocator (default: %(default)s)")
    add("--seconds", type=float, default=105, help="start no round that would end later (default: %(default)s)")
    add("--quick", action="store_true", help="one round of little work: shows that it runs, and no more")
    add("--check", action="store_true", help="exit with 1 where tslab is slower or larger")
    add("--json", type=Path, metavar="FILE", help="write the figures of every run, and the machine's, to a file")


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


def run_rounds(contests, rounds, budget_seconds, bar):
    """Each round runs every work once on either side. Returns how many rounds there was time for."""
    start = time.monotonic()
    for number in numbers(rounds, budget_seconds):
        for contest in contests:
            for side in contest.order:
                bar.begin(f"round {number}: {contest.work.title} on {contest.names[side]}")
                result = contest.run(side)
                result |= {"round": number, "at_seconds": round(time.monotonic() - start, 3)}
                bar.end(result)
            contest.order.reverse()
    return number


def notes(contests, facts, rounds, wanted_rounds, quick):
    """What the table must be read with, a paragraph a line."""
    remarks = ["RSS after: one second after the work is gone."]
    remarks += [contest.work.remark(contest.runs[SYSTEM] + contest.runs[OURS]) for contest in contests]
    for contest in contests:
        if contest.linked_against:
            title, linked = contest.work.title, Path(contest.linked_against).name
            remarks.append(f"{title} is linked against {linked}: for 'system', libc is preloaded before it.")
    needed = medians.rounds_to_show(rounds)
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


def run(arguments):
    if arguments.rounds < 1:
        arguments.error("--rounds must be at least 1")
    if arguments.quick:
        arguments.rounds = 1
    console = Console()
    console.width = max(console.width, layout.WIDTH)
    found, _ = installed.found([OURS], arguments.library)
    library = found[OURS].path
    if arguments.json and not os.access(arguments.json.absolute().parent, os.W_OK):
        raise processes.Failure(f"Cannot write {arguments.json}: there is no such directory, or it is not yours.")
    facts = machine.facts()
    name = installed.name_of(library)

    quick = arguments.quick
    works = (redis.Work(quick), objects.Work(quick), churn.Work(churn.build(), quick))
    contests = [Contest(work, library, name) for work in works]

    total = 2 * len(contests) * arguments.rounds
    with progress.of(total, console) if console.is_terminal else Plain(total) as bar:
        rounds = run_rounds(contests, arguments.rounds, arguments.seconds, bar)

    rows = [row for contest in contests for row in contest.rows()]
    text = notes(contests, facts, rounds, arguments.rounds, quick)
    console.print("", demo_table.table(rows, facts["libc"], name), sep="\n")
    console.print("", text, "", sep="\n", width=layout.WIDTH, markup=False, highlight=False)
    if arguments.json:
        write_json(arguments.json, facts, library, contests, rows)
    complaints = demo_table.complaints(rows) if arguments.check else []
    for complaint in complaints:
        print(f"--check: {complaint}")
    print(f"Run your own program on {name}:")
    print(f"LD_PRELOAD={shlex.quote(str(library))} your-program ...", flush=True)
    return 1 if complaints else 0
