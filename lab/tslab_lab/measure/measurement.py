"""What the sub-commands share that measure: their options, the run in rounds into a folder of results, and the words
that belong to all results."""

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from tslab_lab.allocators import installed, sides
from tslab_lab.allocators.catalogue import ALLOCATORS
from tslab_lab.base import machine, processes
from tslab_lab.base.shapes import Record
from tslab_lab.display import progress
from tslab_lab.measure import case_runner, honesty, rounds
from tslab_lab.real.programs import AnyCase
from tslab_lab.results import marks, storage
from tslab_lab.results.storage import Results

ROUNDS = (10, 5)  # and with --quick
ROUNDS_MOST = 1000
FLEETBENCH = "FLEETBENCH"  # how the workload is told where its files are


def add_options(
    parser: argparse.ArgumentParser,
    seconds: float,
    rounds: tuple[object, object] = ROUNDS,
    allocators: Sequence[str] = ("all",),
) -> None:
    """`allocators`: those that take part if none are named; none: they are not named in this way."""
    add = parser.add_argument
    if allocators:
        sides.add_option(parser, allocators)
    add("--rounds", type=int, help=f"each runs everything once (default: {rounds[0]}; with --quick: {rounds[1]})")
    add("--seconds", type=float, default=seconds, help="start no round that would end later (default: %(default)s)")
    add("--quick", action="store_true", help="little work in each run: to look at, not to quote")
    add("--output", type=Path, metavar="DIR", help="where the results go (default: a new folder below tslab-runs)")
    honesty.add_option(parser)
    add_fleetbench(parser)


def add_littered(parser: argparse.ArgumentParser) -> None:
    text = "before each program begins, make 22 MB of objects and free 19 of 20: no heap is fresh"
    parser.add_argument("--littered", action="store_true", help=text)


