"""`tslab doctor`: why the RSS of a process is what it is, and the cure."""

import argparse
import json
import textwrap
import time
from pathlib import Path

from rich.text import Text

from tslab_tools import terminal
from tslab_tools.doctor import evidence, rules
from tslab_tools.failure import Failure
from tslab_tools.live import processes, report
from tslab_tools.profiles import asking
from tslab_tools.values import process, seconds

HELP = "why the RSS of a process is what it is, and the cure"
DESCRIPTION = """Says in at most three sentences why the RSS of a process is what it is, and what to do about it. Of a
process that runs with TSLAB_EXPORT=1 it takes two looks, and sees what grows. Give a FILE that a program has written
with TSLAB_BLACKBOX=DIR or TSLAB_STATS=2 for one that has ended. With a heap profile it names the places in the
program: a process that takes samples (TSLAB_PROFILE=512K) is asked for one."""
SCHEMA, VERSION = "tslab-doctor", 1
TOLD_MOST = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("what", metavar="PID|FILE", help="a process, or a report as JSON")
    add("profile", nargs="?", type=Path, metavar="PROFILE", help="a heap profile of that process")
    add("--watch", type=seconds(0), default=2.0, metavar="SECONDS", help="between the two looks (default: 2)")
    add("--json", action="store_true", help="JSON, on one line: all that was found")


def _look(watched: processes.Watched, file: Path | None, before: evidence.Evidence | None) -> evidence.Evidence:
    found = watched.look()
    watched.require(found)
    result = evidence.of_process(found[0])
    result.before = before
    if file:
        result.profile = evidence.of_profile(file, found[0].inner_pid) if before else None
    elif before and before.profile is None:
        result.why_no_profile = before.why_no_profile
    else:
        try:
            result.profile = evidence.of_profile(asking.ask(found[0].pid).file, found[0].inner_pid, found[0].pid)
        except Failure as why:
            result.why_no_profile = str(why)
    return result


def examine(arguments: argparse.Namespace) -> evidence.Evidence:
    file: Path | None = arguments.profile
    pid = process(arguments.what)
    if pid is None:
        result = evidence.of_file(arguments.what)
        result.profile = evidence.of_profile(file, result.pid) if file else result.profile
        return result
    with processes.Watched([pid]) as watched:
        before = _look(watched, file, None)
        time.sleep(arguments.watch)
        return _look(watched, file, before)


def _head(of: evidence.Evidence) -> str:
    peak = max(of.rss, of.figures["peak_rss_bytes"])
    return f"{of.program}, process {of.pid}: RSS {terminal.size(of.rss)}, at most {terminal.size(peak)}"


def _rest(of: evidence.Evidence, told: list[rules.Finding]) -> str:
    """What the sentences do not tell."""
    missing = rules.unexplained(of)
    text = f"The figures explain {rules.percent(min(1.0, 1 - of.part(missing)))} of the RSS"
    if missing > rules.MUCH * of.rss:
        text += f"; what the other {terminal.size(missing)} are, they do not tell"
    terms = {term: of.figures[term] for term in processes.TERMS} | {rules.Others.term: rules.Others().bytes(of)}
    if any(isinstance(finding.rule, rules.Draining) for finding in told):  # that has told of it
        terms["metadata"] -= min(terms["metadata"], of.has("code_table"))
    left = [f"{term} {terminal.size(held)}" for term, held in terms.items() if held and term not in _terms(told)]
    return f"{text}. Besides: {', '.join(left)}." if left else f"{text}."


def _terms(told: list[rules.Finding]) -> set[str]:
    return {finding.rule.term for finding in told}


def _print(of: evidence.Evidence, found: list[rules.Finding]) -> None:
    console = terminal.console()
    told = found[:TOLD_MOST]

    def say(text: str, style: str = "", first: str = "") -> None:
        rest = " " * len(first)
        lines = textwrap.wrap(terminal.plain_text(text), console.width, initial_indent=first, subsequent_indent=rest)
        console.print(Text("\n".join(lines), style))

    say(_head(of), "bold")
    if rules.is_well(found):
        console.print()
        say("Nothing is wrong.", "green")
    for number, finding in enumerate(told, 1):
        console.print()
        say(finding.says, first=f"{number}. ")
        for held, what in finding.rows:
            say(what, first=f"{terminal.size(held):>14}  ")
        if finding.cure:
            say(f"Cure: {finding.cure}", "green", first="   ")
    console.print()
    say(_rest(of, told))
    if of.profile is None and not rules.is_well(found) and any(finding.rule.has_sites for finding in told):
        say(f"A heap profile would name the places in the program: {of.why_no_profile}")


def _document(of: evidence.Evidence, found: list[rules.Finding]) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "pid": of.pid,
        "program": of.program,
        "rss_bytes": of.rss,
        "watched_ms": round(of.seconds * 1000),
        "is_well": rules.is_well(found),
        "has_profile": of.profile is not None,
        "unexplained_bytes": rules.unexplained(of),
        "findings": [
            {
                "name": finding.name,
                "bytes": finding.bytes,
                "says": finding.says,
                "cure": finding.cure,
                "rows": [{"bytes": round(held), "what": what} for held, what in finding.rows],
            }
            for finding in found
        ],
    }


def _diagnosed(arguments: argparse.Namespace) -> tuple[evidence.Evidence, list[rules.Finding]]:
    try:
        of = examine(arguments)
        return of, rules.diagnose(of)
    except report.WRONG as problem:
        if process(arguments.what) is not None:
            raise
        raise Failure(f"{arguments.what}: the report lacks what reports have: {problem}") from problem


def run(arguments: argparse.Namespace) -> int:
    of, found = _diagnosed(arguments)
    if arguments.json:
        print(json.dumps(_document(of, found)))
    else:
        _print(of, found)
    return 0
