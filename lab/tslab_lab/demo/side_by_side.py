"""Several programs at once, each on an allocator of its own, and the memory of all of them as it goes.

All acts take turns in this thread, so that an interrupt ends all of them."""

import contextlib
import json
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping

from tslab_lab.base import processes
from tslab_lab.base.shapes import Environment, Figures, Point, Words

TURN_SECONDS = 0.005
SAMPLE_SECONDS = 0.02
NEARLY = 0.97


# Yields, again and again until the program has ended, the process whose memory is to be sampled, or None. Returns the figures.
Act = Generator[int | None, None, Figures]


class Killed(processes.Failure):
    """The program did not live to its end."""


def program(argv: Words, environment: Environment, who: str, sampled: bool = True) -> Act:
    """The act of a program that prints a line of JSON."""
    with (
        tempfile.TemporaryFile() as out,
        tempfile.NamedTemporaryFile() as err,
        processes.started([str(word) for word in argv], environment, out, err) as process,
    ):
        deadline = time.monotonic() + processes.TIMEOUT_SECONDS
        while process.poll() is None:
            if time.monotonic() > deadline:
                raise processes.Failure(f"{who} hung for {processes.TIMEOUT_SECONDS} s.")
            yield process.pid if sampled else None
        if process.returncode != 0:
            how = processes.how_it_ended(process.returncode)
            raise Killed(f"{who} {how}. Its last words:\n{processes.tail(err.name)}")
        out.seek(0)
        figures: Figures = json.loads(out.read())
        return figures


def rest(pid: int, seconds: float) -> Iterator[int]:
    """A part of an act: it waits."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        yield pid


def until_rest(points: list[Point], kib: float) -> list[Point]:
    """Without the program's own end: up to the last moment at which it still had what it weighs at rest."""
    last = max((i for i, (_, at) in enumerate(points) if at >= NEARLY * kib), default=-1)
    return points[: last + 1]


def run(acts: Mapping[str, Act]) -> tuple[dict[str, list[Point]], dict[str, Figures | processes.Failure]]:
    """Runs the acts, by name, to their ends. Returns the curves of their resident memory, and their figures or failures."""
    start, left = time.monotonic(), dict(acts)
    due = dict.fromkeys(acts, start)
    curves: dict[str, list[Point]] = {name: [] for name in acts}
    ends: dict[str, Figures | processes.Failure] = {}
    with contextlib.ExitStack() as stack:
        for act in acts.values():
            stack.callback(act.close)
        while left:
            for name, act in list(left.items()):
                try:
                    pid, now = next(act), time.monotonic()
                    if pid is not None and now >= due[name]:
                        due[name] = now + SAMPLE_SECONDS
                        if kib := processes.rss_kib(pid):  # else it has just ended
                            curves[name].append((round(1000 * (now - start)), kib))
                except StopIteration as end:
                    ends[name] = end.value
                except processes.Failure as failure:
                    ends[name] = failure
            left = {name: act for name, act in left.items() if name not in ends}
            time.sleep(TURN_SECONDS if left else 0)
    return curves, ends
