"""What the keys of the screen ask of a process (docs/export.md, tslab ctl). Each returns the answer, or the problem."""

from tslab_tools.failure import Failure
from tslab_tools.live import inbox
from tslab_tools.live.processes import Process

PATIENCE = 1.0  # seconds: the screen stands still meanwhile
_MINUTE_MS = 60000


def _ask(process: Process, *commands: str, milliseconds: int = 0) -> str:
    try:
        with inbox.Inbox(process.pid) as opened:
            return "; ".join(opened.ask(command, milliseconds, PATIENCE) for command in commands)
    except (Failure, OSError) as failure:
        return str(failure)


def _has_file(process: Process, option: str) -> bool:
    return "," in process.figures.options.get(option, "")


def profile_a_minute(process: Process) -> str:
    rate = "profile=512K"
    if not _has_file(process, "profile"):
        rate += f",{inbox.folder_for(process.pid)}/%e.%p.profile"
    return _ask(process, rate, milliseconds=_MINUTE_MS)


def dump(process: Process) -> str:
    """Into the files that the options name, or else into new ones. The profile only if it is on."""
    missing = [option for option in ("stats", "profile") if not _has_file(process, option)]
    folder = inbox.folder_for(process.pid) if missing else ""
    files = {option: f"={folder}/%e.%p.{option}" for option in missing}
    said = [_ask(process, f"dump-{option}{files.get(option, '')}") for option in ("stats", "profile")]
    return said[0] if "profile is off" in said[1] else "; ".join(said)


def trim(process: Process) -> str:
    return _ask(process, "trim")
