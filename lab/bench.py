"""Compares tslab with the allocators that Debian offers, pattern by pattern. `make bench` calls it."""

import sys

sys.dont_write_bytecode = True  # it leaves nothing behind but what it built

import argparse
import contextlib
import fnmatch
import json
import os
import platform
import random
import shlex
import signal
import subprocess
import time
from pathlib import Path

try:
    from rich.console import Console
except ImportError:
    sys.exit("bench: Python's rich is not installed. Run `make setup`, or: apt-get install python3-rich")

import bench_cases
import bench_statistics as statistics
import bench_tables as tables
import demo
import machine
import programs
import work_churn

ROOT = Path(__file__).resolve().parent.parent
PATTERNS = ROOT / "lab/patterns"
BUILT = ROOT / "build/lab/patterns"
SYSTEM, OURS, BASE = "glibc", "tslab", "base"
PEERS = {  # by name: the library, and the package of Debian that has it
    "jemalloc": ("libjemalloc.so.2", "libjemalloc2"),
    "tcmalloc": ("libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"),
    "mimalloc": ("libmimalloc.so.2", "libmimalloc2.0"),
}
ALLOCATORS = (SYSTEM, *PEERS, OURS)
FEW_ROUNDS = 6  # fewer medians to draw from give an interval that is too narrow to be true
BUSY = 0.5  # a load above this at the start is told


def words(text):
    return [word for word in text.split(",") if word]


def parse_arguments(argv):
    parser = argparse.ArgumentParser(prog="bench.py", description=__doc__)
    add = parser.add_argument
    add("--rounds", type=int, help="each runs every case once on every allocator (default: 10)")
    add("--seconds", type=float, default=900, help="start no round that would end later (default: %(default)s)")
    add("--allocators", type=words, default=ALLOCATORS, metavar="A,B", help="some of: " + ",".join(ALLOCATORS))
    add("--patterns", type=words, default=["*"], metavar="GLOB,GLOB", help="some of the cases, as 'replace*,remote-2*'")
    add("--quick", action="store_true", help="little work, two rounds: shows that it runs, and no more")
    add("--library", type=Path, default=demo.LIBRARY, metavar="PATH", help="tslab's drop-in (default: %(default)s)")
    add("--baseline", type=Path, metavar="PATH", help=f"another build of it, to be compared with it as '{BASE}'")
    add("--json", type=Path, metavar="FILE", help="write the figures of every run, and the machine's, to a file")
    add("--markdown", type=Path, metavar="FILE", help="write the tables as a page for docs/results")
    add("--check", action="store_true", help="exit with 1 where a limit is missed")
    add("--list", action="store_true", help="list the cases, and run nothing")
    arguments = parser.parse_args(argv)
    arguments.rounds = arguments.rounds or (2 if arguments.quick else 10)
    if arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    unknown = set(arguments.allocators) - set(ALLOCATORS)
    if unknown:
        parser.error(f"--allocators: there is no {', '.join(sorted(unknown))}")
    arguments.cases = chosen_cases(arguments.patterns)
    if not arguments.cases:
        parser.error("--patterns: no case has such a name; --list shows them")
    for file in filter(None, (arguments.json, arguments.markdown)):
        if not os.access(file.absolute().parent, os.W_OK):
            parser.error(f"cannot write {file}: there is no such directory, or it is not yours")
    return arguments


def chosen_cases(globs):
    return [case for case in bench_cases.CASES if any(fnmatch.fnmatchcase(case.name, glob) for glob in globs)]


def peer_path(library):
    for directory in (f"/usr/lib/{platform.machine()}-linux-gnu", "/usr/lib64", "/usr/lib"):
        path = Path(directory) / library
        if path.is_file():
            return path
    return None


def find_allocators(wanted, library, baseline):
    """The library to preload for each allocator (None for the system's), and those that are not installed."""
    found, missing = {}, []
    for name in wanted:
        if name == SYSTEM:
            found[name] = None
        elif name == OURS:
            found[name] = demo.checked_library(library)
        elif path := peer_path(PEERS[name][0]):
            found[name] = path
        else:
            missing.append(name)
    if baseline:
        found[BASE] = demo.checked_library(baseline)
    return found, missing


