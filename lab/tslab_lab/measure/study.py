"""What `tslab epochs` and `tslab requests` share: each measures variants of its own, in rounds, and shows tables at the
end; where asked for, it writes a file of JSON and a page."""

import os
import subprocess
import time
from pathlib import Path

from tslab_lab.allocators import installed
from tslab_lab.allocators.catalogue import DEBIAN
from tslab_lab.base import machine
from tslab_lab.display import layout, progress
from tslab_lab.measure import honesty, rounds
from tslab_lab.statistics import intervals

ROUNDS_MOST = 1000


def add_rounds(parser, few, seconds):
    """`few`: how many rounds there are with --quick."""
    parser.add_argument("--rounds", type=int, help=f"each runs everything once (default: 10; with --quick: {few})")
    text = "start no round that would end later (default: %(default)s)"
    parser.add_argument("--seconds", type=float, default=seconds, help=text)


def add_allocators(parser):
    text = f"some of: {','.join(DEBIAN)}"
    parser.add_argument("--allocators", type=installed.words, default=DEBIAN, metavar="A,B", help=text)


def add_library(parser):
    text = "tslab's drop-in (default: the one that was built)"
    parser.add_argument("--library", type=Path, metavar="PATH", help=text)


def add_files(parser):
    add = parser.add_argument
    add("--json", type=Path, metavar="FILE", help="write the figures of every run, and the machine's, to a file")
    add("--markdown", type=Path, metavar="FILE", help="write the tables as a page for docs/results")
    add("--check", action="store_true", help="exit with 1 where a limit is missed")


def refuse_nonsense(arguments):
    """What these options cannot be."""
    error = arguments.error
    if not 1 <= arguments.rounds <= ROUNDS_MOST:
        error(f"--rounds must be from 1 to {ROUNDS_MOST:,}")
    if arguments.check and arguments.rounds < intervals.FEW_ROUNDS:
        error(f"--check needs --rounds of at least {intervals.FEW_ROUNDS}: fewer give no intervals to rely on")
    for file in filter(None, (arguments.json, arguments.markdown)):
        if not os.access(file.absolute().parent, os.W_OK):
            error(f"cannot write {file}: there is no such directory, or it is not yours")


def facts():
    """Of the machine, as it is before anything runs."""
    return machine.facts() | {"busy_share": honesty.busy_share()}


def ends_well(argv, environment):
    """Whether a program that does next to nothing can do it: as where the library must have epochs."""
    options = {"stdin": subprocess.DEVNULL, "capture_output": True, "check": False}
    return subprocess.run(argv, env=environment, **options).returncode == 0


def measured(arguments, console, count, shuffled, known):
    """Every round runs so many jobs, in the order that `shuffled()` gives anew: pairs of what it is and a function of
    the number of the round and the time since the start. Returns how many rounds there was time for; `known` gets the
    load at the end."""
    start, number = time.monotonic(), 0
    with progress.of(arguments.rounds * count, console) as bar:
        for number in rounds.numbers(arguments.rounds, arguments.seconds):
            for what, job in shuffled():
                bar.begin(f"round {number}: {what}")
                job(number, round(time.monotonic() - start, 3))
                bar.end()
            bar.round_done(number, arguments.rounds)
    known["load_at_end"] = os.getloadavg()[0]
    return number


def setting(known, found):
    """Where it was measured, and with which versions: pairs of a name and a text."""
    return machine.setting(known, machine.versions({name: library.version for name, library in found.items()}))


def show(console, tables, paragraphs, lines):
    layout.show(console, tables, paragraphs, lines, width=layout.WIDTH)
