"""`tslab ctl`: a hand on a process that runs on tslab."""

import argparse
import os
import re

from tslab_tools.failure import Failure
from tslab_tools.live import inbox, processes
from tslab_tools.terminal import plain_text
from tslab_tools.values import seconds

NAME = "ctl"
HELP = "change options of a process, have it write its profile, or give memory back"
DESCRIPTION = """Asks a process that runs on tslab with TSLAB_EXPORT=1 to do something now. Each COMMAND is an option,
as purge=eager or profile=512K,FILE; trim, which gives free memory back; dump, which writes what TSLAB_STATS_SIGNAL
would; dump-stats[=FILE]; or dump-profile[=FILE]. The process says on its standard error what it has done, and who
asked. Without a COMMAND it shows the options that hold. A process of one thread answers at once if it runs with
TSLAB_KEEPER=2, else at its next slow allocation."""
_UNITS = {"ms": 1, "s": 1000, "": 1000, "m": 60000, "h": 3600000}
_MOST_MS = 86400000


def milliseconds(text: str) -> int:
    found = re.fullmatch(r"(\d+)(ms|s|m|h|)", text)
    value = int(found[1]) * _UNITS[found[2]] if found else 0
    if not 0 < value <= _MOST_MS:
        raise argparse.ArgumentTypeError(f"'{text}' is no time such as 60s, 5m or 1h, up to a day")
    return value


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("pid", type=int, metavar="PID")
    add("commands", nargs="*", metavar="COMMAND", help="NAME=VALUE, trim, dump, dump-stats[=FILE], dump-profile[=FILE]")
    add("--for", dest="time", type=milliseconds, default=0, metavar="TIME", help="the option holds for 60s, 5m, 1h")
    add("--wait", type=seconds(0), default=inbox.PATIENCE, metavar="SECONDS", help="for the answer (default: 3)")


def _from_here(command: str) -> str:
    """A file to dump to is named as this command sees it."""
    name, equals, file = command.partition("=")
    if equals and name in ("trim", "dump"):
        raise Failure(f"{name} has no value. Those with a file are dump-stats=FILE and dump-profile=FILE")
    return f"{name}={os.path.abspath(file)}" if name.startswith("dump-") and equals and file else command


def _show(pid: int) -> None:
    with processes.Watched([pid]) as watched:
        found = watched.look()
        watched.require(found)
    for name, value in found[0].figures.options.items():
        fixed = "" if name in found[0].figures.changeable else "   (set at the start)"
        print(f"{plain_text(name)}={plain_text(value)}{fixed}")


def run(arguments: argparse.Namespace) -> int:
    if arguments.time and len(arguments.commands) != 1:
        raise Failure("--for goes with one option")
    if not arguments.commands:
        _show(arguments.pid)
        return 0
    with inbox.Inbox(arguments.pid) as opened:
        for command in arguments.commands:
            print(plain_text(opened.ask(_from_here(command), arguments.time, arguments.wait)))
    return 0
