"""`tslab epochs`: measures what epochs cost and weigh, against pools, and against allocators without epochs."""

import contextlib
import dataclasses
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console

from tslab_lab import allocators, bench_tables, epochs_build, honesty, intervals, machine, programs, progress
from tslab_lab import epochs_cases as cases
from tslab_lab import epochs_tables as tables
from tslab_lab.allocators import OURS, SYSTEM
from tslab_lab.epochs_cases import BASE, DEBIAN

NAME = "epochs"
HELP = "what epochs cost and weigh, against pools and other allocators"
DESCRIPTION = "Measures what epochs cost and weigh, against APR's pools, and against allocators without epochs."

PROBE = ("malloc", "1")
ROUNDS_MOST = 1000


def add_arguments(parser):
    add, words = parser.add_argument, allocators.words
    add("--rounds", type=int, help="each runs everything once (default: 10; with --quick: 2)")
    add("--seconds", type=float, default=900, help="start no round that would end later (default: %(default)s)")
    add("--groups", type=words, default=list(cases.GROUPS), metavar="A,B", help=f"some of: {','.join(cases.GROUPS)}")
    names = ",".join(DEBIAN)
    add("--allocators", type=words, default=DEBIAN, metavar="A,B", help=f"some of: {names}")
    add("--quick", action="store_true", help="little work, two rounds: shows that it runs, and no more")
    add("--library", type=Path, metavar="PATH", help="tslab's drop-in (default: the one that was built)")
    add("--baseline", type=Path, metavar="PATH", help=f"another build of it, to be compared with it as '{BASE}'")
    add("--json", type=Path, metavar="FILE", help="write the figures of every run, and the machine's, to a file")
    add("--markdown", type=Path, metavar="FILE", help="write the tables as a page for docs/results")
    add("--check", action="store_true", help="exit with 1 where a limit is missed")


def refuse_nonsense(arguments, error):
    if arguments.rounds is None:
        arguments.rounds = 2 if arguments.quick else 10
    if not 1 <= arguments.rounds <= ROUNDS_MOST:
        error(f"--rounds must be from 1 to {ROUNDS_MOST:,}")
    for option, known in (("groups", cases.GROUPS), ("allocators", DEBIAN)):
        wanted = getattr(arguments, option)
        unknown = [name for name in wanted if name not in known]
        if unknown or not wanted:
            error(f"--{option}: there is no {', '.join(unknown) or 'name'}; there are {', '.join(known)}")
    if arguments.check and arguments.rounds < intervals.FEW_ROUNDS:
        error(f"--check needs --rounds of at least {intervals.FEW_ROUNDS}: fewer give no intervals to rely on")
    if arguments.baseline and OURS not in arguments.allocators:
        error(f"--baseline is compared with {OURS}, which --allocators leaves out")
    for file in filter(None, (arguments.json, arguments.markdown)):
        if not os.access(file.absolute().parent, os.W_OK):
            error(f"cannot write {file}: there is no such directory, or it is not yours")


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
    probe = [str(epochs_build.BUILT / "request"), *PROBE]
    proven = {name: allocators.proven_environment(found[name], probe, "the program") for name in found}
    return {SYSTEM: programs.environment()} | proven


def require_epochs(found, environments):
    argv = [str(epochs_build.BUILT / "request"), "empty", "1"]
    for name in (OURS, BASE):
        if name in found:
            done = subprocess.run(
                argv, env=environments[name], stdin=subprocess.DEVNULL, capture_output=True, check=False
            )
            if done.returncode != 0:
                raise programs.Failure(f"{found[name].path} has no epochs that work: build it anew by `make build`.")


def run_once(variant, environment, quick):
    text = programs.run(variant.argv(epochs_build.BUILT, quick), environment, variant.who)
    try:
        return json.loads(text)
    except ValueError:
        raise programs.Failure(f"{variant.who} gave no figures to read:\n{text.strip()}") from None