class _Fleetbench(argparse.Action):
    """The workload is told by its environment, as all programs are that are started from here."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        del option_string
        if not (values / "TCMALLOC_0.csv").is_file():
            parser.error(f"--fleetbench: there is no TCMALLOC_0.csv in {values}")
        os.environ[FLEETBENCH] = str(values.absolute())
        setattr(namespace, self.dest, values)


def add_fleetbench(parser: argparse.ArgumentParser) -> None:
    text = "Fleetbench's distributions (TCMALLOC_0.csv ...), for the workload fleet"
    parser.add_argument("--fleetbench", type=Path, action=_Fleetbench, metavar="DIR", help=text)


def add_page(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables as a page")


def require_writable(arguments: argparse.Namespace) -> None:
    file = arguments.markdown
    if file and not os.access(file.absolute().parent, os.W_OK):
        arguments.error(f"cannot write {file}: there is no such directory, or it is not yours")


def rounds_wanted(arguments: argparse.Namespace, defaults: tuple[int, int] = ROUNDS) -> int:
    wanted: int = arguments.rounds if arguments.rounds is not None else defaults[arguments.quick]
    if not 1 <= wanted <= ROUNDS_MOST:
        arguments.error(f"--rounds must be at least 1 and at most {ROUNDS_MOST}")
    return wanted


def folder_of(command: str, arguments: argparse.Namespace) -> Path:
    """Where the results will be; a command that puts files of its own there asks first."""
    folder = arguments.output = storage.new_folder(command, arguments.output)
    return folder


def begun(
    command: str,
    arguments: argparse.Namespace,
    wanted: int,
    found: dict[str, installed.Library],
    facts: Mapping[str, Record],
    settings: Mapping[str, Any] | None = None,
) -> storage.Writer:
    """The file of results, with its header. With --strict, what makes figures doubtful is refused."""
    folder = folder_of(command, arguments)
    ours = any(installed.is_built_here(library) for library in found.values())
    marked = honesty.marks(wanted, ours, arguments.strict, getattr(arguments, "quick", False))
    marked += [marks.LITTERED] if getattr(arguments, "littered", False) else []
    return storage.Writer(folder, command, typed(), marked, installed.as_facts(found), facts, settings)


def read_back(folder: Path, interrupted: bool) -> Results:
    """With one run at least."""
    results = storage.read(folder)
    if not results.runs:
        if interrupted:
            raise KeyboardInterrupt
        for failure in results.failures:
            print(f"lab: {failure['case']} fails on {failure['allocator']}: {failure['why']}", file=sys.stderr)
        raise processes.Failure(f"No run was complete. The results so far are in {results.path}.")
    return results


def measured(
    command: str,
    arguments: argparse.Namespace,
    wanted: int,
    plan: rounds.Plan,
    measure: rounds.Measure,
    found: dict[str, installed.Library],
    facts: Mapping[str, Record],
    settings: Mapping[str, Any] | None = None,
    seconds: float | None = None,
) -> tuple[Results, bool]:
    """Runs `plan` (of rounds.run) in `wanted` rounds, and returns the results, with one run at least, and whether the user interrupted it.
    `found`: the libraries by the names in the plan; `facts`: of each case; `settings`: what readers of the results must know of the command's options;
    `seconds`: in place of the option."""
    writer = begun(command, arguments, wanted, found, facts, settings)
    interrupted = False
    try:
        with contextlib.closing(writer), progress.Bar(wanted * sum(map(len, plan.values())), Console()) as bar:
            rounds.run(plan, wanted, seconds or arguments.seconds, measure, writer, bar, arguments.strict)
    except rounds.Interrupted:
        interrupted = True
    return read_back(writer.folder, interrupted), interrupted


def run(
    command: str,
    arguments: argparse.Namespace,
    cases: Sequence[AnyCase],
    found: dict[str, installed.Library],
    latency: bool = False,
    settings: Mapping[str, Any] | None = None,
) -> tuple[Results, bool]:
    """Measures cases of `lab bench` on these libraries."""
    wanted = rounds_wanted(arguments)
    runner = case_runner.Runner(cases, found, arguments.quick, latency, getattr(arguments, "littered", False))
    names, by_name = list(found), {case.name: case for case in cases}
    return measured(
        command,
        arguments,
        wanted,
        dict.fromkeys(by_name, names),
        lambda case, name: runner.run(by_name[case], name),
        found,
        {case.name: runner.facts(case) for case in cases},
        settings,
    )


def typed() -> list[str]:
    """The words of the command but for folders of this machine, which say nothing of the results."""
    words, told = sys.argv[2:], ("--output", "--fleetbench")
    return [word for before, word in zip(["", *words], words) if before not in told and word not in told]


def remarks(found: Results, intervals: bool = True) -> Iterator[str]:
    """What makes the figures less than they could be, in sentences. `intervals`: they are shown."""
    for mark in marks.of(found, intervals):
        yield f"Note: {mark}"
    for failure in found.failures:
        first, *words = failure["why"].splitlines()
        last = f" ({words[-1].strip(' |')})" if words else ""
        yield f"{failure['allocator']} takes no part in {failure['case']}: {first.removesuffix(' Its last words:')}{last}"


def _dated(name: str, facts: Record) -> str:
    """The version and its day, which results that are older than the catalogue's may lack."""
    version: str = facts["version"]
    known = ALLOCATORS.get(name.partition("@")[0])
    day = facts.get("released") or (known.released if known and known.version == version else "")
    return f"{version} ({day})" if day else version


def setting(found: Results) -> list[tuple[str, str]]:
    every = found.header["allocators"]
    versions = {
        facts.get("allocator", name): _dated(facts.get("allocator", name), facts) for name, facts in every.items()
    }
    load = found.footer["load_at_end"] if found.footer else float("nan")
    return list(machine.setting(found.header["machine"], load, machine.versions(versions)))


def end(found: Results, interrupted: bool, code: int = 0) -> int:
    """The last words, and the exit code."""
    print(f"Results: {found.path}\nA page of them: lab/lab report {found.path.parent}", flush=True)
    if interrupted:
        print("lab: interrupted; what was complete is shown", file=sys.stderr)
        return 130
    return code
