"""What the sub-commands share that run cases on allocators in rounds: their options, the run, and the results."""

import sys
from pathlib import Path

from rich.console import Console

from tslab_lab.allocators import installed
from tslab_lab.allocators.catalogue import OURS
from tslab_lab.base import machine
from tslab_lab.display import progress
from tslab_lab.measure import case_runner, honesty, rounds
from tslab_lab.results import case_runs, storage

ROUNDS = (10, 5)  # and with --quick


def add_options(parser, seconds, rounds=ROUNDS, sides=False, fixed=False):
    """`sides`: the allocators are named in another way. `fixed`: they are not named."""
    add = parser.add_argument
    if sides:
        installed.add_library_option(parser)
    elif not fixed:
        installed.add_option(parser)
    add("--rounds", type=int, help=f"each runs everything once (default: {rounds[0]}; with --quick: {rounds[1]})")
    add("--seconds", type=float, default=seconds, help="start no round that would end later (default: %(default)s)")
    add("--quick", action="store_true", help="little work in each run: to look at, not to quote")
    add("--output", type=Path, metavar="DIR", help="where the results go (default: a new folder below tslab-runs)")
    honesty.add_option(parser)


def rounds_wanted(arguments, rounds=ROUNDS):
    wanted = arguments.rounds if arguments.rounds is not None else rounds[arguments.quick]
    if wanted < 1:
        arguments.error("--rounds must be at least 1")
    return wanted


def libraries(arguments, more=()):
    """Those that take part; who does not is said."""
    return installed.here([*arguments.allocators, *more], arguments.library)


def run(command, arguments, cases, found, latency=False, befores=()):
    """Measures, and returns the results and whether the user interrupted it. Each of `befores` is called with (runner,
    names, writer, bar) when all is ready."""
    wanted = rounds_wanted(arguments)
    folder = storage.new_folder(command, arguments.output)
    runner = case_runner.Runner(cases, found, arguments.quick, latency)
    ours = any(library.name == OURS for library in found.values())
    marks = honesty.check(wanted, ours, arguments.force, arguments.quick)
    if arguments.quick:
        marks.append("This was --quick: little work in each run. For figures to quote, run it without.")
    facts = {case.name: runner.facts(case) for case in cases}
    writer = storage.Writer(folder, command, sys.argv[2:], marks, installed.as_facts(found), facts)
    interrupted = False
    try:
        with progress.of(wanted * len(cases) * len(found), Console()) as bar:
            for before in befores:
                before(runner, list(found), writer, bar)
            rounds.run(cases, list(found), wanted, arguments.seconds, runner.run, writer, bar)
    except rounds.Interrupted:
        interrupted = True
    return storage.read(folder), interrupted


def remarks(found, interrupted):
    """What makes the figures less than they could be, in sentences."""
    for mark in found.header["marks"]:
        yield f"Note: {mark}"
    yield from case_runs.failures(found)
    if not interrupted and not found.footer["complete"]:
        yield "There was time for fewer rounds than asked for."


def setting(found):
    versions = {name: library["version"] for name, library in found.header["allocators"].items()}
    facts = found.header["machine"] | {"load_at_end": found.footer["load_at_end"]}
    return list(machine.setting(facts, machine.versions(versions)))


def end(found, interrupted, code=0):
    """The last words, and the exit code."""
    print(f"Results: {found.path}\nA page of them: tslab report {found.path.parent}", flush=True)
    if interrupted:
        print("tslab: interrupted; what was complete is shown", file=sys.stderr)
        return 130
    return code
