"""How far a measurement is: a bar on a terminal, a line for each round elsewhere."""

import os
import time
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class _Lines:
    """For a pipe or a file."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def begin(self, what: str) -> None:
        pass

    def end(self) -> None:
        pass

    def round_done(self, number: int, rounds: int) -> None:
        spent = time.monotonic() - self._start
        print(f"round {number} of {rounds}: {spent:.0f} s, load {os.getloadavg()[0]:.2f}", flush=True)


class _Bar:
    """For a terminal; gone when all is done. It is drawn once a second: it shares the processors with what is measured."""

    def __init__(self, total: int, console: Console) -> None:
        columns = (MofNCompleteColumn(), BarColumn(20), TimeElapsedColumn(), TimeRemainingColumn(compact=True))
        text = TextColumn("{task.description}", table_column=None)
        self._progress = Progress(*columns, text, console=console, transient=True, refresh_per_second=1)
        self._task = self._progress.add_task("", total=total)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def begin(self, what: str) -> None:
        self._progress.update(self._task, description=what)

    def end(self) -> None:
        self._progress.advance(self._task)

    def round_done(self, number: int, rounds: int) -> None:
        pass


Bar = _Lines | _Bar


def nothing() -> Bar:
    """For what is done in no time."""
    return _Lines()


def of(total: int, console: Console) -> Bar:
    return _Bar(total, console) if console.is_terminal else _Lines()
