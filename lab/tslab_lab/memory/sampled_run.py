"""One run of a program whose memory is sampled: until it ends, or for a number of seconds."""

import contextlib
import dataclasses
import os
import re
import resource
import select
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tslab_lab.base import processes
from tslab_lab.base.shapes import Columns, Environment, Figures
from tslab_lab.memory import family, operations, series
from tslab_lab.memory.sampler import COLUMNS, LOADED_SECONDS, Sampler

_AT_ONCE_SECONDS = 1  # who fails within this time has not done the work
_STOP_SECONDS = 10
_STOPPED = (0, -signal.SIGTERM, 128 + signal.SIGTERM)  # how a program ends that was asked to


@dataclasses.dataclass(frozen=True)
class Plan:
    argv: list[str]
    seconds: float | None = None
    pattern: re.Pattern[str] | None = None  # that finds the operations a second in what was written


Files = dict[str, Path]  # for what is written: out and err


class Watch:
    """Waits for processes to end, and for times to come, and takes samples meanwhile."""

    def __init__(self, sampler: Sampler) -> None:
        self._sampler, self._poll = sampler, select.poll()

    @contextlib.contextmanager
    def on(self, process: subprocess.Popen[bytes]) -> Iterator[int]:
        file = os.pidfd_open(process.pid)
        self._poll.register(file, select.POLLIN)
        try:
            yield file
        finally:
            self._poll.unregister(file)
            os.close(file)

    def until(self, file: int, deadline: float | None) -> bool:
        """Whether it has ended; else it was time."""
        while True:
            now = time.monotonic()
            if deadline is not None and now >= deadline:
                return False
            due = self._sampler.due if deadline is None else min(self._sampler.due, deadline)
            if file in {file for file, _ in self._poll.poll(max(0, due - now) * 1000)}:
                return True
            now = time.monotonic()
            if now >= self._sampler.due:
                self._sampler.tick(now)


def _reap(process: subprocess.Popen[bytes]) -> resource.struct_rusage:
    """Waits for its end; returns what it and the children that it waited for have used."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage


def _stop(process: subprocess.Popen[bytes], file: int) -> list[str]:
    """Asks it to end. Returns what there is to say about it."""
    process.send_signal(signal.SIGTERM)
    poll = select.poll()
    poll.register(file, select.POLLIN)
    if poll.poll(_STOP_SECONDS * 1000):
        return []
    process.kill()
    return [f"it did not end within {_STOP_SECONDS} s of SIGTERM, and was killed"]


def _last_words(files: Sequence[Path]) -> str:
    """Of the first file in which there are any."""
    written = [path for path in files if path.exists() and path.stat().st_size]
    return f" Its last words:\n{processes.tail((written or files)[0])}"


def _follow(
    plan: Plan, process: subprocess.Popen[bytes], sampler: Sampler, watch: Watch
) -> tuple[float | None, bool, list[str]]:
    """Sees the program through. Returns (seconds that the work took, whether it was made to end, remarks)."""
    start = time.monotonic()
    with watch.on(process) as program:
        if watch.until(program, start + plan.seconds if plan.seconds else None):
            return time.monotonic() - start, False, []
        sampler.tick(time.monotonic(), last=True)
        return None, True, _stop(process, program)


def _left_behind(count: int) -> list[str]:
    return [f"it left {count} process{'es' * (count > 1)} behind, ended now"] if count else []


def _require_served(sampler: Sampler, library: Path | None, seconds: float, who: str) -> None:
    if library and sampler.looked and not sampler.found and seconds > 2 * LOADED_SECONDS:
        raise processes.Failure(
            f"{who} runs without {library}: it is not among the files that it has mapped. A program that clears its "
            "environment cannot be measured so."
        )


def measure(
    plan: Plan, environment: Environment, library: Path | None, files: Files, who: str
) -> tuple[Figures, Columns]:
    """Of one run."""
    remarks: list[str] = []
    with family.none_left() as left, open(files["out"], "wb") as out, open(files["err"], "wb") as err:
        start = time.monotonic()
        with processes.started(plan.argv, environment, out, err) as process:
            sampler = Sampler(process.pid, start, str(library) if library else None)
            used = time.process_time()
            try:
                work, stopped, said = _follow(plan, process, sampler, Watch(sampler))
                seconds = time.monotonic() - start
                used = time.process_time() - used
                usage = _reap(process)
            finally:
                sampler.close()
            remarks += said
        remarks += _left_behind(len(left()))
    code = process.returncode
    words = (files["err"], files["out"])
    if not (code in _STOPPED if stopped else code == 0):
        how = processes.how_it_ended(code)
        if code < 0 and not (stopped and said):
            raise processes.Failure(f"{who} {how}.{_last_words(words)}")
        if not stopped and seconds < _AT_ONCE_SECONDS:
            raise processes.Failure(f"{who} {how} at once.{_last_words(words)}")
        remarks += [] if said else [f"it {how}"]
    if not sampler.rows:
        raise processes.Failure(f"{who} ended before its memory could be read even once.")
    _require_served(sampler, library, seconds, who)
    columns = {name: list(column) for name, column in zip(COLUMNS, zip(*sampler.rows))}
    figures = operations.told(plan.pattern, [files["out"], files["err"]])
    figures |= {"run_seconds": work and round(work, 4), "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 4)}
    figures |= {"system_seconds": round(usage.ru_stime, 4), "faults": usage.ru_minflt + usage.ru_majflt}
    figures |= {"exit_code": code, "stopped": stopped, "remarks": remarks, "processes": sampler.most}
    figures |= {"sampler_share": round(used / sampler.seconds, 5), "looked_every_ms": sampler.looked_every_ms}
    figures |= {"mapped": _allocators_in(sampler.mapped)}
    # What ends by itself may have been cleaning up when it was looked at last: only its own word counts.
    figures.setdefault("rss_kib", sampler.rows[-1][1] if stopped else None)
    return figures | series.figures(columns), columns


def _allocators_in(paths: Iterable[str]) -> list[str]:
    """Files with an allocator in them, by their names."""
    names = sorted({os.path.basename(path) for path in paths})
    return [name for name in names if "malloc" in name and ".so" in name]
