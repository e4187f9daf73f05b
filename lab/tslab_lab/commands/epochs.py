"""`tslab epochs`: measures what epochs cost and weigh, against pools, and against allocators without epochs."""

import contextlib
import dataclasses
import json
import random
import subprocess
import sys
from pathlib import Path

from tslab_lab.allocators import installed
from tslab_lab.allocators.catalogue import DEBIAN, OURS, SYSTEM
from tslab_lab.allocators.sides import BASE, with_base
from tslab_lab.base import processes
from tslab_lab.display import layout
from tslab_lab.epoch_cost import cases, compiled, tables
from tslab_lab.measure import honesty, study

NAME = "epochs"
HELP = "what epochs cost and weigh, against pools and other allocators"
DESCRIPTION = "Measures what epochs cost and weigh, against APR's pools, and against allocators without epochs."

PROBE = ("malloc", "1")
FEW = 2  # rounds, with --quick


def add_arguments(parser):
    add = parser.add_argument
    study.add_rounds(parser, few=FEW, seconds=900)
    groups = list(cases.GROUPS)
    add("--groups", type=installed.words, default=groups, metavar="A,B", help=f"some of: {','.join(groups)}")
    study.add_allocators(parser)
    add("--quick", action="store_true", help="little work, two rounds: shows that it runs, and no more")
    study.add_library(parser)
    add("--baseline", type=Path, metavar="PATH", help=f"another build of it, to be compared with it as '{BASE}'")
    study.add_files(parser)


def refuse_nonsense(arguments):
    if arguments.rounds is None:
        arguments.rounds = FEW if arguments.quick else 10
    for option, known in (("groups", cases.GROUPS), ("allocators", DEBIAN)):
        wanted = getattr(arguments, option)
        unknown = [name for name in wanted if name not in known]
        if unknown or not wanted:
            there = f"there is no {', '.join(unknown) or 'name'}; there are {', '.join(known)}"
            arguments.error(f"--{option}: {there}")
    study.refuse_nonsense(arguments)
    if arguments.baseline and OURS not in arguments.allocators:
        arguments.error(f"--baseline is compared with {OURS}, which --allocators leaves out")


def variants_of(arguments, found, built):
    """What a round runs: what was asked for, as far as it is installed; ours twice when there is a baseline."""

    def takes_part(variant):
        has_allocator = variant.allocator in found or variant.way != "malloc"
        return variant.group in arguments.groups and variant.program in built and has_allocator

    ours = OURS in found
    chosen = [variant for variant in cases.VARIANTS if takes_part(variant) and (ours or variant.is_peer)]
    twins = [dataclasses.replace(variant, allocator=BASE) for variant in chosen if variant.allocator == OURS]
    return chosen + (twins if BASE in found else [])


def check_allocators(found):
    """The environment for each allocator, proven to give the programs the malloc that is wanted."""
    probe = [str(compiled.BUILT / "request"), *PROBE]
    proven = {name: installed.proven_environment(found[name], probe, "the program") for name in found}
    return {SYSTEM: processes.environment()} | proven


def require_epochs(found, environments):
    for name in (OURS, BASE):
        if name in found and not study.ends_well([str(compiled.BUILT / "request"), "empty", "1"], environments[name]):
            raise processes.Failure(f"{found[name].path} has no epochs that work: build it anew by `make build`.")


def shuffled(outcome, environments, arguments):
    """The groups in a new random order, and the variants of each one after another, in random order, too."""

    def job_of(variant):
        def job(number, at):
            argv = variant.argv(compiled.BUILT, arguments.quick)
            run = processes.figures(argv, environments[variant.allocator], variant.who)
            outcome.add(variant, run | {"round": number, "at_seconds": at})

        return variant.who, job

    for group in random.sample(arguments.groups, len(arguments.groups)):
        variants = [variant for variant in outcome.variants if variant.group == group]
        yield from map(job_of, random.sample(variants, len(variants)))


def notes(rounds, arguments, facts, left_out):
    """What the tables must be read with."""
    yield (
        f"Medians of {rounds} rounds; in each, every variant is a run of its own, in random order. Ratios are taken "
        "round by round: median (95 % bootstrap interval). A limit is met when the better end of the interval reaches "
        "it. Times are the processor's for the process, after a warm-up; memory is Rss of smaps_rollup. All objects "
        "are checked: in the timed runs those of a request before the timing, elsewhere every one."
    )
    yield from left_out
    yield from honesty.caveats(arguments, rounds, facts)


def pool_version():
    with contextlib.suppress(OSError):
        done = subprocess.run(["pkg-config", "--modversion", "apr-1"], capture_output=True, text=True, check=False)
        return f"APR {done.stdout.strip()}"
    return ""


def setting_of(facts, found, has_pools):
    for name, text in study.setting(facts, found):
        yield name, f"{text}, {pool_version()}" if name == "peers" and has_pools else text


def write_json(path, facts, found, outcome):
    libraries = installed.as_facts(found)
    variants = [
        dataclasses.asdict(variant) | {"runs": outcome.runs[variant.name, variant.allocator]}
        for variant in outcome.variants
    ]
    document = {"format": 1, "machine": facts, "libraries": libraries, "variants": variants}
    path.write_text(json.dumps(document, indent=1) + "\n")


def prepare(arguments):
    """The libraries, the environment for each, the names of the programs, and what is missing."""
    found, missing = installed.found(with_base(arguments.allocators, arguments.baseline), arguments.library)
    left_out = [f"{name} takes no part: {why}" for name, why in missing.items()]
    facts = study.facts()
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
    return facts, found, environments, set(wanted), left_out


def run(arguments):
    refuse_nonsense(arguments)
    console = layout.console()
    facts, found, environments, built, left_out = prepare(arguments)
    outcome = cases.Outcome(variants_of(arguments, found, built))
    if not outcome.variants:
        raise processes.Failure("Nothing of this can be measured on these allocators: name others with --allocators.")

    def order():
        return shuffled(outcome, environments, arguments)

    rounds = study.measured(arguments, console, len(outcome.variants), order, facts)
    paragraphs = list(notes(rounds, arguments, facts, left_out))
    setting = list(setting_of(facts, found, "pool" in built))
    study.show(console, tables.all_tables(outcome).values(), paragraphs, setting)
    if arguments.json:
        write_json(arguments.json, facts, found, outcome)
    if arguments.markdown:
        arguments.markdown.write_text(tables.markdown_page(outcome, setting, paragraphs))
    missed = list(tables.misses(outcome))
    for line in missed:
        print(f"missed: {line}", flush=True)
    return 1 if missed and arguments.check else 0
