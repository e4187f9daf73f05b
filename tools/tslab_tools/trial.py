"""Asks the library itself whether it takes the options that it is to get, before the program starts: it is preloaded
into a program that does nothing, and says on stderr what it cannot take. So what an option may be stands in the library
alone."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tslab_tools import drop_in, preloading
from tslab_tools.failure import Failure

# The last that the library reads, so it holds: the trial writes no file, has one thread, and memory enough to start.
_WITHOUT_EFFECT = "stats=0,profile=0,trace=,export=0,keeper=0,limit_bytes=0"
_SHOWN_BYTES = 255  # of a value, in what the library says
_SECONDS = 60  # nobody waits for a library that never starts


def _complaint(said: bytes, name: str, value: str) -> str | None:
    """What the library says of a variable."""
    option = re.escape(name.encode())
    shown = re.escape(os.fsencode(value)[:_SHOWN_BYTES])
    found = re.search(rb"tslab: " + option + rb"(?:=" + shown + rb")?: (.*?); ignored\n", said, re.DOTALL)
    return found[1].decode(errors="replace") if found else None


def complaints(library: Path, options: Mapping[str, str]) -> dict[str, str]:
    """Why the library does not take an option, by variable. Nothing where no trial can be made: then it says so in the
    program."""
    if re.fullmatch(r"libtslab(-checked)?\.so.*", library.name):
        raise Failure(f"{library} is for programs that are linked with it. To preload: {drop_in.NAME}, beside it.")
    program = shutil.which("true")
    if program is None or preloading.why_not(program, library):
        return {}
    unknown = {drop_in.VARIABLE: "1"}  # every library of tslab's says that it does not know this command's own variable
    environment = {"LD_PRELOAD": str(library), **unknown, **options, "TSLAB_OPTIONS": _WITHOUT_EFFECT}
    try:
        done = subprocess.run(
            [program],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    if done.returncode == 0 and _complaint(done.stderr, drop_in.VARIABLE, "1") is None:
        reason = re.search(rb"from LD_PRELOAD cannot be preloaded \((.*)\)", done.stderr)
        why = f": {reason[1].decode(errors='replace')}" if reason else ""
        raise Failure(f"{library} is no library of tslab's that can be preloaded{why}.")
    found = {name: _complaint(done.stderr, name, value) for name, value in options.items()}
    return {name: why for name, why in found.items() if why is not None}
