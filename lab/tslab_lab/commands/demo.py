"""`tslab demo`: runs real work on the system's malloc and on tslab, in turns, and shows one table."""

import shlex
from pathlib import Path

from tslab_lab.allocators import installed, sides
from tslab_lab.allocators.catalogue import OURS, SYSTEM
from tslab_lab.base import processes
from tslab_lab.display import layout
from tslab_lab.measure import measurement
from tslab_lab.real import churn, records, redis
from tslab_lab.report import demo_table
from tslab_lab.results import standings
from tslab_lab.statistics import medians

NAME = "demo"
HELP = "real programs on the system's malloc and on tslab, in turns: one table"
DESCRIPTION = (
    "Runs redis, a Perl job and a threaded program on the system's malloc and on tslab, in turns; shows one table. Other "
    "allocators have a table each."
)
ROUNDS = (5, 1)


class Contest:
    """One work on several allocators, each proven to be the one that the program gets."""

    def __init__(self, work, libraries):
        self.work = work
        self.environments = {
            name: installed.proven_environment(library, work.probe, work.title) for name, library in libraries.items()
        }
        _, self.linked_against = processes.system_preload(work.probe, work.title)

    def run(self, name):
        return self.work.run(self.environments[name], f"{self.work.title} on {name}")


def add_arguments(parser):
    measurement.add_options(parser, seconds=105, rounds=ROUNDS, allocators=(SYSTEM, OURS))
    measurement.add_page(parser)
    parser.add_argument("--check", action="store_true", help="exit with 1 where tslab is slower or larger")


def notes(contests, found, by_work):
    """What the table must be read with, a paragraph a line."""
    remarks = ["RSS after: one second after the work is gone."]
    remarks += [contest.work.remark([*sum(by_work[contest.work.title].values(), [])]) for contest in contests]
    for contest in contests:
        if contest.linked_against:
            title, linked = contest.work.title, Path(contest.linked_against).name
            remarks.append(f"{title} is linked against {linked}: for '{SYSTEM}', libc is preloaded before it.")
    return [*judging(found), " ".join(remarks), *measurement.remarks(found)]


def judging(found):
    """What the table's words mean."""
    rounds = found.footer["rounds"]
    needed = medians.rounds_to_show(rounds)
    if needed is None:
        text = "Speed is not judged: these rounds are too few for that."
    else:
        text = f"faster, SLOWER: in {'all' if needed == rounds else f'at least {needed} of'} {rounds} rounds."
    yield text + " smaller, LARGER: by over 5 % or 1 MiB (the larger). level: neither."


def runs_of(found, title):
    """dict allocator -> runs, of the rounds that all have."""
    by_name = standings.grid(found.runs, found.failures).get(title, {})
    both = standings.rounds_together(*by_name.values()) if by_name else ()
    return {name: [runs[number] for number in both] for name, runs in by_name.items()}


def run(arguments):
    wanted = measurement.rounds_wanted(arguments, ROUNDS)
    measurement.require_writable(arguments)
    libraries = sides.here(arguments.allocators, arguments.library)
    if SYSTEM not in libraries or len(libraries) < 2:
        arguments.error(f"--allocators must have {SYSTEM}, and another one to compare with it")
    quick = arguments.quick
    works = (redis.Work(quick), records.Work(quick), churn.Work(churn.build(), quick))
    contests = [Contest(work, libraries) for work in works]
    by_title = {contest.work.title: contest for contest in contests}
    plan = dict.fromkeys(by_title, list(libraries))
    facts = {title: {"group": NAME, "title": contest.work.unit, "parameters": {}} for title, contest in by_title.items()}
    found, interrupted = measurement.measured(
        NAME, arguments, wanted, plan, lambda title, name: by_title[title].run(name), libraries, facts
    )
    by_work = {title: runs_of(found, title) for title in plan}
    complaints = []
    console = layout.console()
    for name in libraries:
        rows = [row for contest in contests for row in _rows(contest.work.title, contest.work.unit, by_work[contest.work.title], name)]
        if name != SYSTEM and rows:
            libc = found.header["machine"]["libc"]
            console.print("", demo_table.table(rows, libc, name), sep="\n")
            complaints += demo_table.complaints(rows) if name == OURS else []
    setting = [line for line in measurement.setting(found) if line[0] != "peers"]
    layout.show(console, (), notes(contests, found, by_work), setting, width=layout.WIDTH)
    measurement.write_page(arguments, found, page)
    for complaint in complaints if arguments.check else ():
        print(f"--check: {complaint}")
    code = measurement.end(found, interrupted, 1 if complaints and arguments.check else 0)
    if OURS in libraries:
        print(f"Run your own program on {OURS}:")
        print(f"LD_PRELOAD={shlex.quote(str(libraries[OURS].path))} your-program ...", flush=True)
    return code


def page(found, folder):
    """Of a file of results, in Markdown."""
    del folder
    libc, shown = found.header["machine"]["libc"], []
    for name in (name for name in found.header["allocators"] if name != SYSTEM):
        rows = [
            row
            for title, facts in found.header["cases"].items()
            for row in _rows(title, facts["title"], runs_of(found, title), name)
        ]
        shown.append(demo_table.plain_table(rows, libc, name))
    paragraphs = ["Repeat it with `make demo`.", *judging(found), *measurement.remarks(found)]
    return layout.markdown_page("`make demo`", shown, paragraphs, measurement.setting(found))


def _rows(title, unit, runs, name):
    if not runs.get(SYSTEM) or not runs.get(name):
        return ()
    return demo_table.rows_of(title, unit, runs[SYSTEM], runs[name])
