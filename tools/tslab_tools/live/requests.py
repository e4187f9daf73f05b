"""What the keys of the screen ask of a process (docs/export.md, tslab ctl). Each returns the answer, or the problem."""

from collections.abc import Callable

from tslab_tools.failure import Failure
from tslab_tools.live.processes import Process
from tslab_tools.live.saving import save

PATIENCE = 1.0  # seconds: the screen stands still meanwhile
RATE = "512K"


def _guarded(process: Process, work: Callable[[Process], str]) -> str:
    try:
        return work(process)
    except (Failure, OSError) as failure:
        return str(failure)
    finally:
        process.channel.end()


def _ask(process: Process, command: str) -> str:
    return process.channel.ask(command, patience=PATIENCE)


def _saved(process: Process, what: str) -> str:
    return f"{what} in {save(process.channel, what, process.program, patience=PATIENCE)}"


def _has_samples(process: Process) -> bool:
    return process.figures.options.get("profile", "0").partition(",")[0] != "0"


def _profile(process: Process) -> str:
    if _has_samples(process):
        return _saved(process, "profile")
    return f"{_ask(process, f'profile={RATE}')}. Press p again to write what it has sampled"


def _dump(process: Process) -> str:
    whats = ["statistics", "profile"] if _has_samples(process) else ["statistics"]
    return "; ".join(_saved(process, what) for what in whats)


def profile(process: Process) -> str:
    """Has it take samples; when it does, writes the profile to a file here."""
    return _guarded(process, _profile)


def dump(process: Process) -> str:
    """Writes statistics, and the profile if it is on, to files here."""
    return _guarded(process, _dump)


def trim(process: Process) -> str:
    return _guarded(process, lambda process: _ask(process, "trim"))