def check_allocators(found, probe):
    """The environment for each allocator, proven to give a pattern the malloc that is wanted."""
    environments = {}
    for name, path in found.items():
        environments[name] = programs.environment(path)
        if path:
            programs.require_served_by(path, probe, "a pattern", environments[name])
        elif not programs.is_libc(programs.allocator_of(probe, environments[name], f"a pattern on {name}")):
            raise programs.Failure("The patterns do not run on libc's malloc although nothing is preloaded.")
    return environments


def build(cases, compiler):
    """Compiles what is missing, or older than its source or a header."""
    headers = max(header.stat().st_mtime for header in PATTERNS.glob("*.h"))
    for program in {case.program for case in cases}:
        target = BUILT / program
        if target.exists() and target.stat().st_mtime < headers:
            target.unlink()
        work_churn.build(PATTERNS / f"{program}.c", target, compiler)


class Plain:
    """Progress for a pipe or a file: a line for each round."""

    def __init__(self, total):
        del total
        self._start = time.monotonic()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def begin(self, what):
        pass

    def end(self, _):
        pass

    def round_done(self, number, rounds):
        print(f"round {number} of {rounds}: {time.monotonic() - self._start:.0f} s, load {os.getloadavg()[0]:.2f}")
        sys.stdout.flush()


class Live(demo.Live):
    def round_done(self, number, rounds):
        pass


def run_once(case, environment, quick, who):
    text = programs.run(case.argv(BUILT, quick), environment, who)
    try:
        return json.loads(text)
    except ValueError:
        raise programs.Failure(f"{who} gave no figures to read:\n{text.strip()}") from None


def run_rounds(outcomes, environments, arguments, progress):
    """Every round runs all cases in a new random order, and each on all allocators one after another, in random order,
    too. Returns how many rounds there was time for."""
    start = time.monotonic()
    for number in range(1, arguments.rounds + 1):
        for outcome in random.sample(outcomes, len(outcomes)):
            for name in random.sample(list(environments), len(environments)):
                who = f"{outcome.case.name} on {name}"
                progress.begin(f"round {number}: {who}")
                run = run_once(outcome.case, environments[name], arguments.quick, who)
                outcome.add(name, run | {"round": number, "at_seconds": round(time.monotonic() - start, 3)})
                progress.end(run)
            different = statistics.hashes_differ(outcome)
            if different:
                raise programs.Failure(f"{outcome.case.name}: the work was not the same everywhere: {different}")
        progress.round_done(number, arguments.rounds)
        spent = time.monotonic() - start
        if spent + spent / number > arguments.seconds:
            return number
    return arguments.rounds


def package_versions(names):
    packages = [PEERS[name][1] for name in names if name in PEERS]
    if not packages:
        return ""
    argv = ["dpkg-query", "-W", "-f", "${Package} ${Version}, ", *packages]
    with contextlib.suppress(OSError):
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        return done.stdout.strip(", ")
    return ""


def notes(rounds, arguments, facts, missing):
    """What the tables must be read with."""
    yield (
        f"Medians of {rounds} rounds, all in random order. Ratios are taken round by round: median (95 % bootstrap "
        "interval). A limit is met when the better end of the interval reaches it. One thread: its processor time; "
        "several: wall clock; both inside of the program, after a warm-up. Peak RSS is VmHWM, all of the process. All "
        "objects are written and checked at both ends."
    )
    yield (
        f"Peak RSS: at most {bench_cases.LEANEST_LIMIT:g} times the leanest peer but {SYSTEM}, and at most "
        f"{bench_cases.GLIBC_LIMIT:g} times {SYSTEM}, or 1 MiB more. RSS / live: without what the process weighs "
        f"before it allocates; at most {bench_cases.LIVE_LIMIT:g} in free-only. A step to a neighbouring size: at most "
        f"{bench_cases.STEP_LIMIT:g} times, either way."
    )
    for name in missing:
        yield f"{name} did not take part: its package, {PEERS[name][1]}, is not installed."
    if rounds < FEW_ROUNDS:
        yield "So few rounds give no intervals to rely on."
    if arguments.quick:
        yield "This was --quick: too little work for figures to quote."
    elif rounds < arguments.rounds:
        yield f"There was time for {rounds} of {arguments.rounds} rounds only."
    if facts["load_at_start"] > BUSY:
        load = f"{facts['load_at_start']:.2f}"
        yield f"The machine was busy: its load was {load} at the start. Do not quote these figures."


