"""`tslab run`: a program on tslab. It is the script tslab-run, with the library that this package finds."""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from tslab_tools import drop_in, option_table
from tslab_tools.failure import Absent

HELP = "a program on tslab, with tslab's options as flags"
DESCRIPTION = (
    "Runs a program on tslab, by LD_PRELOAD, in its place: signals, exit code and terminal are the program's own, and "
    "the programs that it starts run on tslab, too. Numbers may end in K, M, G or T. Where no program runs, the exit "
    "code is 2 for a wrong call, 127 if the program or the library is not there, and 126 if it cannot be run. It is "
    "the same as tslab-run."
)
USAGE = "tslab run [options] [--] PROGRAM [ARGUMENT...]\n       tslab run [options] --env"
_ALONE = {
    "stats": "1",
    "export": "1",
    "profile": "512K, and without FILE: %%e.%%p.heap",
}  # what a flag means without a value


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """For the help, the manual and the completions: the script reads the words."""
    parser.usage = USAGE
    for option in option_table.OPTIONS:
        alone: dict[str, Any] = {"nargs": "?"} if option.name in _ALONE else {}
        text = option.help.replace("%", "%%") + (f" ({option.values})" if option.values else "")
        text += f"; alone: {_ALONE[option.name]}" if alone else ""
        parser.add_argument(f"--{option.name.replace('_', '-')}", metavar=option.form, help=text, **alone)
    drop_in.add_option(parser)
    parser.add_argument("--checked", action="store_true", help="end it at double frees, overflows, writes after free")
    parser.add_argument("--env", action="store_true", help="print the environment, as for a systemd unit; run nothing")
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM", help="the program and its arguments")


def become(words: Sequence[str]) -> NoReturn:
    try:
        library = str(drop_in.nearest()[0])
    except Absent:
        library = os.environ.get(drop_in.VARIABLE, drop_in.NAME)  # the script says that it is not there
    sys.stdout.flush()
    for name in ("SIGPIPE", "SIGXFSZ"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)  # Python ignores them, and the program would inherit that
    script = str(drop_in.HERE / "tslab-run")
    os.execve("/bin/sh", ["sh", script, *words], os.environ | {drop_in.VARIABLE: library})
