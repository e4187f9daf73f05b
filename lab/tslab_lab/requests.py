"""`tslab requests`: drives a real HTTP server at a fixed rate, on tslab under every epoch policy and on other
allocators, and shows what that does to its latency and memory."""

import dataclasses
import json
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console

from tslab_lab import (
    allocators,
    bench_tables,
    honesty,
    machine,
    places,
    programs,
    progress,
    requests_build,
    requests_load,
    requests_scattered,
)
from tslab_lab import requests_figures as figures
from tslab_lab import requests_outcome as outcomes
from tslab_lab import requests_tables as tables
from tslab_lab.epochs_cases import BASE, DEBIAN
from tslab_lab.figures import available
from tslab_lab.requests_outcome import DEFERRED, INSIDE, OURS, Column

NAME = "requests"
HELP = "a real HTTP server under load, on every epoch policy and allocator"
DESCRIPTION = "Drives a real HTTP server at a fixed rate, on tslab under every epoch policy and on other allocators."

POLICIES = ("never", "per-request", "batch-16", "interval-50", "manual", INSIDE)
POLICY = re.compile(r"never|per-request|batch-[1-9][0-9]*|interval-[1-9][0-9]*|manual|inside")
SERVER, SCATTERED = "server", "scattered"
STUDY = {"requests": 1200, "workers": 4, "policies": ["never"], "scenarios": [SERVER]}
SHIFTING = "The rows are of one band of sizes after the other (from 32 to 64 bytes up to 1 to 2 KiB). "
LONGEST_SECONDS = 80  # of one load: what runs longer counts as hung
PACKAGES = ("nghttp2-client", "libmicrohttpd12")


def add_arguments(parser):
    add, words = parser.add_argument, allocators.words
    add("--rounds", type=int, help="each runs everything once (default: 10; with --quick: 1)")
    add("--seconds", type=float, default=1500, help="start no round that would end later (default: %(default)s)")
    add("--scenarios", type=words, metavar="A,B", help=f"some of: {SERVER},{SCATTERED} (default: both)")
    names = ",".join(DEBIAN)
    add("--allocators", type=words, default=DEBIAN, metavar="A,B", help=f"some of: {names}")
    inside = "'inside' is per-request with the sessions inside of the requests' epochs"
    policies = f"of TSLAB_EPOCH_POLICY; {inside} (default: {','.join(POLICIES)})"
    add("--policies", type=words, metavar="P,P", help=policies)
    add("--preset", choices=["study"], help="study: 1,200 requests, 4 workers, policy never, the server alone")
    add("--requests", type=int, help="of each run (default: 6000)")
    add("--rate", type=int, default=2000, help="requests a second (default: %(default)s)")
    add("--workers", type=int, help="threads of the server (default: 4)")
    add("--session-percent", type=int, default=20, help="of the requests make a session (default: %(default)s)")
    add("--session-limit", type=int, default=1000, help="sessions at once (default: %(default)s)")
    shift = "ask for rows of one band of sizes after the other, instead of all sizes at all times"
    add("--shift", action="store_true", help=shift)
    add("--quick", action="store_true", help="little work, one round: shows that it runs, and no more")
    add("--brief", action="store_true", help="show one table and no notes")
    add("--library", type=Path, metavar="PATH", help="tslab's drop-in (default: the one that was built)")
    add("--deferred", type=Path, metavar="PATH", help="a build that recycles only at close, to be compared under never")
    add("--figures", type=Path, metavar="DIR", help="where to draw (default: beside the page, or build/lab/figures)")
    add("--no-figures", action="store_true", help="draw nothing")
    add("--json", type=Path, metavar="FILE", help="write the figures of every run, and the machine's, to a file")
    add("--markdown", type=Path, metavar="FILE", help="write the tables as a page for docs/results")
    add("--check", action="store_true", help="exit with 1 where a limit is missed")

def complete(arguments):
    """What was not said comes from the preset, else from the defaults."""
    preset = STUDY if arguments.preset == "study" else {}
    quick = arguments.quick
    defaults = {"requests": 1000 if quick else 6000, "workers": 4, "policies": list(POLICIES)}
    defaults |= {"scenarios": [SERVER, SCATTERED], "rounds": 1 if quick else 10} | preset
    for name, value in defaults.items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, value)
    if arguments.figures is None:
        arguments.figures = arguments.markdown.absolute().parent if arguments.markdown else places.BUILT / "figures"