def setting(facts, names):
    yield "machine", f"{facts['cpus']} CPUs, {facts['cpu']}, {facts['memory_kib'] / 1024**2:.0f} GiB"
    yield "system", f"Linux {facts['kernel'].partition('-')[0]}, {facts['libc']}, THP {facts['thp']}"
    yield "compiler", facts["compiler"]
    yield "peers", package_versions(names) or "-"
    yield "tslab", f"{facts['commit'] or 'no commit'}" + "".join(f", {k}={v}" for k, v in facts["options"].items())
    yield "load", f"{facts['load_at_start']:.2f} at the start, {facts['load_at_end']:.2f} at the end (runs included)"


def write_json(path, facts, found, outcomes):
    cases = {
        outcome.case.name: {
            "group": outcome.case.group,
            "arguments": [outcome.case.operations, *outcome.case.arguments],
            "hash": next(iter(outcome.runs.values()))[0]["hash"],
            "runs": outcome.runs,
        }
        for outcome in outcomes
    }
    libraries = {name: str(library) if library else None for name, library in found.items()}
    document = {"format": 1, "machine": facts, "libraries": libraries, "cases": cases}
    path.write_text(json.dumps(document, indent=1) + "\n")


def show(console, outcomes, names, base, facts, paragraphs):
    def say(*lines):
        console.print(*lines, sep="\n", width=tables.WIDTH, markup=False, highlight=False)

    for table in tables.all_tables(outcomes, names, OURS, SYSTEM, base):
        say("", table.title)
        console.print(table.rich())
    say("", *paragraphs)
    say(*(f"{name}: {text}" for name, text in setting(facts, names)))
    hashes = sorted({run["hash"] for outcome in outcomes for runs in outcome.runs.values() for run in runs})
    say(f"work: the same on all allocators in each of {len(outcomes)} cases (together {fold(hashes)})", "")


def fold(hashes):
    """One number for the work of all cases, to be compared between two runs of the bench."""
    return f"{sum(int(text, 16) for text in hashes) % 2**64:016x}"


def bench(arguments):
    console = Console()
    console.width = max(console.width, tables.WIDTH)
    found, missing = find_allocators(arguments.allocators, arguments.library, arguments.baseline)
    for name in missing:
        print(f"bench: {name} is left out; to install it: apt-get install {PEERS[name][1]}", file=sys.stderr)
    compiler = shlex.split(os.environ.get("CC", "cc"))
    facts = machine.facts(ROOT, compiler[0])
    build(arguments.cases, compiler)
    environments = check_allocators(found, arguments.cases[0].argv(BUILT, quick=True))

    base = BASE if arguments.baseline and OURS in found else None
    outcomes = [statistics.Outcome(case, OURS, base, SYSTEM) for case in arguments.cases]
    total = arguments.rounds * len(outcomes) * len(found)
    with Live(total, console) if console.is_terminal else Plain(total) as progress:
        rounds = run_rounds(outcomes, environments, arguments, progress)
    facts["load_at_end"] = os.getloadavg()[0]

    names = [name for name in found if name != BASE]
    paragraphs = list(notes(rounds, arguments, facts, missing))
    show(console, outcomes, names, base, facts, paragraphs)
    if arguments.json:
        write_json(arguments.json, facts, found, outcomes)
    if arguments.markdown:
        page = tables.markdown_page(outcomes, names, OURS, SYSTEM, base, setting(facts, names), paragraphs)
        arguments.markdown.write_text(page)
    missed = list(tables.misses(outcomes, OURS))
    for line in missed:
        print(f"missed: {line}", flush=True)
    return 1 if missed and arguments.check else 0


def main():
    sys.stdout.reconfigure(errors="replace")  # a terminal without UTF-8 shows '?' instead of lines and dots
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, demo.interrupted)
    arguments = parse_arguments(sys.argv[1:])
    if arguments.list:
        print(*(case.name for case in arguments.cases), sep="\n")
        return 0
    try:
        return bench(arguments)
    except (programs.Failure, OSError) as failure:
        print(f"bench: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("bench: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
