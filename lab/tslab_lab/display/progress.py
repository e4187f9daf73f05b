"""How far a measurement is: a bar on a terminal, a line for each round elsewhere."""

import os
import time

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class _Lines:
    """For a pipe or a file."""

    def __init__(self):
        self._start = time.monotonic()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def begin(self, what):
        pass

    def end(self, result=None):
        pass

    def round_done(self, number, rounds):
        spent = time.monotonic() - self._start
        print(f"round {number} of {rounds}: {spent:.0f} s, load {os.getloadavg()[0]:.2f}", flush=True)


class _Bar:
    """For a terminal; gone when all is done. It is drawn once a second: it shares the processors with what is measured."""

    def __init__(self, total, console):
        columns = (MofNCompleteColumn(), BarColumn(20), TimeElapsedColumn(), TimeRemainingColumn(compact=True))
        text = TextColumn("{task.description}", table_column=None)
        self._progress = Progress(*columns, text, console=console, transient=True, refresh_per_second=1)
        self._task = self._progress.add_task("", total=total)

    def __enter__(self):
        self._progress.start()
        return self

    def __exit__(self, *_):
        self._progress.stop()

    def begin(self, what):
        self._progress.update(self._task, description=what)

    def end(self, result=None):
        self._progress.advance(self._task)

    def round_done(self, number, rounds):
        pass


def nothing():
    """For what is done in no time."""
    return _Lines()


def of(total, console):
    return _Bar(total, console) if console.is_terminal else _Lines()
