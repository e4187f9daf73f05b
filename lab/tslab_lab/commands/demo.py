"""`lab demo`: a minute beside other allocators, and a verdict."""

import argparse
import contextlib
import math
import random
import shlex
import time
from collections.abc import Callable

from rich.text import Text

from tslab_lab.allocators import installed, sides
from tslab_lab.allocators.catalogue import OURS, SYSTEM
from tslab_lab.base import processes
from tslab_lab.base.shapes import Record
from tslab_lab.demo import scenes, side_by_side
from tslab_lab.demo.side_by_side import Act
from tslab_lab.display import figures, layout
from tslab_lab.display.layout import Part, Table, three_digits
from tslab_lab.measure import honesty, measurement, rounds
from tslab_lab.memory import family, series
from tslab_lab.report import plots, render
from tslab_lab.report.render import Picture, Report
from tslab_lab.results import demo_findings as findings
from tslab_lab.results import storage
from tslab_lab.results.storage import Results

NAME = "demo"
HELP = "a minute beside other allocators: what comes back, what survives, what fits, what is fast; a verdict"
DESCRIPTION = (
    "Runs redis, requests with survivors, buffers under a limit, threads and PostgreSQL on several allocators; shows "
    "a sentence for each, and a verdict from what was measured. In scenes about memory all allocators run side by side, in scenes "
    "about speed one after another."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    each = f"{scenes.Scene.rounds} for memory, {scenes.Threads.rounds} for speed"
    measurement.add_options(parser, seconds=150, rounds=(each, 1), allocators=("debian", OURS))
    measurement.add_page(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.rounds is not None or arguments.quick:
        measurement.rounds_wanted(arguments, (1, 1))
    measurement.require_writable(arguments)
    libraries = sides.here(arguments.allocators, arguments.library)
    if not {SYSTEM, OURS} <= libraries.keys():
        arguments.error(f"--allocators must have {SYSTEM} and {OURS}")
    every = [scene(arguments.quick) for scene in scenes.ALL]
    facts: dict[str, Record] = {one.name: {"group": NAME, "title": one.title, "parameters": {}} for one in every}
    rounds_most = arguments.rounds or scenes.Threads.rounds
    writer = measurement.begun(NAME, arguments, rounds_most, scenes.titled(libraries), facts)
    show = Show(arguments, libraries, writer)
    with contextlib.closing(writer), family.none_left():
        interrupted = show.all(every)
    found = measurement.read_back(writer.folder, interrupted)
    end(found, libraries[OURS], report(found))
    if arguments.markdown:
        arguments.markdown.write_text(render.markdown(report(found), arguments.markdown.absolute()), encoding="utf-8")
    return measurement.end(found, interrupted)


class Show:
    """All scenes, into a file of results."""

    def __init__(
        self, arguments: argparse.Namespace, libraries: dict[str, installed.Library], writer: storage.Writer
    ) -> None:
        self._arguments, self._libraries, self._writer = arguments, libraries, writer
        self._console = layout.console()
        self._end = time.monotonic() + (arguments.seconds or math.inf)

    def _say(self, *lines: str, style: str | None = None) -> None:
        self._console.print(*lines, sep="\n", width=min(self._console.width, layout.PAGE_WIDTH), style=style)

    def all(self, every: list[scenes.Scene]) -> bool:
        """Returns whether the user interrupted it. A scene that cannot be shown is named, and the next ones are."""
        others, done = honesty.Others(), list[int]()
        interrupted = False
        try:
            for scene in every:
                self._say("", scene.title, style="bold")
                try:
                    done.append(self._scene(scene))
                    self._say(findings.sentence(storage.read(self._writer.folder), scene.name))
                except processes.Failure as failure:
                    self._say(f"It is left out. {failure}")
        except KeyboardInterrupt:
            interrupted = True
        self._writer.footer(min(done, default=0), not interrupted, others.share())
        return interrupted

    def _scene(self, scene: scenes.Scene) -> int:
        """Returns how many rounds were complete."""
        wanted = self._arguments.rounds or (1 if self._arguments.quick else scene.rounds)
        names = scene.names(self._libraries)
        failed, done = set[str](), 0
        with scene.opened({name: self._libraries[name] for name in names if name in self._libraries}) as act:
            for number in rounds.numbers(wanted, self._end - time.monotonic()):
                if self._arguments.strict:
                    honesty.wait_until_quiet()
                order = [name for name in random.sample(names, len(names)) if name not in failed]
                told: dict[str, float | None] = {}
                with self._console.status(f"round {number} of {wanted}"):
                    for heat in scene.heats(order):
                        told |= self._heat(scene, number, heat, act)
                failed |= set(order) - told.keys()
                known = {name: told[name] for name in names if name in told}
                each = (f"{name} {'ended' if one is None else three_digits(one)}" for name, one in known.items())
                self._say(f"  round {number} of {wanted}: {'; '.join(each)}", style="dim")
                done = number
        return done

    def _heat(
        self, scene: scenes.Scene, number: int, heat: list[str], act: Callable[[str], Act]
    ) -> dict[str, float | None]:
        """The figures of those that did not fail; None of one that was ended."""
        others, found = honesty.Others(), dict[str, float | None]()
        curves, ends = side_by_side.run({name: act(name) for name in heat})
        share = {"others_share": round(others.share(), 3)}
        for name, told in ends.items():
            if isinstance(told, processes.Failure):
                self._writer.line("failure", scene.name, name, number, {"why": str(told)})
                continue
            if scene.together:
                points = side_by_side.until_rest(curves[name], told.get("rss_kib", 0))
                columns = dict(zip(("t_ms", "rss_kb"), map(list, zip(*points))))
                self._writer.line("series", scene.name, name, number, columns)
            self._writer.line("run", scene.name, name, number, told | share)
            found[name] = findings.main(scene.name, told)
        return found


def end(found: Results, library: installed.Library, told: Report) -> None:
    """The verdict, and how a user goes on."""
    console = layout.console()
    width = min(console.width, layout.PAGE_WIDTH)
    console.print("")
    for line in findings.verdict(found):
        _, head, rest = line.split("**")
        console.print(Text.assemble((head, "bold"), rest), width=width)
    render.show_tables(console, told.full)
    console.print("", *told.notes, "", sep="\n", style="dim", width=width)
    if not figures.available() and (drawn := told.pictures[0].draw()):
        figures.save(drawn, found.path.parent / NAME, told.pictures[0].told)
        console.print(f"Picture: {found.path.parent / NAME}.png", soft_wrap=True)
    console.print("More rounds and workloads: `make lab`. Your own program:")
    console.print(f"  LD_PRELOAD={shlex.quote(str(library.path))} PROGRAM\n  lab/lab rss -- PROGRAM", soft_wrap=True)


def report(found: Results) -> Report:
    body: list[Part] = []
    full: list[Table] = []
    panels: dict[str, plots.Panel] = {}
    for case, facts in found.header["cases"].items():
        if not (words := findings.sentence(found, case)):
            continue
        title, table = findings.whole_title(found, case, facts["title"]), findings.table(found, case)
        table.title = title
        full.append(table)
        body += [f"## {title}", words, table.markdown()]
        lines = series.of(found.series, case)
        figure = findings.main_figure(found, case)
        short, _, long = facts["title"].partition(": ")
        level = f"\n{even}" if (even := findings.level_with(figure)) else ""
        if lines:
            panels[short + level] = {name: runs[-1:] for name, runs in lines.items()}  # of the last round
        elif figure:
            panels[long + level] = figure.scaled, figure.kind.unit
    told = "RSS over time and speed of the allocators in each scene"
    return Report(
        title="`make demo`",
        answer=[*findings.verdict(found)],
        pictures=[
            Picture("", told, " ".join(findings.verdict(found)), lambda: plots.scenes(panels) if panels else None)
        ],
        body=[*body, "Repeat it with `make demo`."],
        full=full,
        notes=[findings.RULE, *measurement.remarks(found, intervals=False)],
        keeps_tables=False,
        setting=measurement.setting(found),
    )
