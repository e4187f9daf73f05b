"""`lab requests`: drives a real HTTP server at a fixed rate, on tslab under every epoch policy and on other
allocators, and shows what that does to its latency and memory."""

import argparse
import dataclasses
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tslab_lab.allocators import installed, sides, variants
from tslab_lab.allocators.sides import BASE
from tslab_lab.base import processes
from tslab_lab.base.shapes import CaseFacts, Environment, Figures, Words
from tslab_lab.display import layout
from tslab_lab.display.figures import available
from tslab_lab.measure import measurement, rounds
from tslab_lab.request_server import compiled, driver, figures, notes, outcomes, survivors, tables
from tslab_lab.request_server.outcomes import CPU, DEFERRED, INSIDE, OURS, WALL, Column
from tslab_lab.results.storage import Results

NAME = "requests"
HELP = "a real HTTP server under load, on every epoch policy and allocator"
DESCRIPTION = "Drives a real HTTP server at a fixed rate, on tslab under every epoch policy and on other allocators."

POLICIES = ("never", "per-request", "batch-16", "interval-50", "manual", INSIDE)
POLICY = re.compile(r"never|per-request|batch-[1-9][0-9]*|interval-[1-9][0-9]*|manual|inside")
SERVER, SCATTERED = outcomes.SERVER, outcomes.SCATTERED
STUDY: dict[str, Any] = {
    "requests": 1200,
    "workers": 4,
    "session_percent": 0,
    "policies": ["never"],
    "scenarios": [SERVER],
}
LONGEST_SECONDS = 80  # of one load: what runs longer counts as hung
PACKAGES = ("nghttp2-client", "libmicrohttpd12")
ROUNDS = (10, 1)
WITH_EPOCHS = f"{OURS}, epochs"  # the scattered survivors, in an epoch of their own
TIMES = {CPU: "handler, processor's time", WALL: "handler, wall clock"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add, words = parser.add_argument, installed.words
    measurement.add_options(parser, seconds=1500, rounds=ROUNDS, allocators=("debian", OURS))
    add("--scenarios", type=words, metavar="A,B", help=f"some of: {SERVER},{SCATTERED} (default: both)")
    inside = "'inside' is per-request with the sessions inside of the requests' epochs"
    policies = f"of TSLAB_EPOCH_POLICY; {inside} (default: {','.join(POLICIES)})"
    add("--policies", type=words, metavar="P,P", help=policies)
    add("--preset", choices=["study"], help="study: 1,200 requests, 4 workers, policy never, the server alone")
    add("--requests", type=int, help="of each run (default: 6000)")
    add("--rate", type=int, default=2000, help="requests a second (default: %(default)s)")
    add("--workers", type=int, help="threads of the server (default: 4)")
    add("--session-percent", type=int, help="of the requests make a session (default: 20; of study: 0)")
    add("--session-limit", type=int, default=1000, help="sessions at once (default: %(default)s)")
    shift = "ask for rows of one band of sizes after the other, instead of all sizes at all times"
    add("--shift", action="store_true", help=shift)
    add(
        "--deferred",
        action="store_true",
        help="also a build that recycles only at close, which this makes (lab/variants)",
    )
    add("--figures", type=Path, metavar="DIR", help="where to draw (default: beside the page, or the results)")
    add("--no-figures", action="store_true", help="draw nothing")
    measurement.add_page(parser)
    add("--check", action="store_true", help="exit with 1 where a limit is missed")


def complete(arguments: argparse.Namespace) -> None:
    """What was not said comes from the preset, else from the defaults."""
    preset = STUDY if arguments.preset == "study" else {}
    quick = arguments.quick
    defaults: dict[str, Any] = {
        "requests": 1000 if quick else 6000,
        "workers": 4,
        "session_percent": 20,
        "policies": list(POLICIES),
    }
    defaults |= {"scenarios": [SERVER, SCATTERED]} | preset
    for name, value in defaults.items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, value)


def refuse_nonsense(arguments: argparse.Namespace) -> None:
    error = arguments.error
    arguments.rounds = measurement.rounds_wanted(arguments, ROUNDS)
    measurement.require_checkable(arguments)
    measurement.require_writable(arguments)
    limits = {"requests": (1, 10_000_000), "rate": (1, 100_000), "workers": (2, 64)}
    limits |= {"session_percent": (0, 100), "session_limit": (0, 1 << 20)}
    for name, (least, most) in limits.items():
        if not least <= getattr(arguments, name) <= most:
            error(f"--{name.replace('_', '-')} must be from {least:,} to {most:,}")
    unknown = [policy for policy in arguments.policies if not POLICY.fullmatch(policy)]
    if unknown or not arguments.policies:
        known = f"there are {', '.join(POLICIES)}, also with other numbers"
        error(f"--policies: there is no {', '.join(unknown) or 'name'}; {known}")
    strange = set(arguments.scenarios) - {SERVER, SCATTERED}
    if strange or not arguments.scenarios:
        error(f"--scenarios: there is no {', '.join(sorted(strange)) or 'name'}; there are {SERVER} and {SCATTERED}")
    clients = load_of(arguments).clients
    if arguments.requests < clients:
        error(f"--requests must be at least {clients}, one for each connection that this --rate needs")
    if arguments.requests / arguments.rate > LONGEST_SECONDS:
        error(f"--requests at this --rate take longer than {LONGEST_SECONDS} s: fewer, or more --rounds instead")
    if arguments.deferred and not sides.have_ours(arguments.allocators):
        error(f"--deferred is compared with {OURS}, which --allocators leaves out")


