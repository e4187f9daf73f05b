"""`lab demo`: runs real work on the system's malloc and on tslab, in turns, and shows one table."""

import shlex
from pathlib import Path

from tslab_lab.allocators import installed, sides
from tslab_lab.allocators.catalogue import OURS, SYSTEM
from tslab_lab.base import processes
from tslab_lab.display import layout
from tslab_lab.estimates import medians
from tslab_lab.measure import measurement
from tslab_lab.real import churn, postgres, records, redis
from tslab_lab.report import demo_table, make
from tslab_lab.results import standings

NAME = "demo"
HELP = "real programs on the system's malloc and on tslab, in turns: one table"
DESCRIPTION = (
    "Runs redis, PostgreSQL, a Perl job and a threaded program on the system's malloc and on tslab, in turns; shows one table. Other "
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
    measurement.add_options(parser, seconds=150, rounds=ROUNDS, allocators=(SYSTEM, OURS))
    measurement.add_page(parser)
    parser.add_argument("--check", action="store_true", help="exit with 1 where tslab is slower or larger")


def notes(contests, found):
    """What the table must be read with, a paragraph a line."""
    remarks = []
    for contest in contests:
        runs = [run for run in found.runs if run["case"] == contest.work.title]
        remarks += [contest.work.remark(runs)] if runs else []
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
    yield "RSS after: one second after the work is gone."


def rows_of(found, name):
    """Of one allocator against the system's, from the rounds that both have."""
    grid = standings.grid(found.runs, found.failures)
    for title, facts in found.header["cases"].items():
        theirs, ours = grid.get(title, {}).get(SYSTEM, {}), grid.get(title, {}).get(name, {})
        both = standings.rounds_together(theirs, ours)
        if both:
            runs = ([runs[number] for number in both] for runs in (theirs, ours))
            yield from demo_table.rows_of(title, facts["title"], *runs)


def run(arguments):
    wanted = measurement.rounds_wanted(arguments, ROUNDS)
    measurement.require_writable(arguments)
    libraries = sides.here(arguments.allocators, arguments.library)
    if SYSTEM not in libraries or len(libraries) < 2:
        arguments.error(f"--allocators must have {SYSTEM}, and another one to compare with it")
    quick = arguments.quick
    works = (redis.Work(quick), postgres.Work(quick), records.Work(quick), churn.Work(churn.build(), quick))
    contests = [Contest(work, libraries) for work in works]
    by_title = {contest.work.title: contest for contest in contests}
    plan = dict.fromkeys(by_title, list(libraries))
    facts = {
        title: {"group": NAME, "title": contest.work.unit, "parameters": {}} for title, contest in by_title.items()
    }
    found, interrupted = measurement.measured(
        NAME, arguments, wanted, plan, lambda title, name: by_title[title].run(name), libraries, facts
    )
    complaints = []
    console = layout.console()
    for name in (name for name in libraries if name != SYSTEM):
        rows = list(rows_of(found, name))
        console.print("", demo_table.table(rows, found.header["machine"]["libc"], name), sep="\n")
        complaints += demo_table.complaints(rows) if name == OURS else []
    setting = [line for line in measurement.setting(found) if line[0] != "peers"]
    layout.show(console, (), notes(contests, found), setting, width=layout.WIDTH)
    measurement.write_page(arguments, found, page)
    for complaint in complaints if arguments.check else ():
        print(f"--check: {complaint}")
    code = measurement.end(found, interrupted, 1 if complaints and arguments.check else 0)
    if OURS in libraries:
        print(f"Run your own program on {OURS}:")
        print(f"LD_PRELOAD={shlex.quote(str(libraries[OURS].path))} your-program ...", flush=True)
    return code


def page(found, path):
    """Of a file of results, in Markdown; its figure goes beside `path`."""
    libc, names = found.header["machine"]["libc"], [name for name in found.header["allocators"] if name != SYSTEM]
    rows = {name: list(rows_of(found, name)) for name in names}
    _, picture = make.answer(found, path, "Time of each work on the system's malloc, against tslab's")
    parts = [*(demo_table.sentence(rows[name], libc, name) for name in names), *picture]
    parts += [demo_table.plain_table(rows[name], libc, name) for name in names]
    parts += ["Repeat it with `make demo`.", *judging(found), *measurement.remarks(found)]
    return layout.markdown_page("`make demo`", parts, measurement.setting(found))
