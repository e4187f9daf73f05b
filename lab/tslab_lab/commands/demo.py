"""`lab demo`: a minute beside other allocators, and a verdict."""

import argparse
import contextlib
import math
import random
import shlex
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NoReturn

from rich.text import Text

from tslab_lab.allocators import installed, sides
from tslab_lab.allocators.catalogue import OURS, SYSTEM
from tslab_lab.base import processes
from tslab_lab.demo import scenes, side_by_side
from tslab_lab.demo.screen import Screen
from tslab_lab.demo.side_by_side import Act
from tslab_lab.display import layout
from tslab_lab.measure import honesty, measurement, rounds
from tslab_lab.memory import family
from tslab_lab.report import demo_picture
from tslab_lab.results import demo_findings as findings
from tslab_lab.results import storage
from tslab_lab.results.storage import Results

NAME = "demo"
HELP = "a minute beside other allocators: what comes back, what survives, what fits, what is fast; a verdict"
DESCRIPTION = (
    "Runs redis, requests with survivors, buffers under a limit, threads and PostgreSQL on several allocators; shows RSS as it goes, "
    "a sentence for each, and a verdict from what was measured. In scenes about memory all allocators run side by side, in scenes about "
    "speed one after another."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    each = f"{scenes.Scene.rounds} for memory, {scenes.Threads.rounds} for speed"
    measurement.add_options(parser, seconds=150, rounds=(each, 1), allocators=("debian", OURS))
    measurement.add_page(parser)


def interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def run(arguments: argparse.Namespace) -> int:
    if arguments.rounds is not None or arguments.quick:
        measurement.rounds_wanted(arguments, (1, 1))
    measurement.require_writable(arguments)
    libraries = sides.here(arguments.allocators, arguments.library)
    if not {SYSTEM, OURS} <= libraries.keys():
        arguments.error(f"--allocators must have {SYSTEM} and {OURS}")
    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGHUP, interrupt)
    every = [scene(arguments.quick) for scene in scenes.ALL]
    folder = measurement.folder_of(NAME, arguments)
    ours = any(installed.is_built_here(library) for library in libraries.values())
    marks = honesty.marks(arguments.rounds or scenes.Threads.rounds, ours, arguments.strict, arguments.quick)
    facts = {scene.name: scenes.facts(scene) for scene in every}
    named = installed.as_facts(scenes.titled(libraries))
    writer = storage.Writer(folder, NAME, measurement.typed(), marks, named, facts)
    show = Show(arguments, libraries, writer, Screen(layout.console()))
    with contextlib.closing(writer), family.none_left():
        show.all(every)
    found = storage.read(folder)
    if not found.runs:
        if show.interrupted:
            raise KeyboardInterrupt
        raise processes.Failure(f"No run was complete. The results so far are in {found.path}.")
    end(found, libraries[OURS], show.rounds)
    measurement.write_page(arguments, found, page)
    return measurement.end(found, show.interrupted)


