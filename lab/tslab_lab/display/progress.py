"""How far a measurement is: a bar on a terminal, a line for each round elsewhere."""

import os
import time
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class Bar:
    """Gone when all is done. It is drawn once a second: it shares the processors with what is measured."""

    def __init__(self, total: int, console: Console) -> None:
        columns = (MofNCompleteColumn(), BarColumn(20), TimeElapsedColumn(), TimeRemainingColumn(compact=True))
        text = TextColumn("{task.description}", table_column=None)
        is_drawn = console.is_terminal
        self._progress = Progress(
            *columns, text, console=console, transient=True, refresh_per_second=1, disable=not is_drawn
        )
        self._task, self._is_drawn, self._start = self._progress.add_task("", total=total), is_drawn, time.monotonic()

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
        if not self._is_drawn:
            spent = time.monotonic() - self._start
            print(f"round {number} of {rounds}: {spent:.0f} s, load {os.getloadavg()[0]:.2f}", flush=True)
