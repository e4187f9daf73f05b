"""The command `tslab`: runs programs on tslab, and measures any program and workload against other allocators."""

import argparse
import importlib
import signal
import sys

try:
    import rich  # noqa: F401  # every table and every bar needs it
except ImportError:
    sys.exit("tslab: Python's rich is not installed. Run `make setup`, or: apt-get install python3-rich")

from tslab_lab.base import processes

COMMANDS = ("run", "top", "stat", "export", "peers", "bench", "rss", "latency", "ab", "health", "boundaries")
COMMANDS += ("report", "requests", "epochs", "demo", "variants", "timeline", "profile", "campaign")
EXAMPLES = """examples:
  tslab run --stats -- redis-server        a program on tslab, its statistics at the end
  tslab run --export 1 -- redis-server     a program whose memory `tslab top` and `tslab export` show
  tslab peers install                      the other allocators
  tslab bench --quick                      all of them, on a dozen workloads, in minutes
  tslab rss -- python3 job.py              memory over time, on every allocator
  tslab report last                        one HTML page of what was measured last
"""


def parser(names=COMMANDS):
    """Each sub-command is a module: HELP, DESCRIPTION, add_arguments(parser), run(arguments) -> exit code."""
    result = argparse.ArgumentParser(
        prog="tslab", description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = result.add_subparsers(metavar="COMMAND", required=True)
    for name in names:
        module = importlib.import_module(f"tslab_lab.commands.{name}")
        command = commands.add_parser(name, help=module.HELP, description=module.DESCRIPTION)
        module.add_arguments(command)
        trouble = getattr(module, "TROUBLE", 1)  # the exit code where nothing was measured
        command.set_defaults(run=module.run, error=command.error, command=name, trouble=trouble)
    return result


def _interrupted(*_):
    raise KeyboardInterrupt


def main(argv=None):
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # a terminal without UTF-8 shows '?' instead of lines and dots
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup leaves it
            signal.signal(number, _interrupted)
    words = sys.argv[1:] if argv is None else argv
    named = words[:1] if words and words[0] in COMMANDS else COMMANDS  # what is not asked for is not loaded
    arguments = parser(named).parse_args(words)
    try:
        return arguments.run(arguments)
    except (processes.Failure, OSError) as failure:
        print(f"tslab: {failure}", file=sys.stderr)
        return arguments.trouble
    except KeyboardInterrupt:
        print("tslab: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
