"""Runs a program on the drop-in of this package."""

import argparse
import os
import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent


def environment(arguments):
    library = HERE / f"libtslab-malloc{'-checked' if arguments.checked else ''}.so"
    if not library.exists():
        sys.exit(f"tslab: there is no {library}")
    if set(str(library)) & set(" :$"):
        sys.exit(f"tslab: LD_PRELOAD cannot name {library}: the path must have no space, colon or dollar sign")
    preloaded = os.environ.get("LD_PRELOAD")
    changed = {"LD_PRELOAD": f"{library}:{preloaded}" if preloaded else str(library)}
    if arguments.objects:
        changed["PYTHONMALLOC"] = "malloc"
    if arguments.policy:
        changed["TSLAB_EPOCH_POLICY"] = arguments.policy
    if arguments.stats:
        changed["TSLAB_STATS"] = "1"
    return {**os.environ, **changed}


def run(arguments):
    # An argument of argparse.REMAINDER keeps the -- before it.
    words = arguments.program[1:] if arguments.program[:1] == ["--"] else arguments.program
    if not words:
        sys.exit("tslab: name a program: python -m tslab run PROGRAM [ARGUMENT...]")
    program = shutil.which(words[0])
    if program is None:
        print(f"tslab: there is no program {words[0]}", file=sys.stderr)
        sys.exit(127)
    os.execve(program, words, environment(arguments))


def main():
    parser = argparse.ArgumentParser(prog="python -m tslab", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    runs = commands.add_parser("run", help="run a program on tslab", description=__doc__)
    runs.add_argument("--checked", action="store_true", help="end it at double frees, overflows, writes after free")
    runs.add_argument("--objects", action="store_true", help="Python's objects of up to 512 bytes, too (PYTHONMALLOC=malloc)")
    runs.add_argument("--policy", help="what units of work mean: per-request, batch-N, interval-MS, manual or never")
    runs.add_argument("--stats", action="store_true", help="print statistics to stderr when it exits")
    runs.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM [ARGUMENT...]")
    runs.set_defaults(does=run)
    arguments = parser.parse_args()
    arguments.does(arguments)


main()
