"""Has a process that runs write its profile: through its inbox, or by its signal where it exports no figures."""

import atexit
import glob
import os
import re
import shutil
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tslab_tools.failure import Failure
from tslab_tools.live import board, inbox, processes

WAIT_SECONDS = 20
_COMM_BYTES = 15  # what the kernel keeps of a name


def _board(pid: int) -> board.Figures | None:
    with processes.Watched([pid]) as watched:
        found = watched.look()
    return found[0].figures if found and found[0].figures.options else None


def _files(pattern: str, pid: int) -> dict[Path, tuple[int, int]]:
    """The files that the process may have written, with the time of each one's last change."""
    program = Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").rstrip("\n")
    named = glob.escape(program.replace("/", "_")) + ("*" if len(program.encode()) >= _COMM_BYTES else "")
    of = {"%%": "%", "%p": str(pid), "%n": "*", "%e": named}
    name = "".join(of.get(part, glob.escape(part)) for part in re.split("(%[%pne])", pattern))
    path = f"{processes.root_of(pid)}{name}" if name.startswith("/") else f"/proc/{pid}/cwd/{name}"
    return {
        found: (found.stat().st_mtime_ns, found.stat().st_size)
        for found in map(Path, glob.glob(path))  # escaped as glob wants it
    }


def _lacks(pid: int, options: Mapping[str, str]) -> Failure:
    """Which option is missing, and how to give it."""
    missing = []
    if not options.get("profile", "").partition(",")[2]:
        missing.append("a file in TSLAB_PROFILE, as TSLAB_PROFILE=512K,FILE")
    if not options.get("stats_signal"):
        missing.append("a signal, as TSLAB_STATS_SIGNAL=USR2")
    if options.get("export") == "1":
        return Failure(processes.why_not(pid))
    how = f"start it with TSLAB_EXPORT=1, and `tslab ctl {pid} profile=512K` works at any time"
    if not options:
        return Failure(f"process {pid} has no options of tslab, or has overwritten its environment: {how}")
    return Failure(f"process {pid} was started without {' and without '.join(missing)}. Or {how}")


def _by_signal(pid: int) -> Path:
    if not os.access(f"/proc/{pid}/environ", os.R_OK):
        raise Failure(processes.why_not(pid))
    options = processes.options_at_start(pid)
    pattern = options.get("profile", "").partition(",")[2]
    if not pattern or not options.get("stats_signal"):
        raise _lacks(pid, options)
    name = options["stats_signal"].removeprefix("SIG")
    number = int(name) if name.isdecimal() else getattr(signal, f"SIG{name}", None)
    if number is None or name in ("TERM", "INT", "QUIT", "HUP"):
        raise Failure(f"the signal {name} would end process {pid}")
    before = _files(pattern, pid)
    os.kill(pid, number)
    deadline = time.monotonic() + WAIT_SECONDS
    last = before
    while time.monotonic() < deadline:
        time.sleep(0.1)
        now = _files(pattern, pid)
        changed = [path for path, stamp in now.items() if before.get(path) != stamp]
        if changed and now == last:
            return max(changed, key=lambda path: now[path])
        last = now
    raise Failure(f"process {pid} wrote no profile within {WAIT_SECONDS} s: it writes at its next slow allocation")


def _by_inbox(pid: int, figures: board.Figures) -> Path:
    """Into the file that the option names, or else into one that lives as long as this command."""
    rate, _, pattern = figures.options["profile"].partition(",")
    if rate == "0":
        raise Failure(
            f"process {pid} takes no samples. To begin now: tslab ctl {pid} profile=512K. To begin at its start: "
            "TSLAB_PROFILE=512K"
        )
    command = "dump-profile"
    if not pattern:
        folder = inbox.folder_for(pid)
        atexit.register(shutil.rmtree, processes.root_of(pid) + folder, ignore_errors=True)
        command = f"dump-profile={folder}/profile"
    with inbox.Inbox(pid) as opened:
        name = opened.ask(command).removeprefix("profile in ")
    path = Path(f"{processes.root_of(pid)}{name}" if name.startswith("/") else f"/proc/{pid}/cwd/{name}")
    if not path.is_file():  # what it names is its own choice: a FIFO, for instance, would have us wait
        raise Failure(f"process {pid} wrote {name}, which is no file that can be read from here")
    return path


class Asked(NamedTuple):
    file: Path
    live: int  # bytes, as its board told it before; 0: it has none


def ask(pid: int) -> Asked:
    """Has a running program write its profile."""
    figures = _board(pid)
    if figures is None:
        return Asked(_by_signal(pid), 0)
    return Asked(_by_inbox(pid, figures), figures.process["live"])
