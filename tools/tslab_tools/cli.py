"""The command `tslab`: runs programs on tslab, and shows where their memory is."""

import argparse
import difflib
import importlib
import os
import signal
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, NoReturn

from tslab_tools import VERSION
from tslab_tools.failure import Failure
from tslab_tools.terminal import plain_lines


def nearest(word: str, known: Iterable[str]) -> str:
    """A question, where the word is much like one that is known."""
    found = difflib.get_close_matches(word, list(known), 1)
    return f". Did you mean {found[0]}?" if found else ""


class Parser(argparse.ArgumentParser):
    """Names what a word that it does not know may have meant."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as wrong:
            wrong.message += nearest(str(value), map(str, action.choices or ()))
            raise

    def error(self, message: str) -> NoReturn:
        title, _, words = message.partition(": ")
        if title == "unrecognized arguments":
            message += nearest(words.split()[0], self._option_string_actions)
        super().error(plain_lines(message))


@dataclass(frozen=True)
class Program:
    """A command that has sub-commands. Each is a module of `package`: HELP, DESCRIPTION, add_arguments(parser),
    run(arguments) -> exit code."""

    name: str
    package: str
    commands: tuple[str, ...]
    description: str
    examples: str

    def parser(self, names: Sequence[str] | None = None) -> argparse.ArgumentParser:
        """With all sub-commands, or those that are named."""
        result = Parser(
            prog=self.name,
            description=self.description,
            epilog=self.examples,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        result.add_argument("--version", action="version", version=f"{self.name} {VERSION}")
        commands = result.add_subparsers(metavar="COMMAND", required=True)
        for name in self.commands if names is None else names:
            module = importlib.import_module(f"{self.package}.{name}")
            command = commands.add_parser(name, help=module.HELP, description=module.DESCRIPTION)
            module.add_arguments(command)
            trouble = getattr(module, "TROUBLE", 1)  # the exit code where nothing was measured
            does = getattr(module, "run", None)
            command.set_defaults(run=does, error=command.error, command=name, trouble=trouble)
        return result

    def main(self, argv: Sequence[str] | None = None) -> int:
        """Does what the words say. Returns the exit code."""
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]  # without UTF-8: '?' for lines and dots
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:  # as nohup leaves it
                signal.signal(number, _interrupted)
        words = sys.argv[1:] if argv is None else list(argv)
        trouble = 1
        try:
            try:
                arguments, unknown = self._loaded(words).parse_known_args(words)
                if unknown and hasattr(arguments, "more") and not any(word.startswith("-") for word in unknown):
                    getattr(arguments, arguments.more).extend(unknown)  # words of a list that stand behind options
                elif unknown:
                    arguments.error(f"unrecognized arguments: {' '.join(unknown)}")
                trouble = arguments.trouble
                code: int = arguments.run(arguments)
                return code
            finally:
                sys.stdout.flush()
        except BrokenPipeError:  # as `head` ends it; what is left to write goes nowhere
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 128 + signal.SIGPIPE
        except Failure as failure:
            self._say(str(failure))
            return failure.status or trouble
        except OSError as failure:
            subject = f"{failure.filename}: " if failure.filename is not None else ""
            self._say(f"{subject}{failure.strerror or failure}")
            return trouble
        except MemoryError:
            self._say("there is not enough memory for this")
            return trouble
        except ModuleNotFoundError as missing:
            package = PACKAGES.get((missing.name or "").partition(".")[0])
            if package is None:
                raise
            # In an environment of Python's own, Debian's packages are of no use.
            way = "apt-get" if sys.prefix == sys.base_prefix else f"{sys.executable} -m pip"
            name = package if way == "apt-get" else package.removeprefix("python3-")
            self._say(f"Python's {missing.name} is not installed. To install it: {way} install {name}")
            return trouble
        except KeyboardInterrupt:
            self._say("interrupted")
            return 130

    def _say(self, message: str) -> None:
        """It may quote what others wrote."""
        print(plain_lines(f"{self.name}: {message}"), file=sys.stderr)

    def _loaded(self, words: list[str]) -> argparse.ArgumentParser:
        """What is not asked for is not loaded."""
        named = words[:1] if words and words[0] in self.commands else () if words[:1] == ["--version"] else None
        return self.parser(named)


# Debian's packages of the modules that commands need and not everybody has.
PACKAGES = {
    "rich": "python3-rich",
    "prometheus_client": "python3-prometheus-client",
}
EXAMPLES = """examples:
  tslab run --stats redis-server           a program on tslab, its statistics at the end
  tslab run --export redis-server          a program whose memory `tslab top` and `tslab export` show
  tslab top                                the programs that run on tslab, as they go
  tslab ctl 1234 profile=512K --for 60s    samples a running program for a minute
  tslab doctor 1234                        why the memory of one is as much as it is, and the cure
  tslab run --profile ./program            a heap profile at the end, in program.1234.heap
  tslab profile program.1234.heap          who holds the memory of that program
"""
TSLAB = Program(
    "tslab",
    "tslab_tools.commands",
    ("run", "top", "stat", "doctor", "ctl", "profile", "export"),
    __doc__ or "",
    EXAMPLES,
)


def _interrupted(number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt(number)


def main(argv: Sequence[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else list(argv)
    if words[:1] == ["run"]:
        from tslab_tools.commands import run  # noqa: PLC0415  # what is not asked for is not loaded

        run.become(words[1:])
    return TSLAB.main(words)


if __name__ == "__main__":
    sys.exit(main())