def load_of(arguments: argparse.Namespace) -> driver.Load:
    load = driver.Load(
        requests=arguments.requests,
        rate=arguments.rate,
        workers=arguments.workers,
        session_percent=arguments.session_percent,
        session_limit=arguments.session_limit,
        warm_up=0,
        idle_seconds=0.3 if arguments.quick else 2.0,
        shift=arguments.shift,
    )
    return dataclasses.replace(load, warm_up=max(load.clients, 100 if arguments.quick else 400))


def scattered_of(arguments: argparse.Namespace) -> survivors.Scattered:
    if arguments.quick:
        return survivors.Scattered(requests=40, survivors=320, idle_ms=100)
    return survivors.Scattered()


def columns_of(arguments: argparse.Namespace, found: Iterable[str]) -> list[Column]:
    columns = [Column(name) for name in found if name not in (OURS, BASE)]
    if OURS in found:
        columns += [Column(OURS, policy) for policy in arguments.policies]
    if arguments.deferred:
        columns.append(Column(DEFERRED, "never"))
    return columns


def check_allocators(found: Mapping[str, installed.Library]) -> dict[str, Environment]:
    """The environment for each allocator, proven to give the server the malloc that is wanted."""
    probe: Words = [compiled.SERVER, "--probe"]
    environments: dict[str, Environment] = {}
    for name, library in found.items():
        environment = installed.proven_environment(library, probe, "the server")
        environment.pop("TSLAB_EPOCH_POLICY", None)
        environments[DEFERRED if name == BASE else name] = environment
    return environments


def package_versions() -> str:
    argv = ["dpkg-query", "-W", "-f", "${Package} ${Version}, ", *PACKAGES]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
    except OSError:
        return "-"
    return done.stdout.strip(", ") or "-"


def measurer(
    load: driver.Load,
    scattered: survivors.Scattered,
    environments: Mapping[str, Environment],
    columns: Sequence[Column],
) -> rounds.Measure:
    """What a round runs. The name is that of a column or of an allocator."""
    by_name = {column.name: column for column in columns}

    def serve(name: str) -> Figures:
        column = by_name[name]
        environment = environments[column.allocator] | column.environment
        manual = column.policy == "manual"
        run = driver.run_once(load, environment, f"the server on {name}", column.sessions, manual)
        return outcomes.record_of(run, TIMES)

    def scatter(name: str) -> Figures:
        epochs = name == WITH_EPOCHS
        environment = environments[OURS if epochs else name]
        return survivors.run_once(scattered, environment, f"scattered survivors on {name}", epochs)

    return lambda case, name: serve(name) if case == SERVER else scatter(name)


def plan_of(
    arguments: argparse.Namespace, environments: Mapping[str, Environment], columns: Sequence[Column]
) -> dict[str, list[str]]:
    plan: dict[str, list[str]] = {}
    if SERVER in arguments.scenarios:
        plan[SERVER] = [column.name for column in columns]
    if SCATTERED in arguments.scenarios:
        plan[SCATTERED] = [*environments, *([WITH_EPOCHS] if OURS in environments else [])]
    return plan


def facts_of(arguments: argparse.Namespace) -> dict[str, CaseFacts]:
    """What the results say of the cases."""
    title = "many requests are alive together and end; a few of their objects stay"
    return {
        SERVER: {"group": NAME, "title": DESCRIPTION, "parameters": dataclasses.asdict(load_of(arguments))},
        SCATTERED: {"group": NAME, "title": title, "parameters": dataclasses.asdict(scattered_of(arguments))},
    }


def named_libraries(
    plan: Mapping[str, Iterable[str]], columns: Sequence[Column], found: Mapping[str, installed.Library]
) -> dict[str, installed.Library]:
    """By what the results call them."""
    known = {DEFERRED if name == BASE else name: library for name, library in found.items()}
    allocators = {column.name: column.allocator for column in columns} | {WITH_EPOCHS: OURS}
    names = dict.fromkeys(name for names in plan.values() for name in names)
    return {name: dataclasses.replace(known[allocators.get(name, name)], title=name) for name in names}


def show(told: "Told") -> None:
    shown: list[layout.Table] = []
    if told.outcome:
        shown = tables.server_tables(told.outcome)
    if told.scattered:
        shown = [*shown, tables.scattered_table(told.scattered)]
    paragraphs = ["\n\n".join([*told.said[SERVER], *told.said[SCATTERED]])]
    layout.show(layout.console(), shown, paragraphs, told.setting, width=layout.WIDTH)


