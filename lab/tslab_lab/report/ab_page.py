"""What `tslab ab` found: tables and a verdict in words, for a terminal of 80 columns, and as a page of Markdown."""

import shlex
import textwrap
from dataclasses import dataclass
from statistics import median

from rich import box
from rich.table import Table
from rich.text import Text

from tslab_lab.display.layout import three_digits
from tslab_lab.statistics import randomisation

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


def amount(figure, value):
    if figure != "time":
        return three_digits(value / 1024)
    unit, size = next((unit for unit in _UNITS if value >= unit[1]), _UNITS[-1])
    return f"{three_digits(value / size)} {unit}"


def ratio(value):
    return f"{value:.3f}" if value < 9.9995 else three_digits(value)


def percent(share):
    return f"{100 * share:.1f} %"


def change(found):
    """Of B against A, in words."""
    return f"{100 * (found.row.effect - 1):+.1f} %"


def _interval(found):
    return f"{ratio(found.middle)} ({ratio(found.low)}-{ratio(found.high)})"


def heads(roomy):
    interval = " (95 % interval)"
    return ["", "A", "B", f"B / A{interval}", "A2 / A" + (interval if roomy else ""), "shown from", "B is"]


def cells(found, roomy):
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


def _rich(judged, roomy):
    result = Table(box=box.SIMPLE_HEAD, padding=0, pad_edge=False, show_edge=False)
    for index, head in enumerate(heads(roomy)):
        head = head.replace(" (", "\n(").replace("shown ", "shown\n")
        result.add_column(head, justify="right" if index else "left", no_wrap=index > 0, overflow="fold")
    for found in judged:
        style = STYLES.get(found.verdict, "")
        result.add_row(*(Text(cell, style if index else "") for index, cell in enumerate(cells(found, roomy))))
    return result


