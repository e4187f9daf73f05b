"""`lab ab`: A against B, with A against itself for the noise, and a verdict that is also the exit code."""

import argparse
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from tslab_lab.allocators import sides
from tslab_lab.allocators.sides import AGAIN, A, B
from tslab_lab.base import processes
from tslab_lab.display import layout
from tslab_lab.display.layout import Part, counted, three_digits
from tslab_lab.estimates import randomisation
from tslab_lab.estimates.randomisation import Judged
from tslab_lab.measure import case_runner, measurement
from tslab_lab.real.programs import AnyCase
from tslab_lab.report import plots, render, tables
from tslab_lab.report.render import Picture, Report
from tslab_lab.results import comparison
from tslab_lab.results.comparison import Comparison
from tslab_lab.results.storage import Results
from tslab_tools import drop_in

NAME = "ab"
HELP = "A against B: builds, options or allocators; GO, NO-GO, NO DIFFERENCE or UNDECIDED"
DESCRIPTION = (
    "Compares B with A. Each is an allocator (`lab peers` shows them), a library by its path, or one with options: "
    f"{sides.EXAMPLE}, PATH@epoch_policy=never,retain_bytes=8M, mimalloc3@MIMALLOC_PURGE_DELAY=0. Each round runs "
    "every workload on A, on B, and on A again, in random order: what A's two runs differ by is noise. B is reported as "
    "better or worse only where chance is no explanation, all rows considered."
)
VERDICTS = """verdict and exit code:
  0  GO             B is better somewhere, and worse nowhere
  1  NO-GO          B is worse somewhere, or cannot run what A runs
  2                 nothing was measured: wrong arguments, or an error
  3  NO DIFFERENCE  none is shown; the smallest that would have been is told
  4  UNDECIDED      none is shown, and some rows could not have shown any: too
                    few rounds were done, or the noise is too great
"""
TROUBLE = 2
LONG, QUICK = 10, 7
TITLES = {
    "time": "Time of an operation (of a program: all of it)",
    "peak RSS": "Peak RSS, MiB",
    "RSS after": "RSS after, MiB",
}
ROWS_SHOWN = 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog, parser.formatter_class = VERDICTS, argparse.RawDescriptionHelpFormatter
    parser.description = textwrap.fill(DESCRIPTION, 78)
    add = parser.add_argument
    add("a", metavar="A", help="what there is")
    add("b", metavar="B", help="the candidate")
    add("workloads", nargs="*", metavar="WORKLOAD", help="what to run (default: the set standard; with --quick: quick)")
    add("--least-effect", type=float, default=1.0, metavar="PERCENT", help="what is less does not count (default: 1)")
    measurement.add_options(parser, seconds=3600, rounds=(LONG, QUICK), allocators=())
    drop_in.add_option(parser)
    measurement.add_littered(parser)
    parser.set_defaults(more="workloads")
    measurement.add_page(parser)
    add("--question", metavar="TEXT", help="the question that the page answers")


def run(arguments: argparse.Namespace) -> int:
    if not 0 <= arguments.least_effect < 100:
        arguments.error("--least-effect must be a percentage from 0 to 100")
    measurement.require_writable(arguments)
    cases = case_runner.select(arguments.workloads or ["quick" if arguments.quick else "standard"])
    arguments.rounds = rounds_wanted(arguments, cases)
    a, b = (sides.side(word, arguments.library) for word in (arguments.a, arguments.b))
    three = {A: a, B: b, AGAIN: replace(a, title=f"{a.title}, again")}
    settings = {"least_effect": arguments.least_effect / 100, "question": arguments.question}
    found, interrupted = measurement.run(NAME, arguments, cases, three, settings=settings)
    compared = comparison.of(found, settings["least_effect"])
    if not compared.judged:
        raise processes.Failure(f"No round was complete. The results so far are in {found.path}.")
    return render.finish(arguments, found, report(found), interrupted, randomisation.EXIT_CODES[compared.verdict])


