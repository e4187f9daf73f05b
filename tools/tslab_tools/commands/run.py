"""`tslab run`: a program on tslab. It becomes the program: nothing stays between it and the caller."""

import argparse
import os
import re
import shlex
import signal
import sys
from pathlib import Path
from typing import Any

from tslab_tools import drop_in, option_table, preloading, trial
from tslab_tools.failure import Absent

NAME = "run"
HELP = "a program on tslab, with tslab's options as flags"
DESCRIPTION = (
    "Runs a program on tslab, by LD_PRELOAD, in its place: signals, exit code and terminal are the program's own, and "
    "the programs that it starts run on tslab, too. Numbers may end in K, M, G or T. Where no program runs, the exit "
    "code is 2 for a wrong call, 127 if the program or the library is not there, and 126 if it cannot be run."
)
TROUBLE, ABSENT = 126, 127
USAGE = "tslab run [options] -- PROGRAM [ARGUMENT ...]\n       tslab run [options] --env"
_ALONE = {"stats": "1", "profile": "512K"}  # what a flag means without a value
PROFILE = "%e.%p.heap"  # the file of a profile for which none is named: without a file there is no profile at exit
_MORE = {"stats": "alone: 1", "profile": f"alone: 512K; without FILE: {PROFILE}"}


def _flag(option: option_table.Option) -> str:
    return "--" + option.name.replace("_", "-")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = USAGE
    for option in option_table.OPTIONS:
        more: dict[str, Any] = {"nargs": "?", "const": _ALONE[option.name]} if option.name in _ALONE else {}
        text = f"{option.help}; {_MORE[option.name]}" if option.name in _MORE else option.help
        text += f" ({option.values})" if option.values else ""
        parser.add_argument(_flag(option), metavar=option.form, help=text.replace("%", "%%"), **more)
    drop_in.add_option(parser)
    parser.add_argument("--checked", action="store_true", help="end it at double frees, overflows, writes after free")
    parser.add_argument("--env", action="store_true", help="print the environment, as for a systemd unit; run nothing")
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM", help="the program and its arguments")


def options(arguments: argparse.Namespace) -> dict[str, str]:
    """The variables of the options that were chosen."""
    chosen = {option.name: getattr(arguments, option.name) for option in option_table.OPTIONS}
    rate, _, file = (chosen["profile"] or "0").partition(",")
    if rate != "0" and not file:
        chosen["profile"] = f"{rate},{PROFILE}"
    return {f"TSLAB_{name.upper()}": value for name, value in chosen.items() if value is not None}


def preload(library: Path) -> dict[str, str]:
    """The library in front of all others that are preloaded."""
    others = [word for word in re.split("[ :]+", os.environ.get("LD_PRELOAD", "")) if word and word != str(library)]
    return {"LD_PRELOAD": ":".join([str(library), *others])}


def environment(added: dict[str, str]) -> dict[str, str]:
    """What is added comes last: a variable for one option must win over TSLAB_OPTIONS, and tslab reads them in turn."""
    kept = {name: value for name, value in os.environ.items() if name not in added}
    kept.pop(drop_in.VARIABLE, None)  # it is this command's: tslab would complain about it
    return kept | added


def _refuse_what_the_library_does_not_take(arguments: argparse.Namespace, library: Path) -> None:
    unfit = trial.complaints(library, options(arguments))
    for option in option_table.OPTIONS:
        if why := unfit.get(f"TSLAB_{option.name.upper()}"):
            hint = "; before a program, write --" if option.name in _ALONE else ""
            arguments.error(f"{_flag(option)} {getattr(arguments, option.name)!r}: {why}{hint}")


def run(arguments: argparse.Namespace) -> int:
    try:
        return _become(arguments)
    except Absent as failure:
        failure.status = ABSENT
        raise


def _become(arguments: argparse.Namespace) -> int:
    words = preloading.program_of(arguments)
    if not words and not arguments.env:
        arguments.error("name a program to run behind --, as in: tslab run -- redis-server")
    library, _ = drop_in.locate(arguments.library)
    library = drop_in.checked_twin(library) if arguments.checked else library
    _refuse_what_the_library_does_not_take(arguments, library)
    added = preload(library) | options(arguments)
    if words:
        path = preloading.find(words[0])
        preloading.require(path, library)
    if arguments.env:
        for name, value in added.items():
            print(f"{name}={shlex.quote(value)}")
        return 0
    sys.stdout.flush()
    for name in ("SIGPIPE", "SIGXFSZ"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)  # Python ignores them, and the program would inherit that
    return os.execve(path, words, environment(added))  # it is the program now, or there was an error