def run_rounds(outcome, environments, arguments, bar):
    """Every round runs the groups in a new random order, and the variants of each one after another, in random order,
    too. Returns how many rounds there was time for."""
    start = time.monotonic()
    for number in range(1, arguments.rounds + 1):
        for group in random.sample(arguments.groups, len(arguments.groups)):
            variants = [variant for variant in outcome.variants if variant.group == group]
            for variant in random.sample(variants, len(variants)):
                bar.begin(f"round {number}: {variant.who}")
                run = run_once(variant, environments[variant.allocator], arguments.quick)
                outcome.add(variant, run | {"round": number, "at_seconds": round(time.monotonic() - start, 3)})
                bar.end(None)
        bar.round_done(number, arguments.rounds)
        spent = time.monotonic() - start
        if spent + spent / number > arguments.seconds:
            return number
    return arguments.rounds


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


def setting_of(facts, versions, has_pools):
    for name, text in machine.setting(facts, versions):
        yield name, f"{text}, {pool_version()}" if name == "peers" and has_pools else text


def write_json(path, facts, found, outcome):
    libraries = allocators.as_facts(found)
    variants = [
        dataclasses.asdict(variant) | {"runs": outcome.runs[variant.name, variant.allocator]}
        for variant in outcome.variants
    ]
    document = {"format": 1, "machine": facts, "libraries": libraries, "variants": variants}
    path.write_text(json.dumps(document, indent=1) + "\n")


def show(console, outcome, setting, paragraphs):
    def say(*lines):
        console.print(*lines, sep="\n", width=bench_tables.WIDTH, markup=False, highlight=False)

    for table in tables.all_tables(outcome).values():
        say("", table.title)
        console.print(table.rich())
    say("", *paragraphs)
    say("", *(f"{name}: {text}" for name, text in setting), "")


def prepare(arguments):
    """The libraries, the environment for each, the names of the programs, and what is missing."""
    names = [*arguments.allocators, *([f"{BASE}={arguments.baseline}"] if arguments.baseline else [])]
    found, missing = allocators.found(names, arguments.library)
    left_out = [f"{name} takes no part: {why}" for name, why in missing.items()]
    facts = machine.facts() | {"busy_share": honesty.busy_share()}
    pools = epochs_build.pool_programs()
    if not pools:
        packages = " and ".join(epochs_build.POOL_PACKAGES)
        left_out.append(f"APR's pools take no part: their packages, {packages}, are not installed.")
    wanted = {program.name: program for program in (*epochs_build.request_programs(found[OURS].path if OURS in found else None), *pools)}
    if OURS in found and "request-static" not in wanted:
        left_out.append(f"There is no {epochs_build.ARCHIVE} beside the library: nothing is linked with it.")
    for sentence in left_out:
        print(f"epochs: {sentence}", file=sys.stderr)
    for program in wanted.values():
        epochs_build.build(program)
    environments = check_allocators(found)
    require_epochs(found, environments)
    return facts, found, environments, set(wanted), left_out


def run(arguments):
    refuse_nonsense(arguments, arguments.error)
    console = Console()
    console.width = max(console.width, bench_tables.WIDTH)
    facts, found, environments, built, left_out = prepare(arguments)
    outcome = cases.Outcome(variants_of(arguments, found, built))
    if not outcome.variants:
        raise programs.Failure("Nothing of this can be measured on these allocators: name others with --allocators.")
    total = arguments.rounds * len(outcome.variants)
    with progress.of(total, console) as bar:
        rounds = run_rounds(outcome, environments, arguments, bar)
    facts["load_at_end"] = os.getloadavg()[0]

    paragraphs = list(notes(rounds, arguments, facts, left_out))
    setting = list(setting_of(facts, machine.versions({name: library.version for name, library in found.items()}), "pool" in built))
    show(console, outcome, setting, paragraphs)
    if arguments.json:
        write_json(arguments.json, facts, found, outcome)
    if arguments.markdown:
        arguments.markdown.write_text(tables.markdown_page(outcome, setting, paragraphs))
    missed = list(tables.misses(outcome))
    for line in missed:
        print(f"missed: {line}", flush=True)
    return 1 if missed and arguments.check else 0