def draw(told: "Told", folder: Path) -> dict[str, str]:
    if not told.outcome or not told.load:
        return {}
    problem = available()
    if problem:
        print(f"requests: {problem}", file=sys.stderr)
        return {}
    titles = figures.draw(told.outcome, folder, told.load.idle_seconds)
    print(f"Figures: {', '.join(titles)} (and .pdf) in {folder}")
    return titles


def prepare(arguments: argparse.Namespace) -> tuple[dict[str, installed.Library], dict[str, Environment]]:
    """The libraries, and the environment for each, when all that is needed is there."""
    if arguments.deferred:
        print("Building the variant that recycles only at close ...", flush=True)
        variants.build((variants.DEFERRED,), False)
    deferred = variants.DEFERRED.library if arguments.deferred else None
    found = sides.here(sides.with_base(arguments.allocators, deferred), arguments.library)
    driver.require_h2load()
    for program in (compiled.SERVER, compiled.SCATTERED):
        compiled.build(program)
    environments = check_allocators(found)
    needs_epochs = SCATTERED in arguments.scenarios or set(arguments.policies) != {"never"}
    least = survivors.Scattered(requests=1, objects=8, survivors=1, idle_ms=0).argv(epochs=True)
    if OURS in environments and needs_epochs and not processes.ends_well(least, environments[OURS]):
        raise processes.Failure(
            f"{found[OURS].path} has no epochs: build it anew by `make build`, or say --preset study."
        )
    return found, environments


def run(arguments: argparse.Namespace) -> int:
    complete(arguments)
    refuse_nonsense(arguments)
    libraries, environments = prepare(arguments)
    load, wanted = load_of(arguments), scattered_of(arguments)
    columns = columns_of(arguments, libraries)
    plan = plan_of(arguments, environments, columns)
    measure = measurer(load, wanted, environments, columns)
    named, facts = named_libraries(plan, columns, libraries), facts_of(arguments)
    facts, settings = {case: facts[case] for case in plan}, {"server, client": package_versions()}
    found, interrupted = measurement.measured(
        NAME, arguments, arguments.rounds, plan, measure, named, facts, settings=settings
    )
    told = Told(found)
    if not (told.outcome or told.scattered):
        raise processes.Failure(found.failures[0]["why"])
    show(told)
    drawn = not arguments.no_figures
    if drawn and not arguments.markdown:
        draw(told, arguments.figures or found.path.parent)
    measurement.write_page(
        arguments,
        found,
        lambda found, path: text_of(found, (arguments.figures or path.parent) if drawn else None, path),
    )
    for line in told.missed:
        print(f"missed: {line}")
    if told.unjudged and arguments.check:
        print(f"--check: {told.unjudged}")
    return measurement.end(found, interrupted, 1 if arguments.check and (told.missed or told.unjudged) else 0)


class Told:
    """What a file of results says."""

    def __init__(self, found: Results) -> None:
        known, parameters = list(found.header["allocators"]), found.header["cases"]
        ran = {case: {run["allocator"] for run in found.runs if run["case"] == case} for case in (SERVER, SCATTERED)}
        self.load = driver.Load(**parameters[SERVER]["parameters"]) if SERVER in parameters else None
        columns = [Column.of(name) for name in known if name in ran[SERVER]]
        self.outcome = outcomes.of(found, columns)
        self.scattered = outcomes.scattered_of(found, [name for name in known if name in ran[SCATTERED]], [WITH_EPOCHS])
        self.unjudged = outcomes.judgeable(self.outcome) if self.outcome else ""
        self.missed = list(outcomes.misses(self.outcome)) if self.outcome and not self.unjudged else []
        self.missed += list(self.scattered.misses()) if self.scattered else []
        self.said: dict[str, list[str]] = {SERVER: [], SCATTERED: []}
        if self.outcome and self.load:
            self.said[SERVER] = [
                *notes.of_server(self.outcome, self.load, found.rounds),
                *notes.story(self.outcome),
            ]
        if self.scattered:
            idle_ms = parameters[SCATTERED]["parameters"]["idle_ms"]
            self.said[SCATTERED] = list(notes.of_survivors(self.scattered, idle_ms))
        self.said[SERVER if self.outcome else SCATTERED] += measurement.remarks(found)
        self.setting = [*measurement.setting(found), *found.header["settings"].items()]


def page(found: Results, path: Path) -> str:
    """Of a file of results, in Markdown; its figures go beside `path`."""
    return text_of(found, path.parent, path)


def text_of(found: Results, folder: Path | None, path: Path) -> str:
    """The page that will be at `path`; its figures go to `folder`, if there is one."""
    told = Told(found)
    titles = draw(told, folder) if folder else {}
    return tables.markdown_page(
        told.outcome,
        told.scattered,
        told.setting,
        list(notes.answer(told.outcome, told.scattered)),
        told.said,
        titles,
        told.missed,
        told.unjudged,
        path,
    )