def refuse_nonsense(arguments, error):
    limits = {"rounds": (1, 1000), "requests": (1, 10_000_000), "rate": (1, 100_000), "workers": (2, 64)}
    limits |= {"session_percent": (0, 100), "session_limit": (0, 1 << 20)}
    for name, (least, most) in limits.items():
        if not least <= getattr(arguments, name) <= most:
            error(f"--{name.replace('_', '-')} must be from {least:,} to {most:,}")
    unknown = set(arguments.allocators) - set(DEBIAN)
    if unknown or not arguments.allocators:
        error(f"--allocators: there is no {', '.join(sorted(unknown)) or 'name'}")
    unknown = [policy for policy in arguments.policies if not POLICY.fullmatch(policy)]
    if unknown or not arguments.policies:
        known = f"there are {', '.join(POLICIES)}, also with other numbers"
        error(f"--policies: there is no {', '.join(unknown) or 'name'}; {known}")
    unknown = set(arguments.scenarios) - {SERVER, SCATTERED}
    if unknown or not arguments.scenarios:
        error(f"--scenarios: there is no {', '.join(sorted(unknown)) or 'name'}; there are {SERVER} and {SCATTERED}")
    clients = load_of(arguments).clients
    if arguments.requests < clients:
        error(f"--requests must be at least {clients}, one for each connection that this --rate needs")
    if arguments.requests / arguments.rate > LONGEST_SECONDS:
        error(f"--requests at this --rate take longer than {LONGEST_SECONDS} s: fewer, or more --rounds instead")
    if arguments.check and arguments.rounds < outcomes.FEW_ROUNDS:
        error(f"--check needs --rounds of at least {outcomes.FEW_ROUNDS}: fewer give no intervals to rely on")
    if arguments.deferred and OURS not in arguments.allocators:
        error(f"--deferred is compared with {OURS}, which --allocators leaves out")
    for file in filter(None, (arguments.json, arguments.markdown)):
        if not os.access(file.absolute().parent, os.W_OK):
            error(f"cannot write {file}: there is no such directory, or it is not yours")