def _markdown(judged):
    lines = [heads(True), ["---"] + ["---:"] * 6, *(cells(found, True) for found in judged)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _listed(judged):
    return "; ".join(f"{found.row.case}: {found.row.figure} {change(found)}" for found in judged)


def _workloads(number):
    return f"{number} workload" + ("s" if number != 1 else "")


@dataclass
class Page:
    """`failed`: the workloads that B alone could not run; `same`: nothing distinguishes A from B."""

    found: object
    judged: list
    failed: list
    arguments: object
    same: bool

    def _all_of(self, verdict):
        return [found for found in self.judged if found.verdict == verdict]

    @property
    def verdict(self):
        return randomisation.overall(self.judged, self.failed)

    def _tables(self):
        for figure, title in TITLES.items():
            chosen = [found for found in self.judged if found.row.figure == figure]
            if chosen:
                yield title, chosen

    def words(self):
        """The verdict's reasons."""
        better, worse = self._all_of(randomisation.BETTER), self._all_of(randomisation.WORSE)
        every = len({found.row.case for found in self.judged} | set(self.failed))
        if self.failed:
            yield f"B cannot run what A runs: {', '.join(self.failed)}."
        for found, word in ((worse, "worse"), (better, "better")):
            if found:
                count = len({one.row.case for one in found})
                yield f"B is {word} in {count} of {_workloads(every)}: {_listed(found)}."
        if better and not worse and not self.failed:
            yield "It is shown to be worse in none."
        if better and (worse or self.failed):
            yield "What is worse decides: what is gained elsewhere does not make up for it."
        if not (better or worse or self.failed):
            yield f"B is shown to be neither better nor worse than A ({_workloads(every)})."

    def sensitivity(self):
        """What else would have been seen, if it were there."""
        rounds = self._rounds()
        fewest = randomisation.fewest_rounds(len(self.judged))
        parts = []
        for figure in TITLES:
            found = [one for one in self.judged if one.row.figure == figure and one.shown_from is not None]
            if found:
                worst = max(found, key=lambda one: one.shown_from)
                usual = percent(median(one.shown_from for one in found) - 1)
                parts.append(f"{figure} from {usual} (median), {percent(worst.shown_from - 1)} in {worst.row.case}")
        if parts:
            yield f"Differences that would have been shown, one at a time: {'; '.join(parts)}."
        if rounds < fewest:
            yield (
                f"With {rounds} rounds, a difference in one of {len(self.judged)} rows alone cannot be shown, however "
                f"large it is: only several at once. {fewest} rounds can."
            )
        elif any(one.shown_from is None for one in self.judged):
            yield "Where '-' stands, no difference of up to sixteen times would have been: the noise is too great."

    def _rounds(self):
        return max((len(one.row.a) for one in self.judged), default=0)

    def how(self):
        least = f"{self.arguments.least_effect:g} %"
        yield (
            f"Each of {self._rounds()} rounds ran every workload on A, B and A again (A2), in random order. B / A: "
            "median of the rounds, with a 95 % bootstrap interval of this row by itself; A is the geometric mean of "
            "its two runs. A2 / A is the same against itself: noise. Less is better."
        )
        yield (
            "B is told to be better or worse where an exact randomisation test (which run of each round is B's?), "
            f"adjusted for all {len(self.judged)} rows (Benjamini and Hochberg, 5 %), leaves no room for chance, the "
            f"interval excludes 1, and the effect is at least {least} and more than A2 / A shows. Shown from: the "
            "least difference that would have been told in this row, with its noise and so many rounds."
        )

    def _remarks(self, remarks):
        if self.same:
            yield "A and B are the same library with the same options: a difference would be a false one."
        yield from remarks

    def _setting(self, setting):
        for name in ("A", "B"):
            facts = self.found.header["allocators"][name]
            digest = f", sha256 {facts['sha256'][:12]}" if facts["sha256"] else ""
            yield name, f"{facts['title']} (version {facts['version']}{digest})"
        yield from setting

    def _command(self):
        chosen = self.arguments
        words = ["tslab", "ab", chosen.a, chosen.b, *chosen.workloads, "--rounds", str(chosen.rounds)]
        words += ["--quick"] if chosen.quick else []
        words += ["--least-effect", f"{chosen.least_effect:g}"] if chosen.least_effect != 1 else []
        return shlex.join(words)

    def show(self, console, remarks, setting):
        console.width = max(console.width, WIDTH)
        width = min(console.width, PAGE_WIDTH)

        def say(text):
            console.print(text, width=width, markup=False, highlight=False)

        for title, chosen in self._tables():
            say(f"\n{title}")
            console.print(_rich(chosen, console.width >= ROOMY))
        for paragraph in (*self.how(), *self._remarks(remarks)):
            say(f"\n{paragraph}")
        say("")
        for name, text in self._setting(setting):
            say(f"{name}: {text}")
        say("")
        say(Text(f"Verdict: {self.verdict}", STYLES.get(self.verdict, "bold")))
        for sentence in (*self.words(), *self.sensitivity()):
            say(sentence)
        say("")

    def markdown(self, remarks, setting):
        """A page for docs/decisions."""
        chosen = self.arguments
        question = chosen.question or f"is `{chosen.b}` (B) better than `{chosen.a}` (A)?"
        verdict = f"*Verdict*: **{self.verdict}**. {' '.join(self.words())}"
        parts = [f"# {chosen.b} against {chosen.a}", f"*Question*: {question}", verdict, *self.sensitivity()]
        parts += self._remarks(remarks)
        parts = parts[:1] + [textwrap.fill(part, PAGE_WIDTH, break_long_words=False) for part in parts[1:]]
        for title, found in self._tables():
            parts += [f"{title}:", _markdown(found)]
        parts += (textwrap.fill(part, PAGE_WIDTH) for part in self.how())
        lines = ["| | |", "|---|---|"] + [f"| {name} | {text} |" for name, text in self._setting(setting)]
        parts += ["Measured on:", "\n".join(lines), f"To repeat it: `{self._command()}`"]
        return "\n\n".join(parts) + "\n"
