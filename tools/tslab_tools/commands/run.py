"""`tslab run`: a program on tslab. It becomes the program: nothing stays between it and the caller."""

import argparse
import os
import re
import shlex
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass

from tslab_tools import drop_in, preloading

NAME = "run"
HELP = "a program on tslab, with tslab's options as flags"
DESCRIPTION = (
    "Runs a program on tslab, by LD_PRELOAD, in its place: signals, exit code and terminal are the program's own, and "
    "the programs that it starts run on tslab, too. Numbers may end in K, M, G or T."
)
USAGE = "tslab run [options] -- PROGRAM [ARGUMENT ...]\n       tslab run [options] --env"
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_NUMBER = re.compile(r"(\d+)([KMGT]?)", re.IGNORECASE)
_PURGES = ("adaptive", "delayed", "eager", "lazy", "never")
_HUGE_PAGES = ("adaptive", "always", "never")
_POLICIES = {"never": 0, "per-request": 0, "batch-": 1000000, "interval-": 86400000, "manual": 0}  # largest number
_SIGNALS = ("USR1", "USR2", "TERM", "INT", "QUIT", "HUP", "URG", "IO", "WINCH")
_STATS = {"text": "1", "json": "2"}


def _value(text):
    """What tslab makes of it; None where it is no number."""
    match = _NUMBER.fullmatch(text)
    return int(match[1]) << _UNITS[match[2].upper()] if match else None


def number(least, most):
    def read(text):
        value = _value(text)
        if value is None or not least <= value <= most:
            raise argparse.ArgumentTypeError(f"'{text}' is no number from {least} to {most}")
        return text

    read.least, read.most = least, most
    return read


def policy(text):
    for word, most in _POLICIES.items():
        rest = text.removeprefix(word) if text.startswith(word) else None
        if rest == "" if most == 0 else rest is not None and 1 <= (_value(rest) or 0) <= most:
            return text
    raise argparse.ArgumentTypeError(f"'{text}' is none of never, per-request, batch-N, interval-MS, manual")


def word_of(words):
    def read(text):
        if text in words:
            return text
        raise argparse.ArgumentTypeError(f"'{text}' is none of {', '.join(words)}")

    return read


def path(text):
    if len(text.encode()) > 255 or "," in text:
        raise argparse.ArgumentTypeError(f"'{text}' is no path of up to 255 bytes without a comma")
    return text


def limits_by_label(text):
    for item in text.split(":"):
        label, _, size = item.partition("=")
        if not 1 <= len(label.encode()) <= 31 or "," in label or not 16 << 10 <= (_value(size) or 0) <= 1 << 50:
            raise argparse.ArgumentTypeError(f"'{text}' is no LABEL=BYTES:LABEL=BYTES")
    return text


def signal_name(text):
    name = text.removeprefix("SIG")
    if name not in _SIGNALS and not (name.isdecimal() and (34 <= int(name) <= 64 or int(name) == 0)):
        raise argparse.ArgumentTypeError(f"'{text}' is none of {', '.join(_SIGNALS)}, or a number from 34 to 64")
    return text


def stats(text):
    if text not in _STATS:
        raise argparse.ArgumentTypeError(f"'{text}' is none of text, json; before a program, write --")
    return _STATS[text]


@dataclass(frozen=True)
class Option:
    """One of tslab's options: its flag and its variable have its name."""

    name: str
    metavar: str
    read: Callable
    help: str
    alone: str | None = None  # what the flag means without a value

    @property
    def variable(self):
        return "TSLAB_" + self.name.upper()