def load_of(arguments):
    load = requests_load.Load(
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


def scattered_of(arguments):
    if arguments.quick:
        return requests_scattered.Scattered(requests=40, survivors=320, idle_ms=100)
    return requests_scattered.Scattered()


def columns_of(arguments, found):
    columns = [Column(name) for name in found if name not in (OURS, BASE)]
    if OURS in found:
        columns += [Column(OURS, policy) for policy in arguments.policies]
    if arguments.deferred:
        columns.append(Column(DEFERRED, "never"))
    return columns


def check_allocators(found):
    """The environment for each allocator, proven to give the server the malloc that is wanted."""
    probe, environments = [requests_build.SERVER, "--probe"], {}
    for name, library in found.items():
        environment = allocators.proven_environment(library, probe, "the server")
        environment.pop("TSLAB_EPOCH_POLICY", None)
        environments[DEFERRED if name == BASE else name] = environment
    return environments


def has_epochs(environment):
    """Whether the program finds tslab's epochs there."""
    argv = requests_scattered.Scattered(requests=1, objects=8, survivors=1, idle_ms=0).argv(epochs=True)
    done = subprocess.run(argv, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return done.returncode == 0


class Jobs:
    """All that a round runs, in any order: (what it is, a function that runs it and keeps the result)."""

    def __init__(self, arguments, environments, columns):
        self.outcome = self.scattered = None
        self._jobs = []
        if SERVER in arguments.scenarios:
            self.outcome = outcomes.Outcome(columns)
            load = load_of(arguments)
            self._jobs += [self._server_job(load, column, environments[column.allocator]) for column in columns]
        if SCATTERED in arguments.scenarios:
            with_epochs = f"{OURS}, epochs"
            self.scattered = outcomes.ScatteredOutcome([with_epochs])
            scattered = scattered_of(arguments)
            self._jobs += [self._scattered_job(scattered, name, environments[name], False) for name in environments]
            if OURS in environments:
                self._jobs.append(self._scattered_job(scattered, with_epochs, environments[OURS], True))

    def __len__(self):
        return len(self._jobs)

    def shuffled(self):
        return random.sample(self._jobs, len(self._jobs))

    def _server_job(self, load, column, environment):
        def run(number, at):
            who = f"the server on {column.name}"
            result = requests_load.run_once(
                load, environment | column.environment, who, column.sessions, manual=column.policy == "manual"
            )
            self.outcome.runs[column.name].append(result | {"round": number, "at_seconds": at})

        return column.name, run

    def _scattered_job(self, scattered, name, environment, epochs):
        def run(number, at):
            result = requests_scattered.run_once(scattered, environment, f"scattered survivors on {name}", epochs)
            self.scattered.add(name, result | {"round": number, "at_seconds": at})

        self.scattered.runs[name] = []  # the order of the table
        return f"scattered, {name}", run


def run_rounds(jobs, arguments, bar):
    """Every round runs all jobs once, in a new random order. Returns how many rounds there was time for."""
    start = time.monotonic()
    for number in range(1, arguments.rounds + 1):
        for what, run in jobs.shuffled():
            bar.begin(f"round {number}: {what}")
            run(number, round(time.monotonic() - start, 3))
            bar.end(None)
        bar.round_done(number, arguments.rounds)
        spent = time.monotonic() - start
        if spent + spent / number > arguments.seconds:
            return number
    return arguments.rounds


def server_notes(outcome, arguments, rounds):
    """What the server's tables must be read with."""
    runs = [run for runs in outcome.runs.values() for run in runs]
    count = sum(run["server"]["wall"]["count"] for run in runs)
    objects = sum(run["server"]["objects"] for run in runs) / count
    kilobytes = sum(run["server"]["bytes"] for run in runs) / count / 1000
    made = sum(run["server"]["sessions"]["created"] for run in runs) / count
    slowest = min(run["rate"] for run in runs)
    load = load_of(arguments)
    yield (
        f"An HTTP/1.1 server (libmicrohttpd, {load.workers} workers) answers {load.requests:,} requests in each run, "
        f"after {load.warm_up} to warm up. h2load sends them over {load.clients} connections, {load.rate:,} a second "
        f"({slowest:,.0f} at least were reached). A request parses and copies its headers, parameters and JSON, reads "
        f"rows, builds an answer and drops all of that: {objects:.0f} objects and {kilobytes:.1f} KB on average, all "
        f"written and checked. {SHIFTING if load.shift else ''}"
        f"{100 * made:.0f} % of the requests make a session of 5 to 7 objects. "
        f"{load.session_limit:,} sessions live, from the start on, and a new one takes the place of any."
    )
    yield (
        f"{rounds} rounds; in each, everything once, in random order. Means and percentiles are of the requests of all "
        "rounds together, from histograms with buckets of 1 %; a percentile that fewer than 10 exceed is a dash. "
        "Ratios are taken round by round: median (95 % bootstrap interval). Memory and slabs: medians of the "
        "rounds. The client and the server share the machine's processors, so the wall clock counts what others did "
        "meanwhile: see the involuntary switches (of handlers, per 1,000 requests). Whole server: the processor's time "
        "of the process for a request, with the network and the HTTP library."
    )
    yield (
        f"RSS before: nothing served yet. After: when the load has ended. After idling: {load.idle_seconds:g} s later; "
        "the sessions are still there. Growth: of the RSS, from a quarter of the load to its end. inside: as "
        "per-request, but the sessions are allocated inside of the requests' epochs, where they pin memory of requests "
        "that are over. manual: the epochs are rotated at half of the load and at its end."
    )


def scattered_notes(scattered, arguments):
    run = next(runs[0] for runs in scattered.runs.values() if runs)
    sizes = f"{run['objects'] // run['requests']:,} objects (16 to 512 bytes)"
    idle = scattered_of(arguments).idle_ms / 1000
    yield (
        f"{run['requests']} requests of {sizes} are alive together, {run['bytes'] / 2**20:.0f} MiB; then all end. "
        f"{run['survivors']:,} objects ({run['survivor_bytes'] / 2**20:.1f} MiB), at random among the others, stay. "
        "With epochs, each request has one, closed with reclaim at its end, and the survivors another. RSS above that "
        f"at the start: at its peak, when the last request has ended, {idle:g} s later, and when the program has "
        "called what its allocator has to give memory back (malloc_trim, mi_collect, ReleaseFreeMemory, arena purge)."
    )


def story(outcome):
    """What the figures say of recycling, in words."""
    deferred, ours = outcome.column(f"{DEFERRED} never"), outcome.column(f"{OURS} never")
    if deferred is None or ours is None:
        return
    opened = [tables.short(outcome.median(column, outcomes.slabs("opened"))) for column in (deferred, ours)]
    growth = [tables.signed(outcome.median(column, outcomes.growth_kib)) for column in (deferred, ours)]
    yield (
        f"Under never, deferred recycling opens {opened[0]} slabs per 1,000 requests, and its RSS changes by "
        f"{growth[0]} KiB; continuous recycling opens {opened[1]}, and its RSS changes by {growth[1]} KiB."
    )


def package_versions():
    argv = ["dpkg-query", "-W", "-f", "${Package} ${Version}, ", *PACKAGES]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
    except OSError:
        return "-"
    return done.stdout.strip(", ") or "-"


def setting_of(facts, versions):
    yield from machine.setting(facts, versions)
    yield "server, client", package_versions()


def write_json(path, facts, found, arguments, jobs):
    libraries = allocators.as_facts(found)
    load = dataclasses.asdict(load_of(arguments))
    document = {"format": 1, "machine": facts, "libraries": libraries, "load": load}
    document["server"] = jobs.outcome.runs if jobs.outcome else None
    document["scattered"] = jobs.scattered.runs if jobs.scattered else None
    path.write_text(json.dumps(document) + "\n")


def show(console, jobs, setting, notes, brief):
    def say(*lines):
        console.print(*lines, sep="\n", width=bench_tables.WIDTH, markup=False, highlight=False)

    shown = []
    if jobs.outcome:
        shown = [tables.brief_table(jobs.outcome)] if brief else tables.server_tables(jobs.outcome)
    if jobs.scattered:
        shown = [*shown, tables.scattered_table(jobs.scattered)]
    for table in shown:
        say("", table.title)
        console.print(table.rich())
    if brief:
        return
    for paragraph in [*notes["server"], *notes["scattered"]]:
        say("", paragraph)
    say("", *(f"{name}: {text}" for name, text in setting), "")


def draw(jobs, arguments):
    if arguments.no_figures or not jobs.outcome:
        return {}
    problem = available()
    if problem:
        print(f"requests: {problem}", file=sys.stderr)
        return {}
    titles = figures.draw(jobs.outcome, arguments.figures, load_of(arguments).idle_seconds)
    print(f"Figures: {', '.join(titles)} (and .pdf) in {arguments.figures}")
    return titles


def verdict_of(jobs):
    """What is missed, and why something is not judged (else nothing), in words."""
    unjudged = outcomes.judgeable(jobs.outcome) if jobs.outcome else ""
    missed = list(outcomes.misses(jobs.outcome)) if jobs.outcome and not unjudged else []
    return missed + (list(jobs.scattered.misses()) if jobs.scattered else []), unjudged


def prepare(arguments):
    """The libraries, and the environment for each, when all that is needed is there."""
    names = [*arguments.allocators, *([f"{BASE}={arguments.deferred}"] if arguments.deferred else [])]
    found, missing = allocators.found(names, arguments.library)
    for name, why in missing.items():
        print(f"tslab: {name} takes no part: {why}", file=sys.stderr)
    requests_load.require_h2load()
    facts = machine.facts() | {"busy_share": honesty.busy_share()}
    for program in (requests_build.SERVER, requests_build.SCATTERED):
        requests_build.build(program)
    environments = check_allocators(found)
    needs_epochs = SCATTERED in arguments.scenarios or set(arguments.policies) != {"never"}
    if OURS in environments and needs_epochs and not has_epochs(environments[OURS]):
        raise programs.Failure(f"{found[OURS].path} has no epochs: build it anew by `make build`, or say --preset study.")
    return facts, found, environments


def run(arguments):
    complete(arguments)
    refuse_nonsense(arguments, arguments.error)
    console = Console()
    console.width = max(console.width, bench_tables.WIDTH)
    facts, found, environments = prepare(arguments)
    jobs = Jobs(arguments, environments, columns_of(arguments, found))
    total = arguments.rounds * len(jobs)
    with progress.of(total, console) as bar:
        rounds = run_rounds(jobs, arguments, bar)
    facts["load_at_end"] = os.getloadavg()[0]

    notes = {"server": [], "scattered": []}
    if jobs.outcome:
        notes["server"] = [*server_notes(jobs.outcome, arguments, rounds), *story(jobs.outcome)]
    if jobs.scattered:
        notes["scattered"] = list(scattered_notes(jobs.scattered, arguments))
    notes["server" if jobs.outcome else "scattered"] += honesty.caveats(arguments, rounds, facts)
    setting = list(setting_of(facts, machine.versions({name: library.version for name, library in found.items()})))
    show(console, jobs, setting, notes, arguments.brief)
    titles = draw(jobs, arguments)
    missed, unjudged = verdict_of(jobs)
    if arguments.json:
        write_json(arguments.json, facts, found, arguments, jobs)
    if arguments.markdown:
        page = tables.markdown_page(jobs.outcome, jobs.scattered, setting, notes, titles, missed, unjudged)
        arguments.markdown.write_text(page)
    for line in missed:
        print(f"missed: {line}")
    if unjudged and arguments.check:
        print(f"--check: {unjudged}")
    return 1 if arguments.check and (missed or unjudged) else 0