class Show:
    """All scenes, into a file of results."""

    def __init__(
        self,
        arguments: argparse.Namespace,
        libraries: dict[str, installed.Library],
        writer: storage.Writer,
        screen: Screen,
    ) -> None:
        self._arguments, self._libraries, self._writer, self._screen = arguments, libraries, writer, screen
        self._end = time.monotonic() + (arguments.seconds or math.inf)
        self.interrupted = False
        self.rounds: list[int] = []

    def all(self, every: Iterable[scenes.Scene]) -> None:
        others = honesty.Others()
        try:
            for scene in every:
                self._scene(scene)
        except KeyboardInterrupt:
            self._screen.interrupted()
            self.interrupted = True
        self._writer.footer(min(self.rounds, default=0), not self.interrupted, others.share())

    def _scene(self, scene: scenes.Scene) -> None:
        """One that cannot be shown is named, and the next ones are."""
        wanted = self._arguments.rounds or (1 if self._arguments.quick else scene.rounds)
        names = scene.names(self._libraries)
        try:
            scene.require()
            self._screen.scene(scene.title, names)
            with scene.opened({name: self._libraries[name] for name in names if name in self._libraries}) as act:
                self._screen.ready(scene.whole_title, wanted, scene.together)
                done = self._rounds(scene, names, wanted, act)
        except processes.Failure as failure:
            self._screen.interrupted()
            self._screen.say("", f"{scene.title}: it is left out. {failure}")
            return
        self.rounds.append(done)
        found = storage.read(self._writer.folder)
        figure = next((one for one in findings.figures(found) if one.kind.scene == scene.name and one.kind.main), None)
        self._screen.end(figure.kind.unit if figure else "", findings.sentence(found, scene.name))

    def _rounds(self, scene: scenes.Scene, names: list[str], wanted: int, act: Callable[[str], Act]) -> int:
        """Returns how many were complete."""
        failed, done = set[str](), 0
        for number in rounds.numbers(wanted, self._end - time.monotonic()):
            if self._arguments.strict:
                honesty.wait_until_quiet()
            order = [name for name in random.sample(names, len(names)) if name not in failed]
            for heat in scene.heats(order):
                failed |= self._heat(scene, number, heat, act)
            self._screen.round_done()
            done = number
        return done

    def _heat(self, scene: scenes.Scene, number: int, heat: list[str], act: Callable[[str], Act]) -> set[str]:
        """Returns the names of those that failed."""
        others, failed = honesty.Others(), set[str]()
        self._screen.heat(number, heat)
        curves, ends = side_by_side.run({name: act(name) for name in heat}, self._screen.watch)
        share = {"others_share": round(others.share(), 3)}
        for name in heat:
            try:
                told = scene.figures(ends[name])
            except processes.Failure as failure:
                self._writer.failure(scene.name, name, number, failure)
                failed.add(name)
                continue
            points = side_by_side.until_rest(curves[name], told.get("rss_kib", 0))
            if scene.together:
                self._writer.series(scene.name, name, number, dict(zip(("t_ms", "rss_kb"), map(list, zip(*points)))))
            self._writer.run(scene.name, name, number, told | share)
            self._screen.measured(name, findings.main(scene.name, told), points)
        return failed


def end(found: Results, library: installed.Library, numbers: Sequence[int]) -> None:
    """The verdict, and how a user goes on. `numbers`: of rounds, of each scene."""
    console = layout.console()

    def say(*lines: str | Text, style: str | None = None) -> None:
        console.print(*lines, sep="\n", width=min(console.width, layout.PAGE_WIDTH), style=style)

    say("")
    for line in findings.verdict(found):
        _, head, rest = line.split("**")
        say(Text.assemble((head, "bold"), rest))
    say("", " ".join([findings.RULE, *measurement.remarks(found, intervals=False)]), "", style="dim")
    if drawn := demo_picture.of(found):
        file = found.path.parent / f"{NAME}.svg"
        file.write_text(drawn, encoding="utf-8")
        say(f"Picture: {file}")
    span = " to ".join(map(str, sorted({min(numbers), max(numbers)}))) if numbers else "no complete"
    say(f"These are {span} round{'' if span == '1' else 's'} on your machine; more: `make lab`. Your own program:")
    console.print(f"  LD_PRELOAD={shlex.quote(str(library.path))} PROGRAM\n  lab/lab rss -- PROGRAM", soft_wrap=True)


def page(found: Results, path: Path) -> str:
    """Of a file of results, in Markdown; its picture goes beside `path`."""
    parts: list[layout.Part] = [*findings.verdict(found)]
    if drawn := demo_picture.of(found):
        path.with_suffix(".svg").write_text(drawn, encoding="utf-8")
        parts.append(f"![RSS over time and speed of the allocators in each scene]({path.with_suffix('.svg').name})")
    for case, facts in found.header["cases"].items():
        if words := findings.sentence(found, case):
            parts += [f"## {findings.whole_title(found, case, facts['title'])}", words, findings.table(found, case)]
    parts += ["Repeat it with `make demo`.", findings.RULE, *measurement.remarks(found, intervals=False)]
    return layout.markdown_page("`make demo`", parts, measurement.setting(found))
