"""`lab health`: does the library do on this machine what it should? Exit code 0 says yes."""

import argparse
import dataclasses
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from tslab_lab.allocators import installed
from tslab_lab.allocators.catalogue import OURS, SYSTEM
from tslab_lab.base import places, processes
from tslab_lab.base.shapes import Environment, Figures
from tslab_lab.display import layout, progress
from tslab_lab.display.progress import Bar
from tslab_lab.estimates import intervals
from tslab_lab.estimates.medians import Spread
from tslab_lab.measure import case_runner, honesty, rounds
from tslab_lab.real.programs import AnyCase
from tslab_lab.results import measures, published, standings, storage
from tslab_lab.results.marks import BUSY_SHARE
from tslab_tools import drop_in
from tslab_tools.live import report

NAME = "health"
HELP = "one command: is tslab on this machine as it should be? exit code 0 says yes"
DESCRIPTION = (
    "Checks that programs run on tslab and that their objects stay as they were written, that memory which is free goes "
    "back to the system, and that time and memory, as ratios to the C library's malloc, are no worse than recorded. "
    "Takes about a minute."
)
RECORDED = Path(__file__).with_name("health_recorded.json")
CASES = ("pair", "replace", "bulk:order=2", "app", "strings", "scopes", "threads")
ONLY_CHECKED = ("mixed-remote", "producer-consumer")  # their figures depend too much on which thread runs when
TIME_SLACK, MEMORY_SLACK = 1.3, 1.15  # times the recorded ratio: machines differ
LEAST_KIB = 2048  # a difference of memory below this is the machine's
ROUNDS = 5
# One burst, about 25 MiB, is freed: it shows no sign of reuse, so all of it goes back at once.
BURST = "burst-idle:bursts=1"
LEFT_MOST_KIB = 4 * 1024
ADVICE = (
    "The ratios were recorded on another machine: --record writes down this one's. If objects are damaged, report it."
)
ACCOUNTS_SHOWN, CLASSES_SHOWN = 5, 3
SMOKE = (  # real programs, each with the words that it must print
    (["/bin/sh", "-c", "echo shell $((6 * 7))"], "shell 42"),
    (["python3", "-c", "print(sum(len(str(i)) for i in range(200000)))"], "1088890"),
    (["perl", "-e", 'my %h; $h{$_ % 997} .= "x" for 1..200000; print scalar(keys %h), "\\n"'], "997"),
    (["git", "--version"], "git version"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    drop_in.add_option(parser)
    parser.add_argument("--record", action="store_true", help="write today's ratios down as the ones to hold")
    honesty.add_option(parser)


@dataclasses.dataclass(frozen=True)
class Finding:
    what: str
    well: bool
    text: str


class Measured(NamedTuple):
    """Of a case. `time`, `peak`: the ratios of ours to theirs."""

    time: Spread
    peak: Spread
    ours: list[Figures]
    theirs: list[Figures]


def run(arguments: argparse.Namespace) -> int:
    found, _ = installed.found([SYSTEM, OURS], arguments.library)
    if arguments.strict and (busy := honesty.busy_share()) > BUSY_SHARE:
        raise processes.Failure(f"--strict: The machine is busy: others use {busy:.0%} of its processors.")
    cases = case_runner.select([*CASES, *ONLY_CHECKED, BURST])
    runner = case_runner.Runner(cases, found, quick=True)
    with progress.Bar(len(SMOKE) + 2 * ROUNDS * len(cases), Console()) as bar:
        findings = [*smoke(installed.environment(found[OURS]), bar)]
        others = honesty.Others()
        undamaged, listed = measured(runner, cases, bar)
        findings += undamaged
        busy = others.share()
    if arguments.record:
        ratios = {
            name: {"time": round(one.time.middle, 3), "peak": round(one.peak.middle, 3)} for name, one in listed.items()
        }
        lines = (f" {json.dumps(name)}: {json.dumps(of)}" for name, of in ratios.items())
        RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        print(f"Recorded in {RECORDED}.")
    findings += judged(listed, json.loads(RECORDED.read_text()))
    findings += accounted(runner, cases[-1])
    findings += aged() if places.ROOT else ()
    return show(findings, found[OURS], busy)


def smoke(environment: Environment, bar: Bar) -> Iterator[Finding]:
    """Real programs say what they should."""
    for argv, words in SMOKE:
        bar.begin(argv[0])
        if shutil.which(argv[0]):
            who = f"{Path(argv[0]).name} on {OURS}"
            try:
                text = processes.run(argv, environment, who)
                yield Finding(who, words in text, "runs" if words in text else f"printed {text.strip()[:60]!r}")
            except processes.Failure as failure:
                yield Finding(who, False, str(failure).partition("\n")[0])
        bar.end()


def measured(
    runner: case_runner.Runner, cases: Sequence[AnyCase], bar: Bar
) -> tuple[list[Finding], dict[str, Measured]]:
    """Whether objects are damaged, and the ratios to the system's malloc, by case."""
    by_name = {case.name: case for case in cases}
    with tempfile.TemporaryDirectory(prefix="tslab-health-") as folder:
        writer = storage.Writer(Path(folder), NAME, (), (), {}, {})
        plan = dict.fromkeys(by_name, (SYSTEM, OURS))
        rounds.run(plan, ROUNDS, float("inf"), lambda case, name: runner.run(by_name[case], name), writer, bar)
        found = storage.read(folder)
    failed = {failure["case"] for failure in found.failures}
    findings = [
        Finding(f"{one['case']} on {one['allocator']}", False, one["why"].replace("\n", " ")[:200])
        for one in found.failures
    ]
    findings += [Finding(name, True, "all objects as they were written") for name in by_name if name not in failed]
    listed: dict[str, Measured] = {}
    for name, sides in standings.grid(found.runs).items():
        if name in failed or name in ONLY_CHECKED:
            continue
        theirs, ours = list(sides[SYSTEM].values()), list(sides[OURS].values())
        time, peak = (
            intervals.ratio(*([measures.told(run, figure) for run in runs] for runs in (ours, theirs)))
            for figure in (measures.time_ns, measures.peak_kib)
        )
        listed[name] = Measured(time, peak, ours, theirs)
    return findings, listed


def judged(listed: Mapping[str, Measured], recorded: Mapping[str, Mapping[str, float]]) -> Iterator[Finding]:
    """Each ratio against the recorded one, and whether a burst's memory went back."""
    for name, (time, peak, ours, theirs) in listed.items():
        if name.startswith("burst-idle"):
            left = median(run["rss_kib"] - run["base_kib"] for run in ours)
            text = f"{left / 1024:.1f} MiB are left after a burst, at most {LEFT_MOST_KIB / 1024:.0f}"
            yield Finding("memory goes back", left <= LEFT_MOST_KIB, text)
            continue
        known = recorded.get(name)
        if known is None:
            yield Finding(
                f"{name}: ratios", False, "nothing is recorded for it: say --record on a machine that is well"
            )
            continue
        most = known["time"] * TIME_SLACK
        text = f"{layout.interval_text(time)} of {SYSTEM}'s, recorded {known['time']:.2f}, at most {most:.2f}"
        yield Finding(f"{name}: time", time.ends[0] <= most, text)
        most = known["peak"] * MEMORY_SLACK
        more = median(run["peak_kib"] for run in ours) - median(run["peak_kib"] for run in theirs)
        text = f"{peak.middle:.2f} of {SYSTEM}'s, recorded {known['peak']:.2f}, at most {most:.2f}"
        yield Finding(f"{name}: peak RSS", peak.ends[0] <= most or more < LEAST_KIB, text)


def accounted(runner: case_runner.Runner, burst: AnyCase) -> Iterator[Finding]:
    """Where the memory is that is left after a burst, as the library's own statistics say: the accounts add up, and the largest
    are shown. It is a run apart from the rounds, because writing them takes time."""
    with tempfile.TemporaryDirectory(prefix="tslab-health-") as folder:
        try:
            runner.run(burst, OURS, TSLAB_STATS=f"2,{folder}/statistics")
            found = report.last_in(f"{folder}/statistics")
        except processes.Failure:
            yield Finding("accounts of memory", False, "the library does not tell them")
            return
    accounts = found["accounts"]
    kinds = {name: of for name, of in accounts.items() if isinstance(of, dict)}
    touched = {name: of["bytes"] - of["untouched_bytes"] for name, of in kinds.items()}
    largest = sorted(touched, key=touched.__getitem__, reverse=True)[:ACCOUNTS_SHOWN]
    most = ", ".join(f"{name} {touched[name] >> 10}" for name in largest)
    well = sum(of["bytes"] for of in kinds.values()) == accounts["committed_bytes"]
    in_all = f"{accounts['committed_bytes'] - accounts['untouched_bytes'] >> 10} KiB with pages: {most}"
    yield Finding("accounts of memory", well, in_all if well else "they do not add up to what is committed")
    worst = sorted(found["classes"], key=report.waste, reverse=True)[:CLASSES_SHOWN]
    classes = [f"{row['size']} bytes {report.waste(row) >> 10}" for row in worst if report.waste(row)]
    yield Finding("fragmentation", True, f"the classes that waste most, KiB: {', '.join(classes) or 'none'}")


def aged() -> Iterator[Finding]:
    """Whether the engine has gone on for too long since a page of docs/results was measured."""
    for age in published.ages():
        yield Finding(f"docs/results/{age.page}.md", age.well, str(age))


def show(findings: Sequence[Finding], library: installed.Library, busy: float) -> int:
    console = Console()
    console.print(f"{library.path} {library.version}", markup=False, highlight=False, soft_wrap=True)
    for finding in findings:
        word = Text("ok  ", "green") if finding.well else Text("BAD ", "bold red")
        console.print(word + Text(f" {finding.what}: {finding.text}"), soft_wrap=True)
    bad = [finding for finding in findings if not finding.well]
    if busy > BUSY_SHARE:
        print(
            f"Note: The machine was busy: others used {busy:.0%} of its processors. A time that is bad may be theirs."
        )
    if bad:
        print(f"{len(bad)} of {len(findings)} checks failed.")
        print(ADVICE, file=sys.stderr)
        return 1
    print(f"{len(findings)} checks passed.")
    return 0
