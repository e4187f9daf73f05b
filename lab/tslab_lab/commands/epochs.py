"""`lab epochs`: measures what epochs cost and weigh, against pools, and against allocators without epochs."""

import argparse
import contextlib
import dataclasses
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from tslab_lab.allocators import installed, sides
from tslab_lab.allocators.catalogue import OURS, SYSTEM
from tslab_lab.allocators.sides import BASE
from tslab_lab.base import processes
from tslab_lab.base.shapes import CaseFacts, Environment, Figures
from tslab_lab.display import layout
from tslab_lab.epoch_cost import cases, compiled, tables
from tslab_lab.measure import measurement
from tslab_lab.report import make
from tslab_lab.results.storage import Results

NAME = "epochs"
HELP = "what epochs cost and weigh, against pools and other allocators"
DESCRIPTION = "Measures what epochs cost and weigh, against APR's pools, and against allocators without epochs."

PROBE = ("malloc", "1")
ROUNDS = (10, 2)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    groups = list(cases.GROUPS)
    add("--groups", type=installed.words, default=groups, metavar="A,B", help=f"some of: {','.join(groups)}")
    measurement.add_options(parser, seconds=900, rounds=ROUNDS, allocators=("debian", OURS))
    add("--baseline", type=Path, metavar="PATH", help=f"another build of tslab, to be compared with it as '{BASE}'")
    measurement.add_page(parser)
    add("--check", action="store_true", help="exit with 1 where a limit is missed")


def refuse_nonsense(arguments: argparse.Namespace) -> None:
    unknown = [name for name in arguments.groups if name not in cases.GROUPS]
    if unknown or not arguments.groups:
        there = f"there is no {', '.join(unknown) or 'name'}; there are {', '.join(cases.GROUPS)}"
        arguments.error(f"--groups: {there}")
    arguments.rounds = measurement.rounds_wanted(arguments, ROUNDS)
    measurement.require_checkable(arguments)
    measurement.require_writable(arguments)
    if arguments.baseline and not sides.have_ours(arguments.allocators):
        arguments.error(f"--baseline is compared with {OURS}, which --allocators leaves out")


def variants_of(
    arguments: argparse.Namespace, found: dict[str, installed.Library], built: Collection[str]
) -> list[cases.Variant]:
    """What a round runs: what was asked for, as far as it is installed; ours twice when there is a baseline."""

    def takes_part(variant: cases.Variant) -> bool:
        has_allocator = variant.allocator in found or variant.way != "malloc"
        return variant.group in arguments.groups and variant.program in built and has_allocator

    ours = OURS in found
    every = cases.variants([name for name in found if name != BASE])
    chosen = [variant for variant in every if takes_part(variant) and (ours or variant.is_peer)]
    twins = [dataclasses.replace(variant, allocator=BASE) for variant in chosen if variant.allocator == OURS]
    return chosen + (twins if BASE in found else [])


def check_allocators(found: dict[str, installed.Library]) -> dict[str, Environment]:
    """The environment for each allocator, proven to give the programs the malloc that is wanted."""
    probe = [str(compiled.BUILT / "request"), *PROBE]
    proven = {name: installed.proven_environment(found[name], probe, "the program") for name in found}
    return {SYSTEM: processes.environment()} | proven


def require_epochs(found: dict[str, installed.Library], environments: Mapping[str, Environment]) -> None:
    for name in (OURS, BASE):
        if name in found and not processes.ends_well([compiled.BUILT / "request", "empty", "1"], environments[name]):
            raise processes.Failure(f"{found[name].path} has no epochs that work: build it anew by `make build`.")


def variants_in(found: Results) -> list[cases.Variant]:
    """Those of a file of results."""
    known = found.header["allocators"]
    names = dict.fromkeys(facts["allocator"] for facts in known.values() if facts["allocator"] != BASE)
    every = {variant.label: variant for variant in cases.variants(names)}
    chosen = [variant for label, variant in every.items() if label in known]
    twins = [dataclasses.replace(variant, allocator=BASE) for variant in chosen]
    return chosen + [variant for variant in twins if variant.label in known]


def page(found: Results, path: Path) -> str:
    """Of a file of results, in Markdown; its figure goes beside `path`."""
    outcome = outcome_of(found, variants_in(found))
    _, picture = make.answer(found, path, "Time of a request, by how it is served")
    answer = [*tables.answer(outcome), *picture]
    return tables.markdown_page(outcome, answer, list(setting_of(found)), list(notes(found, ())))


