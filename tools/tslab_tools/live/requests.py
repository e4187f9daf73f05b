"""What the keys of the screen ask of a process (docs/export.md, tslab ctl). Each returns the answer, or the problem."""

from collections.abc import Callable

from tslab_tools.failure import Failure
from tslab_tools.live.processes import Process
from tslab_tools.live.saving import save

PATIENCE = 1.0  # seconds: the screen stands still meanwhile


def _ask(process: Process, command: str) -> str:
    return process.channel.ask(command, patience=PATIENCE)


def _saved(process: Process, what: str) -> str:
    return f"{what} in {save(process.channel, what, process.program, patience=PATIENCE)}"


def _profile(process: Process) -> str:
    """Has it take samples; when it does, writes the profile to a file here."""
    if process.is_sampling:
        return _saved(process, "profile")
    return f"{_ask(process, 'profile=512K')}. Press p again to write what it has sampled"


def _dump(process: Process) -> str:
    """Writes statistics, and the profile if it is on, to files here."""
    return "; ".join(_saved(process, what) for what in ("statistics", "profile")[: 1 + process.is_sampling])


KEYS: dict[str, Callable[[Process], str]] = {"p": _profile, "d": _dump, "t": lambda process: _ask(process, "trim")}


def answer(key: str, process: Process) -> str:
    try:
        return KEYS[key](process)
    except (Failure, OSError) as failure:
        return str(failure)
    finally:
        process.channel.end()
