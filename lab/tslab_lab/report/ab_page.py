"""What `lab ab` found: tables and a verdict in words, for a terminal of 80 columns, and as a page of Markdown."""

import argparse
import shlex
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import median

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tslab_lab.display.layout import Setting, counted, three_digits
from tslab_lab.estimates import randomisation
from tslab_lab.estimates.medians import Spread
from tslab_lab.estimates.randomisation import Judged
from tslab_lab.results.comparison import Comparison
from tslab_lab.results.storage import Results

WIDTH = 80
PAGE_WIDTH = 120
ROOMY = 100  # from here on, the noise has its interval, too
STYLES = {
    randomisation.BETTER: "green",
    randomisation.WORSE: "bold red",
    randomisation.GO: "bold green",
    randomisation.NO_GO: "bold red",
}
TITLES = {
    "time": "Time of an operation (of a program: all of it)",
    "peak RSS": "Peak RSS, MiB",
    "RSS after": "RSS after, MiB",
}
_UNITS = (("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1))


def amount(figure: str, value: float) -> str:
    if figure != "time":
        return three_digits(value / 1024)
    unit, size = next((unit for unit in _UNITS if value >= unit[1]), _UNITS[-1])
    return f"{three_digits(value / size)} {unit}"


def ratio(value: float) -> str:
    return f"{value:.3f}" if value < 9.9995 else three_digits(value)


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def change(found: Judged) -> str:
    """Of B against A, in words."""
    return f"{100 * (found.row.effect - 1):+.1f} %"


def _interval(found: Spread) -> str:
    if found.low is None:
        return ratio(found.middle)
    low, high = found.ends
    return f"{ratio(found.middle)} ({ratio(low)}-{ratio(high)})"


def heads(roomy: bool) -> list[str]:
    interval = " (95 % interval)"
    return ["", "A", "B", f"B / A{interval}", "A2 / A" + (interval if roomy else ""), "shown from", "B is"]


def cells(found: Judged, roomy: bool) -> list[str]:
    row = found.row
    return [
        row.case,
        amount(row.figure, median(row.a + row.a2)),
        amount(row.figure, median(row.b)),
        _interval(row.interval),
        _interval(row.noise) if roomy else ratio(row.noise.middle),
        "-" if found.shown_from is None else percent(found.shown_from - 1),
        found.verdict or "-",
    ]


def _rich(judged: Iterable[Judged], roomy: bool) -> Table:
    result = Table(box=box.SIMPLE_HEAD, padding=0, pad_edge=False, show_edge=False)
    for index, head in enumerate(heads(roomy)):
        head = head.replace(" (", "\n(").replace("shown ", "shown\n")
        result.add_column(head, justify="right" if index else "left", no_wrap=index > 0, overflow="fold")
    for found in judged:
        style = STYLES.get(found.verdict or "", "")
        result.add_row(*(Text(cell, style if index else "") for index, cell in enumerate(cells(found, roomy))))
    return result


def _markdown(judged: Iterable[Judged], mixed: bool = False) -> str:
    """`mixed`: of several figures, each of which is named."""

    def named(found: Judged) -> list[str]:
        name, *rest = cells(found, True)
        return [f"{name}: {found.row.figure}" if mixed else name, *rest]

    lines = [heads(True), ["---"] + ["---:"] * 6, *map(named, judged)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _listed(judged: Iterable[Judged]) -> str:
    """With what A differs from itself by in the same row."""
    return "; ".join(
        f"{found.row.case}: {found.row.figure} {change(found)} (A/A {100 * (found.row.noise.middle - 1):+.1f} %)"
        for found in judged
    )


def words(compared: Comparison) -> Iterator[str]:
    """The verdict's reasons."""
    better, worse = compared.all_of(randomisation.BETTER), compared.all_of(randomisation.WORSE)
    every = counted(compared.workloads, "workload")
    if compared.failed:
        yield f"B cannot run what A runs: {', '.join(compared.failed)}."
    for found, word in ((worse, "worse"), (better, "better")):
        if found:
            count = len({one.row.case for one in found})
            yield f"B is {word} in {count} of {every}: {_listed(found)}."
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
        more = f" (median), {percent(most - 1)} in {worst.row.case}" if most and most != usual else ""
        parts.append(f"{figure} from {percent(usual - 1)}{more}")
    if parts:
        yield f"The smallest differences that would have been shown: {'; '.join(parts)}."


def sides_of(found: Results) -> Iterator[tuple[str, str]]:
    """What A and B are: pairs of a name and a text."""
    for name in ("A", "B"):
        facts = found.header["allocators"][name]
        sha256 = facts.get("sha256")
        digest = f", sha256 {sha256[:12]}" if sha256 else ""
        yield name, f"{facts['title']} (version {facts['version']}{digest})"


def _short(side: str) -> str:
    """A path without its folders; what has a name of its own stays."""
    path, at, options = side.partition("@")
    return f"{path if '=' in path else path.rpartition('/')[2]}{at}{options}"


@dataclass
class Page:
    found: Results
    compared: Comparison
    arguments: argparse.Namespace

    @property
    def same(self) -> bool:
        """Whether nothing distinguishes A from B."""
        a, b = (self.found.header["allocators"][name] for name in ("A", "B"))
        return (a.get("sha256"), a.get("environment")) == (b.get("sha256"), b.get("environment"))

    def _tables(self) -> Iterator[tuple[str, list[Judged]]]:
        for figure, title in TITLES.items():
            chosen = [found for found in self.compared.judged if found.row.figure == figure]
            if chosen:
                yield title, chosen

    def how(self) -> Iterator[str]:
        least = f"{self.arguments.least_effect:g} %"
        yield (
            f"Each of {counted(self.compared.rounds, 'round')} ran every workload on A, B and A again (A2), in random "
            "order. B / A: median of the rounds, with a 95 % bootstrap interval of this row by itself; A is the geometric "
            "mean of its two runs. A2 / A is the same against itself: noise. Less is better."
        )
        yield (
            "B is reported as better or worse where an exact randomisation test (which run of each round is B's?), "
            f"adjusted for all {len(self.compared.judged)} rows (Benjamini and Hochberg, 5 %), leaves no room for chance, "
            f"the interval excludes 1, and the effect is at least {least} and more than A2 / A shows. Shown from: the "
            "smallest difference that would have been reported in this row, with its noise and so many rounds."
        )

    def _remarks(self, remarks: Iterable[str]) -> Iterator[str]:
        if self.same:
            yield "A and B are the same library with the same options: a difference would be a false one."
        yield from remarks

    def _command(self) -> str:
        chosen = self.arguments
        words = ["lab/lab", "ab", chosen.a, chosen.b, *chosen.workloads, "--rounds", str(chosen.rounds)]
        words += ["--quick"] if chosen.quick else []
        words += ["--least-effect", f"{chosen.least_effect:g}"] if chosen.least_effect != 1 else []
        return shlex.join(words)

    def show(self, console: Console, remarks: Iterable[str], setting: Setting) -> None:
        """The verdict stands last, where a terminal is read."""
        console.width = max(console.width, WIDTH)
        width = min(console.width, PAGE_WIDTH)

        def say(text: str | Text) -> None:
            console.print(text, width=width, markup=False, highlight=False)

        for title, chosen in self._tables():
            say(f"\n{title}")
            console.print(_rich(chosen, console.width >= ROOMY))
        for paragraph in (*self.how(), *self._remarks(remarks)):
            say(f"\n{paragraph}")
        say("")
        for name, text in (*setting, *sides_of(self.found)):
            say(f"{name}: {text}")
        say("")
        verdict = self.compared.verdict
        say(Text(f"Verdict: {verdict}", STYLES.get(verdict, "bold")))
        for sentence in (*words(self.compared), *sensitivity(self.compared)):
            say(sentence)
        say("")

    def cost(self) -> Iterator[str]:
        """The answer where the question is what B costs: no verdict, but the span of the ratios."""
        programs = {name for name, facts in self.found.header["cases"].items() if facts.get("group") == "programs"}
        kinds = {"real programs": programs, "workloads": set(self.found.header["cases"]) - programs}
        for figure, title in TITLES.items():
            spans: list[str] = []
            for kind, names in kinds.items():
                middles = [
                    one.row.interval.middle
                    for one in self.compared.judged
                    if one.row.figure == figure and one.row.case in names
                ]
                if middles:
                    spans.append(
                        f"{three_digits(min(middles))} to {three_digits(max(middles))} times in {counted(len(middles), kind[:-1])}"
                    )
            if spans:
                yield f"- **{title.partition(' of ')[0].partition(',')[0]}**: {', '.join(spans)}."

    def markdown(self, remarks: Iterable[str], setting: Setting) -> str:
        """A page for docs/decisions. It opens with the verdict, what A and B are, and the rows that decide. A question that begins
        with "what" has no verdict, but ranges."""
        chosen, compared = self.arguments, self.compared
        if chosen.question and chosen.question.startswith("what "):
            parts = [f"# The cost of {_short(chosen.b)}, beside {_short(chosen.a)}", "\n".join(self.cost())]
            return self._page(parts, [], remarks, setting)
        question = chosen.question or f"is `{chosen.b}` (B) better than `{chosen.a}` (A)?"
        verdict = f"*Verdict*: **{compared.verdict}**. {' '.join(words(compared))}"
        parts = [f"# {_short(chosen.b)} against {_short(chosen.a)}", f"*Question*: {question}", verdict]
        parts += [f"*{name}*: {text}" for name, text in sides_of(self.found)]
        parts = parts[:1] + [textwrap.fill(part, PAGE_WIDTH, break_long_words=False) for part in parts[1:]]
        if compared.deciding:
            parts += ["What decides:", _markdown(compared.deciding, True)]
        return self._page(parts, list(sensitivity(compared)), remarks, setting)

    def _page(self, parts: list[str], more: Iterable[str], remarks: Iterable[str], setting: Setting) -> str:
        more = [*more, *self._remarks(remarks)]
        parts += [textwrap.fill(part, PAGE_WIDTH, break_long_words=False) for part in more]
        for title, found in self._tables():
            parts += [f"{title}:", _markdown(found)]
        parts += (textwrap.fill(part, PAGE_WIDTH) for part in self.how())
        lines = ["| | |", "|---|---|"] + [f"| {name} | {text} |" for name, text in setting]
        parts += ["Measured on:", "\n".join(lines), f"To repeat it: `{self._command()}`"]
        return "\n\n".join(parts) + "\n"