def outcome_of(found: Results, variants: Iterable[cases.Variant]) -> cases.Outcome:
    """From a file of results. Who failed takes no part."""
    failed = {(failure["case"], failure["allocator"]) for failure in found.failures}
    outcome = cases.Outcome([variant for variant in variants if (variant.group, variant.label) not in failed])
    by_name = {(variant.group, variant.label): variant for variant in outcome.variants}
    for run in found.runs:
        if variant := by_name.get((run["case"], run["allocator"])):
            outcome.add(variant, run)
    return outcome


def notes(found: Results, left_out: Iterable[str]) -> Iterator[str]:
    """What the tables must be read with."""
    yield (
        f"{layout.medians_of(found.rounds)}; in each, every variant is a run of its own, in random order. Ratios "
        "are taken round by round: median (95 % bootstrap interval). A limit is met when the better end of the interval "
        "reaches it. Times are the processor's for the process, after a warm-up; memory is Rss of smaps_rollup. All objects "
        "are checked: in the timed runs those of a request before the timing, elsewhere every one."
    )
    yield from left_out
    yield from measurement.remarks(found)


def pool_version() -> str:
    with contextlib.suppress(OSError):
        done = subprocess.run(["pkg-config", "--modversion", "apr-1"], capture_output=True, text=True, check=False)
        return f"APR {done.stdout.strip()}"
    return ""


def setting_of(found: Results) -> Iterator[tuple[str, str]]:
    pools = found.header["settings"]["pools"]
    for name, text in measurement.setting(found):
        yield name, f"{text}, {pools}" if name == "peers" and pools else text


def prepare(
    arguments: argparse.Namespace,
) -> tuple[dict[str, installed.Library], dict[str, Environment], set[str], list[str]]:
    """The libraries, the environment for each, the names of the programs, and what is missing."""
    found = sides.here(sides.with_base(arguments.allocators, arguments.baseline), arguments.library)
    left_out: list[str] = []
    pools = compiled.pool_programs()
    if not pools:
        packages = " and ".join(compiled.POOL_PACKAGES)
        left_out.append(f"APR's pools take no part: their packages, {packages}, are not installed.")
    wanted = {
        program.name: program
        for program in (*compiled.request_programs(found[OURS].path if OURS in found else None), *pools)
    }
    if OURS in found and "request-static" not in wanted:
        left_out.append(f"There is no {compiled.ARCHIVE} beside the library: nothing is linked with it.")
    for sentence in left_out:
        print(f"epochs: {sentence}", file=sys.stderr)
    for program in wanted.values():
        compiled.build(program)
    environments = check_allocators(found)
    require_epochs(found, environments)
    return found, environments, set(wanted), left_out


def run(arguments: argparse.Namespace) -> int:
    refuse_nonsense(arguments)
    libraries, environments, built, left_out = prepare(arguments)
    variants = variants_of(arguments, libraries, built)
    if not variants:
        raise processes.Failure("Nothing of this can be measured on these allocators: name others with --allocators.")
    by_name = {(variant.group, variant.label): variant for variant in variants}
    plan = {group: [one.label for one in variants if one.group == group] for group in arguments.groups}
    facts: dict[str, CaseFacts] = {
        group: {"group": NAME, "title": cases.GROUPS[group], "parameters": {}} for group in plan
    }

    def measure(group: str, label: str) -> Figures:
        variant = by_name[group, label]
        return processes.figures(
            variant.argv(compiled.BUILT, arguments.quick), environments[variant.allocator], variant.who
        )

    named = {one.label: dataclasses.replace(libraries[one.allocator], title=f"{one.name} on {one.allocator}")
             for one in variants if one.allocator in libraries}  # fmt: skip
    settings = {"pools": pool_version() if "pool" in built else ""}
    found, interrupted = measurement.measured(
        NAME, arguments, arguments.rounds, plan, measure, named, facts, settings=settings
    )
    outcome = outcome_of(found, variants)
    paragraphs, setting = list(notes(found, left_out)), list(setting_of(found))
    layout.show(layout.console(), tables.all_tables(outcome).values(), paragraphs, setting, width=layout.WIDTH)
    measurement.write_page(arguments, found, page)
    missed = list(tables.misses(outcome))
    for line in missed:
        print(f"missed: {line}", flush=True)
    return measurement.end(found, interrupted, 1 if missed and arguments.check else 0)
