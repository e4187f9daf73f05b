"""`tslab ctl`: a hand on a process that runs on tslab."""

import argparse
import re
from pathlib import Path

from tslab_tools.failure import Failure
from tslab_tools.live import kernel, processes
from tslab_tools.live.channel import PATIENCE, Channel
from tslab_tools.live.saving import save
from tslab_tools.option_table import OPTIONS
from tslab_tools.terminal import plain_text
from tslab_tools.values import seconds

HELP = "change options of a process, save its profile, or give memory back"
DESCRIPTION = """Asks a process that runs on tslab with TSLAB_EXPORT=1 to do something now. Each COMMAND is an option,
as purge=eager or profile=512K; trim, which gives free memory back; dump-profile[=FILE] or dump-stats[=FILE], which
write its heap profile, or its statistics as JSON, to a file of yours (in the working directory, unless you name it).
The process says on its standard error what it has changed, and who asked. Without a COMMAND it shows the options that
hold."""
_UNITS = {"ms": 1, "s": 1000, "": 1000, "m": 60000, "h": 3600000}
_MOST_MS = 86400000
_DUMPS = {"dump-profile": "profile", "dump-stats": "statistics"}
_CHANGEABLE = frozenset(option.name for option in OPTIONS if option.changeable)


def milliseconds(text: str) -> int:
    found = re.fullmatch(r"(\d+)(ms|s|m|h|)", text)
    value = int(found[1]) * _UNITS[found[2]] if found else 0
    if not 0 < value <= _MOST_MS:
        raise argparse.ArgumentTypeError(f"'{text}' is no time such as 60s, 5m or 1h, up to a day")
    return value


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("pid", type=int, metavar="PID")
    add("commands", nargs="*", metavar="COMMAND", help="NAME=VALUE, trim, dump-profile[=FILE], dump-stats[=FILE]")
    add("--for", dest="time", type=milliseconds, default=0, metavar="TIME", help="the option holds for 60s, 5m, 1h")
    add("--wait", type=seconds(0), default=PATIENCE, metavar="SECONDS", help="for the answer (default: 3)")


def _show(pid: int) -> None:
    with processes.Watched([pid]) as watched:
        found = watched.look()
        watched.require(found)
    for name, value in found[0].figures.options.items():
        fixed = "" if name in _CHANGEABLE else "   (set at the start)"
        print(f"{plain_text(name)}={plain_text(value)}{fixed}")


def _do(channel: Channel, command: str, arguments: argparse.Namespace) -> str:
    name, equals, value = command.partition("=")
    if name not in _DUMPS:
        return channel.ask(command, arguments.time, arguments.wait)
    if arguments.time or (equals and not value):
        raise Failure(f"{name} takes a FILE, as {name}=FILE, or nothing; and --for goes with an option")
    program = kernel.read(f"/proc/{arguments.pid}/comm").decode(errors="replace").rstrip("\n")
    path = Path(value) if value else None
    return f"{_DUMPS[name]} in {plain_text(str(save(channel, _DUMPS[name], program, path, arguments.wait)))}"


def run(arguments: argparse.Namespace) -> int:
    if arguments.time and len(arguments.commands) != 1:
        raise Failure("--for goes with one option")
    if not arguments.commands:
        _show(arguments.pid)
        return 0
    with Channel(arguments.pid) as channel:
        for command in arguments.commands:
            print(_do(channel, command, arguments))
    return 0
