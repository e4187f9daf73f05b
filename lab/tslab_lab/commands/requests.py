"""`tslab requests`: drives a real HTTP server at a fixed rate, on tslab under every epoch policy and on other
allocators, and shows what that does to its latency and memory."""

import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path

from tslab_lab.allocators import installed
from tslab_lab.allocators.catalogue import DEBIAN
from tslab_lab.allocators.sides import BASE, with_base
from tslab_lab.base import places, processes
from tslab_lab.display import layout
from tslab_lab.display.figures import available
from tslab_lab.measure import honesty, study
from tslab_lab.request_server import compiled, driver, figures, notes, outcomes, survivors, tables
from tslab_lab.request_server.jobs import Jobs
from tslab_lab.request_server.outcomes import DEFERRED, INSIDE, OURS, Column

NAME = "requests"
HELP = "a real HTTP server under load, on every epoch policy and allocator"
DESCRIPTION = "Drives a real HTTP server at a fixed rate, on tslab under every epoch policy and on other allocators."

POLICIES = ("never", "per-request", "batch-16", "interval-50", "manual", INSIDE)
POLICY = re.compile(r"never|per-request|batch-[1-9][0-9]*|interval-[1-9][0-9]*|manual|inside")
SERVER, SCATTERED = "server", "scattered"
STUDY = {"requests": 1200, "workers": 4, "policies": ["never"], "scenarios": [SERVER]}
LONGEST_SECONDS = 80  # of one load: what runs longer counts as hung
PACKAGES = ("nghttp2-client", "libmicrohttpd12")


def add_arguments(parser):
    add, words = parser.add_argument, installed.words
    study.add_rounds(parser, few=1, seconds=1500)
    add("--scenarios", type=words, metavar="A,B", help=f"some of: {SERVER},{SCATTERED} (default: both)")
    study.add_allocators(parser)
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
    study.add_library(parser)
    add("--deferred", type=Path, metavar="PATH", help="a build that recycles only at close, to be compared under never")
    add("--figures", type=Path, metavar="DIR", help="where to draw (default: beside the page, or build/lab/figures)")
    add("--no-figures", action="store_true", help="draw nothing")
    study.add_files(parser)


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


def refuse_nonsense(arguments):
    error = arguments.error
    study.refuse_nonsense(arguments)
    limits = {"requests": (1, 10_000_000), "rate": (1, 100_000), "workers": (2, 64)}
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
    if arguments.deferred and OURS not in arguments.allocators:
        error(f"--deferred is compared with {OURS}, which --allocators leaves out")


def load_of(arguments):
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


def scattered_of(arguments):
    if arguments.quick:
        return survivors.Scattered(requests=40, survivors=320, idle_ms=100)
    return survivors.Scattered()


def columns_of(arguments, found):
    columns = [Column(name) for name in found if name not in (OURS, BASE)]
    if OURS in found:
        columns += [Column(OURS, policy) for policy in arguments.policies]
    if arguments.deferred:
        columns.append(Column(DEFERRED, "never"))
    return columns


def check_allocators(found):
    """The environment for each allocator, proven to give the server the malloc that is wanted."""
    probe, environments = [compiled.SERVER, "--probe"], {}
    for name, library in found.items():
        environment = installed.proven_environment(library, probe, "the server")
        environment.pop("TSLAB_EPOCH_POLICY", None)
        environments[DEFERRED if name == BASE else name] = environment
    return environments


def package_versions():
    argv = ["dpkg-query", "-W", "-f", "${Package} ${Version}, ", *PACKAGES]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
    except OSError:
        return "-"
    return done.stdout.strip(", ") or "-"


def write_json(path, facts, found, arguments, jobs):
    libraries = installed.as_facts(found)
    load = dataclasses.asdict(load_of(arguments))
    document = {"format": 1, "machine": facts, "libraries": libraries, "load": load}
    document["server"] = jobs.outcome.runs if jobs.outcome else None
    document["scattered"] = jobs.scattered.runs if jobs.scattered else None
    path.write_text(json.dumps(document) + "\n")


def show(console, jobs, setting, said, brief):
    shown = []
    if jobs.outcome:
        shown = [tables.brief_table(jobs.outcome)] if brief else tables.server_tables(jobs.outcome)
    if jobs.scattered:
        shown = [*shown, tables.scattered_table(jobs.scattered)]
    paragraphs = "\n\n".join([*said["server"], *said["scattered"]])
    study.show(console, shown, *(([], []) if brief else ([paragraphs], setting)))


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
    found = installed.here(with_base(arguments.allocators, arguments.deferred), arguments.library)
    driver.require_h2load()
    facts = study.facts()
    for program in (compiled.SERVER, compiled.SCATTERED):
        compiled.build(program)
    environments = check_allocators(found)
    needs_epochs = SCATTERED in arguments.scenarios or set(arguments.policies) != {"never"}
    least = survivors.Scattered(requests=1, objects=8, survivors=1, idle_ms=0).argv(epochs=True)
    if OURS in environments and needs_epochs and not study.ends_well(least, environments[OURS]):
        raise processes.Failure(
            f"{found[OURS].path} has no epochs: build it anew by `make build`, or say --preset study."
        )
    return facts, found, environments


def run(arguments):
    complete(arguments)
    refuse_nonsense(arguments)
    console = layout.console()
    facts, found, environments = prepare(arguments)
    load = load_of(arguments) if SERVER in arguments.scenarios else None
    scattered = scattered_of(arguments) if SCATTERED in arguments.scenarios else None
    jobs = Jobs(load, scattered, environments, columns_of(arguments, found))
    rounds = study.measured(arguments, console, len(jobs), jobs.shuffled, facts)

    said = {"server": [], "scattered": []}
    if load:
        said["server"] = [*notes.of_server(jobs.outcome, load, rounds), *notes.story(jobs.outcome)]
    if scattered:
        said["scattered"] = list(notes.of_survivors(jobs.scattered, scattered.idle_ms))
    said["server" if load else "scattered"] += honesty.caveats(arguments, rounds, facts)
    setting = [*study.setting(facts, found), ("server, client", package_versions())]
    show(console, jobs, setting, said, arguments.brief)
    titles = draw(jobs, arguments)
    missed, unjudged = verdict_of(jobs)
    if arguments.json:
        write_json(arguments.json, facts, found, arguments, jobs)
    if arguments.markdown:
        page = tables.markdown_page(jobs.outcome, jobs.scattered, setting, said, titles, missed, unjudged)
        arguments.markdown.write_text(page)
    for line in missed:
        print(f"missed: {line}")
    if unjudged and arguments.check:
        print(f"--check: {unjudged}")
    return 1 if arguments.check and (missed or unjudged) else 0