def rounds_wanted(arguments: argparse.Namespace, cases: Sequence[AnyCase]) -> int:
    """Fewer rounds than could ever decide are refused before anything runs."""
    rows = len(comparison.FIGURES) * len(cases)
    fewest = randomisation.fewest_rounds(rows)
    if arguments.rounds is None:
        return max(fewest, QUICK if arguments.quick else LONG)
    wanted = measurement.rounds_wanted(arguments)
    if wanted < fewest:
        arguments.error(
            f"--rounds {wanted} cannot decide: a difference in one of {rows} rows could not be shown, however large it "
            f"is. It takes {fewest} rounds, or fewer workloads."
        )
    return wanted


def report(found: Results) -> Report:
    """A question that begins with "what" has no verdict, but ranges: what B costs."""
    settings, facts = found.header["settings"], found.header["allocators"]
    compared = comparison.of(found, settings["least_effect"])
    a, b = (facts[name]["title"] for name in (A, B))
    short = [
        f"{path if '=' in path else path.rpartition('/')[2]}{at}{rest}"
        for path, at, rest in (a.partition("@"), b.partition("@"))
    ]
    question = settings.get("question") or question_in(found) or f"is `{b}` (B) better than `{a}` (A)?"
    is_cost = question.startswith("what ")
    verdict = f"*Verdict*: **{compared.verdict}**. {' '.join(words(compared))}"
    answer = [layout.bullets(cost(found, compared))] if is_cost else [f"*Question*: {question}", verdict]
    answer += [] if is_cost else [f"*{name}*: {text}" for name, text in sides_of(found)]
    chosen = compared.deciding or sorted(compared.judged, key=lambda one: one.chance)[:ROWS_SHOWN]
    what = "The rows that decide" if compared.deciding else "The rows that are furthest from chance"
    groups = {figure: [one for one in compared.judged if one.row.figure == figure] for figure in TITLES}
    full = [tables.judged(TITLES[figure], some, True) for figure, some in groups.items() if some]
    deciding: list[Part] = (
        [tables.judged("What decides", compared.deciding, True, True)] if compared.deciding and not is_cost else []
    )
    rows = {
        f"{one.row.case}: {one.row.figure}": {B: one.row.interval, AGAIN: one.row.noise} for one in chosen[:ROWS_SHOWN]
    }
    picture = Picture(
        "", what, f"{what}: B / A, and A against itself", lambda: plots.ratios(rows, [B, AGAIN], A, "B and A again")
    )
    notes = [
        *sensitivity(compared),
        *(
            ["A and B are the same library with the same options: a difference would be a false one."]
            if same(found)
            else []
        ),
    ]
    notes += [*measurement.remarks(found), *how(compared, settings["least_effect"])]
    return Report(
        title=f"The cost of {short[1]}, beside {short[0]}" if is_cost else f"{short[1]} against {short[0]}",
        answer=answer, pictures=[picture], body=[*deciding, *full], full=full, notes=notes, leading=0, keeps_tables=False,
        setting=[line for line in measurement.setting(found) if line[0] != "peers"],
    )  # fmt: skip


def question_in(found: Results) -> str:
    """As it was typed: older results have it nowhere else."""
    typed = found.header["arguments"]
    return str(typed[typed.index("--question") + 1]) if "--question" in typed else ""


def same(found: Results) -> bool:
    """Whether nothing distinguishes A from B."""
    a, b = (found.header["allocators"][name] for name in (A, B))
    return (a.get("sha256"), a.get("environment")) == (b.get("sha256"), b.get("environment"))


def sides_of(found: Results) -> Iterator[tuple[str, str]]:
    """What A and B are: pairs of a name and a text."""
    for name in (A, B):
        facts = found.header["allocators"][name]
        sha256 = facts.get("sha256")
        yield name, f"{facts['title']} (version {facts['version']}{f', sha256 {sha256[:12]}' if sha256 else ''})"


