"""Counts the instructions of a case by callgrind: a figure without noise. Two runs, one of twice as much work, are
subtracted, so that what a program does once does not count."""

import json
import re
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tslab_lab.base import processes
from tslab_lab.base.shapes import Environment
from tslab_lab.display.progress import Bar
from tslab_lab.measure.case_runner import Runner
from tslab_lab.real.programs import AnyCase
from tslab_lab.results.storage import Writer

_TOTAL = re.compile(r"^(?:totals|summary): (\d+)", re.MULTILINE)


def _counted(argv: Iterable[str], environment: Environment, who: str) -> tuple[int, int]:
    """(operations, instructions) of one run."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "callgrind"
        tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--quiet", *argv]
        figures = json.loads(processes.run(tool, environment, who))
        found = _TOTAL.search(out.read_text())
        if not found:
            raise processes.Failure(f"{who}: callgrind gave no figure to read.")
        return figures["operations"], int(found[1])


def per_operation(runner: Runner, case: AnyCase, allocator: str) -> float | None:
    """None for a program, whose amount of work is its own. Where the warm-up grows with the work, it is in the count,
    alike for all allocators."""
    argvs = [argv for factor in (1, 2) if (argv := runner.tiny_argv(case, factor))]
    if not argvs:
        return None
    who = f"{case.name} on {allocator}, counted"
    environment = runner.environments[case.name, allocator]
    (few, less), (many, more) = (_counted(argv, environment, who) for argv in argvs)
    return (more - less) / (many - few) if many > few else None


def count(runner: Runner, names: Iterable[str], writer: Writer, bar: Bar) -> None:
    """Writes the counts into the results. An allocator that cannot run under valgrind has none."""
    if not shutil.which("valgrind"):
        raise processes.Failure("--instructions needs valgrind: apt-get install valgrind")
    for case in runner.cases:
        for name in names:
            bar.begin(f"instructions: {case.name} on {name}")
            try:
                value = per_operation(runner, case, name)
            except processes.Failure:
                value = None
            if value is not None:
                writer.instructions(case.name, name, value)
