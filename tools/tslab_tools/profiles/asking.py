"""Has a process that runs hand over its profile."""

import tempfile
from pathlib import Path
from typing import NamedTuple

from tslab_tools.failure import Failure
from tslab_tools.live import processes
from tslab_tools.live.saving import save

_folders: list[tempfile.TemporaryDirectory[str]] = []  # they end with the command


class Asked(NamedTuple):
    file: Path
    live: int  # bytes, as it told them before


def ask(pid: int) -> Asked:
    with processes.Watched([pid]) as watched:
        found = watched.look()
        watched.require(found)
        figures = found[0].figures
        if not found[0].is_sampling:
            raise Failure(
                f"process {pid} takes no samples. To begin now: tslab ctl {pid} profile=512K. To begin at its start: "
                "TSLAB_PROFILE=512K"
            )
        _folders.append(tempfile.TemporaryDirectory(prefix="tslab-"))
        file = save(found[0].channel, "profile", path=Path(_folders[-1].name) / f"{pid}.heap")
    return Asked(file, figures.process["live"])