def how(compared: Comparison, least_effect: float) -> Iterator[str]:
    yield (
        f"Each of {counted(compared.rounds, 'round')} ran every workload on A, B and A again (A2), in random "
        "order. B / A: median of the rounds, with a 95 % bootstrap interval of this row by itself; A is the geometric "
        "mean of its two runs. A2 / A is the same against itself: noise. Less is better."
    )
    yield (
        "B is reported as better or worse where an exact randomisation test (which run of each round is B's?), "
        f"adjusted for all {len(compared.judged)} rows (Benjamini and Hochberg, 5 %), leaves no room for chance, "
        f"the interval excludes 1, and the effect is at least {100 * least_effect:g} % and more than A2 / A shows. Shown from: the "
        "smallest difference that would have been reported in this row, with its noise and so many rounds."
    )


def _listed(judged: Iterable[Judged]) -> str:
    """With what A differs from itself by in the same row."""
    return "; ".join(
        f"{one.row.case}: {one.row.figure} {100 * (one.row.effect - 1):+.1f} % (A/A {100 * (one.row.noise.middle - 1):+.1f} %)"
        for one in judged
    )


def words(compared: Comparison) -> Iterator[str]:
    """The verdict's reasons."""
    better, worse = compared.all_of(randomisation.BETTER), compared.all_of(randomisation.WORSE)
    every = counted(compared.workloads, "workload")
    if compared.failed:
        yield f"B cannot run what A runs: {', '.join(compared.failed)}."
    for found, word in ((worse, "worse"), (better, "better")):
        if found:
            yield f"B is {word} in {len({one.row.case for one in found})} of {every}: {_listed(found)}."
    if better and not worse and not compared.failed:
        yield "It is shown to be worse in none."
    if better and (worse or compared.failed):
        yield "What is worse decides: what is gained elsewhere does not make up for it."
    if compared.verdict == randomisation.NO_DIFFERENCE:
        yield f"None is shown between A and B in {every}."
    elif compared.verdict == randomisation.UNDECIDED:
        yield _why_undecided(compared)


def _why_undecided(compared: Comparison) -> str:
    fewest = randomisation.fewest_rounds(len(compared.judged))
    if compared.rounds < fewest:
        return (
            f"Only {counted(compared.rounds, 'round')} of {fewest} that it takes were done: a difference in one of "
            f"{counted(len(compared.judged), 'row')} could not be shown, however large it is."
        )
    blind = [f"{one.row.case}: {one.row.figure}" for one in compared.judged if one.shown_from is None]
    return f"The noise is too great to show a difference of even sixteen times in: {'; '.join(blind)}."


def sensitivity(compared: Comparison) -> Iterator[str]:
    """What else would have been seen, if it were there."""
    parts: list[str] = []
    for figure, usual, worst in compared.shown_from():
        most = worst.shown_from
        more = f" (median), {100 * (most - 1):.1f} % in {worst.row.case}" if most and most != usual else ""
        parts.append(f"{figure} from {100 * (usual - 1):.1f} %{more}")
    if parts:
        yield f"The smallest differences that would have been shown: {'; '.join(parts)}."


def cost(found: Results, compared: Comparison) -> Iterator[str]:
    """The span of the ratios of real programs, and of workloads."""
    programs = {name for name, facts in found.header["cases"].items() if facts.get("group") == "programs"}
    for figure, title in TITLES.items():
        spans: list[str] = []
        for kind, is_program in (("real program", True), ("workload", False)):
            some = [
                one.row
                for one in compared.judged
                if one.row.figure == figure and (one.row.case in programs) == is_program
            ]
            if middles := [row.interval.middle for row in some]:
                spans.append(
                    f"{three_digits(min(middles))} to {three_digits(max(middles))} times in {counted(len(middles), kind)}"
                )
        if spans:
            yield f"**{title.partition(' of ')[0].partition(',')[0]}**: {', '.join(spans)}."
