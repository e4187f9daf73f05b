"""What makes figures doubtful: a machine that others use, sources that nobody can look up, few rounds. It is measured
and marked wherever the figures are shown; with --strict such a measurement is refused."""

import argparse
import os
import time

from tslab_lab.base import machine, processes
from tslab_lab.estimates import intervals
from tslab_lab.results.marks import BUSY_SHARE

WATCH_SECONDS = 1.0
QUIET_SECONDS = 120.0  # so long a strict measurement waits for a quiet machine before it runs something again
REPEATS = 3
_TICKS = os.sysconf("SC_CLK_TCK")
_SLACK_TICKS = 2  # the kernel's counts are that coarse


def add_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--strict", action="store_true", help="for figures to publish: refuse what makes them doubtful")


class Others:
    """The share of all processors' time that others have used since the last look: not this process, nor those of its
    children that it has waited for."""

    def __init__(self) -> None:
        self._last = self._look()

    @staticmethod
    def _look() -> tuple[int, int, float]:
        with open("/proc/stat", encoding="ascii") as file:
            user, nice, system, idle, wait, *rest = map(int, file.readline().split()[1:9])
        busy = user + nice + system + sum(rest)
        return busy, busy + idle + wait, sum(os.times()[:4])

    def share(self) -> float:
        last, self._last = self._last, self._look()
        busy, every, own = (after - before for before, after in zip(last, self._last))
        return max(0.0, busy - own * _TICKS - _SLACK_TICKS) / max(1, every)


def busy_share(seconds: float = WATCH_SECONDS) -> float:
    """The share of all processors' time that others use now."""
    others = Others()
    time.sleep(seconds)
    return others.share()


def wait_until_quiet(seconds: float = QUIET_SECONDS) -> bool:
    """Returns whether it is, after so many seconds at most."""
    deadline = time.monotonic() + seconds
    while busy_share() > BUSY_SHARE:
        if time.monotonic() > deadline:
            return False
    return True


def marks(rounds: int, ours: bool, strict: bool, quick: bool = False) -> list[str]:
    """What the results are marked with before anything runs. `ours`: a library of this checkout takes part."""
    found = []
    if ours and machine.commit()[1]:
        found.append("The sources have changes that are not committed: nobody can build the same library again.")
    if quick:
        found.append("This was --quick: little work in each run. For figures to quote, run it without.")
    if strict:
        refused = [*found]
        if rounds < intervals.FEW_ROUNDS:
            refused.append(f"{rounds} rounds are too few for intervals: ask for {intervals.FEW_ROUNDS} or more.")
        share = busy_share()
        if share > BUSY_SHARE:
            refused.append(f"The machine is busy: others use {share:.0%} of its processors.")
        if refused:
            raise processes.Failure("--strict: " + " ".join(refused))
    return found