OPTIONS = (
    Option("stats", "text|json", stats, "statistics on stderr when the program ends (default: text)", "text"),
    Option("stats_file", "PATH", path, "where statistics go instead: %%p is the process, %%e the program, %%n a count"),
    Option("stats_signal", "NAME", signal_name, "the signal that asks for statistics; TERM, INT, QUIT and HUP then end the program"),
    Option("stats_interval_ms", "N", number(0, 86400000), "how often statistics are written while the program allocates"),
    Option("trace", "PATH", path, "the file of a timeline, for `tslab timeline`: %%p is the process, %%e the program"),
    Option("trace_bytes", "N", number(64 << 10, 1 << 30), "how long that file is"),
    Option("export", "0|1", number(0, 1), "1: what it counts is for `tslab top`, too"),
    Option("profile", "BYTES", number(0, 1 << 40), "heap profile: a sample in so many allocated bytes (default: 512K)", "512K"),
    Option("profile_file", "PATH", path, "where the profile goes when the program ends: %%p, %%e and %%n as above"),
    Option("epoch_policy", "POLICY", policy, "epochs of work units: never, per-request, batch-N, interval-MS, manual"),
    Option("retain_bytes", "N", number(0, 1 << 40), "empty memory that may always wait for reuse"),
    Option("purge_delay_ms", "N", number(0, 3600000), "how long empty memory waits before its pages go back"),
    Option("retain_limit_bytes", "N", number(0, 1 << 40), "empty memory that may wait at most"),
    Option("limit_bytes", "N", number(0, 1 << 50), "memory that the program may use; 0: no limit"),
    Option("soft_limit_bytes", "N", number(0, 1 << 50), "above it, no empty memory waits for reuse; 0: no limit"),
    Option("epoch_limits", "LIST", limits_by_label, "LABEL=BYTES:LABEL=BYTES and so on: what all epochs with a label may use together"),
    Option("purge", "POLICY", word_of(_PURGES), "when empty memory goes back: adaptive, delayed, eager, lazy, never"),
    Option("huge_pages", "POLICY", word_of(_HUGE_PAGES), "where memory may have huge pages: adaptive, always, never"),
    Option("keeper", "0|1|2", number(0, 2), "a thread that gives memory back while the program is idle: never, beside threads, always"),
    Option("cache_bytes", "N", number(0, 1 << 40), "what the caches of all threads may hold together; 0: by what is in use"),
    Option("magazines", "0|1", number(0, 1), "0 turns the thread caches off, as a baseline for comparisons"),
    Option("arena_bytes", "N", number(4 << 20, 16 << 40), "addresses that objects may have"),
)


def add_arguments(parser):
    parser.usage = USAGE
    for option in OPTIONS:
        more = {"nargs": "?", "const": option.alone} if option.alone else {}
        flag = "--" + option.name.replace("_", "-")
        parser.add_argument(flag, type=option.read, metavar=option.metavar, help=option.help, **more)
    drop_in.add_option(parser)
    parser.add_argument("--env", action="store_true", help="print the environment, as for a systemd unit; run nothing")
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM", help="the program and its arguments")


def variables(library, arguments):
    """What is put into the environment: the library in front of all others that are preloaded, and tslab's options."""
    others = [word for word in re.split("[ :]+", os.environ.get("LD_PRELOAD", "")) if word and word != str(library)]
    found = {"LD_PRELOAD": ":".join([str(library), *others])}
    chosen = ((option, getattr(arguments, option.name)) for option in OPTIONS)
    return found | {option.variable: value for option, value in chosen if value is not None}


def environment(added):
    """What is added comes last: a variable for one option must win over TSLAB_OPTIONS, and tslab reads them in turn."""
    kept = {name: value for name, value in os.environ.items() if name not in added}
    kept.pop(drop_in.VARIABLE, None)  # it is this command's: tslab would complain about it
    return kept | added


def run(arguments):
    words = preloading.program_of(arguments)
    if not words and not arguments.env:
        arguments.error("name a program to run, as in: tslab run -- redis-server")
    library, _ = drop_in.locate(arguments.library)
    added = variables(library, arguments)
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
    os.execve(path, words, environment(added))  # does not return: it is the program now, or there was an error
