"""What makes figures worthless is said before they are measured: too few rounds, a busy machine, sources that nobody
can look up. Such a measurement is refused, or, with --force, marked wherever it is shown."""

import time

from tslab_lab.base import machine, processes
from tslab_lab.statistics import intervals

LEAST_ROUNDS = 3
BUSY_SHARE = 0.1  # of all processors' time, used by others while we do nothing
WATCH_SECONDS = 1.0


def add_option(parser):
    parser.add_argument("--force", action="store_true", help="measure also where the figures cannot be relied on")


def _ticks():
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, idle, wait, *rest = map(int, file.readline().split()[1:9])
    return idle + wait, user + nice + system + idle + wait + sum(rest)


def busy_share(seconds=WATCH_SECONDS):
    """The share of all processors' time that others use now."""
    idle, every = _ticks()
    time.sleep(seconds)
    idle_after, every_after = _ticks()
    return 1 - (idle_after - idle) / max(1, every_after - every)


def doubts(rounds, ours):
    """Sentences on what makes the figures doubtful. `ours`: a library of this checkout takes part."""
    if rounds < LEAST_ROUNDS:
        yield f"There are only {rounds} rounds: no figure has a spread. Ask for at least {LEAST_ROUNDS} with --rounds."
    elif rounds < intervals.FEW_ROUNDS:
        yield f"There are only {rounds} rounds: the intervals are narrower than the truth."
    if ours and machine.commit()[1]:
        yield "The checkout has changes that are not committed: nobody can build the same library again."
    share = busy_share()
    if share > BUSY_SHARE:
        yield f"The machine is busy: others use {share:.0%} of its processors. Wait until they are done."


def check(rounds, ours, force, quick=False):
    """The marks that the results carry. Refuses what must not be measured so. `quick`: few rounds are a mark only."""
    marks = list(doubts(rounds, ours))
    mild = [mark for mark in marks if "narrower" in mark or (quick and "spread" in mark)]
    grave = [mark for mark in marks if mark not in mild]
    if grave and not force:
        raise processes.Failure(" ".join(grave) + " To measure all the same, and have it marked: --force.")
    return marks


def caveats(arguments, rounds, facts):
    """Sentences for beside the figures of a comparison that is never refused. `facts`: with the busy share."""
    if rounds < intervals.FEW_ROUNDS:
        yield "So few rounds give no intervals to rely on."
    if arguments.quick:
        yield "This was --quick: too little work for figures to quote."
    elif rounds < arguments.rounds:
        yield f"There was time for {rounds} of {arguments.rounds} rounds only."
    if facts["busy_share"] > BUSY_SHARE:
        share = f"{facts['busy_share']:.0%}"
        yield f"The machine was busy: others used {share} of its processors at the start. Do not quote these figures."
