#!/usr/bin/python3
"""Weakens one memory order or changes one comparison of the engine at a time, and sees whether the tests find it.

  mutants.py list [PATTERN...]           the names of the mutants; patterns are as in a shell, e.g. 'slab/slab.c:*'
  mutants.py show PATTERN...             what they change
  mutants.py check                       every entry of survivors.toml names a mutant that exists
  mutants.py run [PATTERN...]            all tests of the rig on them; what is known from before is not run again
  mutants.py sample COUNT                a few weaker orders, by the content of the sources, on the scheduler alone

A mutant is killed when a test fails on it. Those that live must be in survivors.toml, and nothing else may be there.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import difflib
import fnmatch
import functools
import hashlib
import itertools
import json
import os
import pathlib
import random
import re
import sys
import tempfile
import threading
import time
import tomllib

import mutate
import rig

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SOURCES = ROOT / "src"
SURVIVORS = HERE / "survivors.toml"
RESULTS = ROOT / "build" / "mutants" / "results.json"

# The tests that say most about each file, by their names in CTest; the first to fail ends it. Under the schedulers:
SLAB = "slab revisit thread"
EPOCH = "epoch epoch-holds epoch-free epoch-late epoch-slab epoch-handle epoch-fork"
SCHEDULED = {
    "api/epoch.c": "epoch instance",
    "os/lock.c": "lock revisit slab",
    "space/arena.c": "depot large slab",
    "slab/chunk.c": "epoch-free epoch epoch-fork",
    "epoch/hold.h": f"{EPOCH} instance",
    "malloc/current_thread.c": "thread fork instance fork-all",
    "epoch/ending.c": f"{EPOCH} instance epoch-policy fork-all",
    "malloc/engine.c": "thread fork instance fork-all",
    "slab/epoch_record.c": f"{EPOCH} instance epoch-policy fork-all",
    "slab/epoch_record.h": f"{EPOCH} instance epoch-policy fork-all",
    "epoch/epoch_alloc.c": f"{EPOCH} epoch-policy fork-all",
    "malloc/fork.c": f"fork {EPOCH} instance fork-all",
    "epoch/hold.c": f"{EPOCH} instance fork-all",
    "slab/hot_runs.c": "large fork-all",
    "space/depot.c": "depot large slab epoch-free",
    "space/free_runs.c": "depot large slab epoch-free",
    "malloc/handle.c": "epoch-handle epoch-fork",
    "thread/exchange.c": "caches",
    "thread/idle.c": "bars keeper",
    "thread/resting.c": "keeper caches",
    "thread/upkeep.c": "caches slab keeper",
    "thread/heap.c": "slab thread caches epoch-slab instance",
    "thread/overflow.c": "outbox caches fork",
    "thread/refill.c": "slab thread caches epoch-slab",
    "thread/tray.c": "caches",
    "thread/thread.c": "thread fork epoch instance fork-all",
    "slab/large.c": "large epoch-free",
    "malloc/fast.h": "slab epoch epoch-free",
    "thread/magazine.h": "slab thread fork",
    "slab/partial_list.c": SLAB,
    "epoch/scope.c": f"{EPOCH} instance epoch-policy fork-all",
    "slab/slab.c": SLAB,
    "report/statistics.c": "instance",
    "epoch/survivors.c": "epoch-policy epoch",
    "space/trap.c": "epoch-policy epoch",
    "epoch/work_unit.c": "instance fork-all",
}
SLAB_FILES = set(SCHEDULED) & {
    "os/lock.c",
    *"space/arena.c space/depot.c slab/large.c slab/partial_list.c slab/slab.c thread/exchange.c thread/heap.c".split(),
    *"thread/magazine.h thread/overflow.c malloc/current_thread.c report/statistics.c".split(),
}

# Left out for time where loads may return older values. The engine as it is passes them (sim-weak-long).
NOT_WEAK = {"depot", "large", "tight", "sweep", "trap", "reclaim", "work", "fork-large"}

# With real threads: where ThreadSanitizer sees orders that are missing, and where every check is on.
SLAB_STRESS = (
    "unit-lock unit-depot stress-begin stress-contend-48 stress-contend-80 stress-traffic-eager "
    "stress-traffic-no-magazines stress-contend-5000 stress-contend-no-magazines stress-traffic "
    "stress-traffic-many-threads epoch-stress epoch-stats"
)
EPOCH_STRESS = (
    "epoch-stress-no-magazines epoch-stress-eager epoch-stress-drain epoch-stress-release epoch-stress-report "
    "epoch-stress-trap epoch-stress epoch-work epoch-stats epoch-instances epoch-life epoch-handles"
)
# With one thread, mostly.
SLAB_CASES = "unit-holes unit-caches stress-forks misuse unit-faults"
EPOCH_CASES = "epoch-refuse epoch-objects storms-forks epoch-policy misuse epoch-faults unit-faults fuzz-seeded"

SAME_CODE = "same code"


class Builds(dict):
    """Build directories by the names that plans give them."""

    def __missing__(self, name):
        self[name] = rig.Build(ROOT / "build" / name)
        return self[name]


builds = Builds()


def plan_of(mutant):
    """(build, tests) to try in turn."""
    scheduled = [f"sim-{name}" for name in SCHEDULED.get(mutant.file, EPOCH).split()]
    stress, cases = (SLAB_STRESS, SLAB_CASES) if mutant.file in SLAB_FILES else (EPOCH_STRESS, EPOCH_CASES)
    if mutant.kind == "comparison":
        return [("release", scheduled), ("debug", f"{stress} {cases}".split())]
    # The same groups of scenarios, which these tests have as arguments.
    groups = [group for name in scheduled for group in builds["release"].test(name).arguments[1:]]
    plan = [("release", [" ".join(["sim-weak", *(group for group in groups if group not in NOT_WEAK)])])]
    # ThreadSanitizer has no total order of the seq_cst operations: to it these are the same.
    if not re.search("_seq_cst to .*_(acquire|acq_rel)", mutant.name):
        plan.append(("tsan", stress.split()))
    return plan


def original_of(mutant):
    return dataclasses.replace(mutant, name="the original", text=(SOURCES / mutant.file).read_text())


class Original:
    """A source as it is, made into programs in the same way as its mutants, to compare these with."""

    def __init__(self, mutant, directory, vouched=False):
        self.name = mutant.file
        self.vouched = vouched
        self.shop = rig.Workshop(original_of(mutant), SOURCES, directory)
        self.lock = threading.Lock()
        self.passed = set()

    def must_pass(self, build, test):
        """A test that fails on the engine as it is says nothing of mutants."""
        with self.lock:
            if not self.vouched and (build, test) not in self.passed:
                why = self.shop.run(build, test)
                if why is not None:
                    raise rig.RigError(f"{test.name} in {build.directory} fails with {self.name} as it is: {why}")
                self.passed.add((build, test))


def try_mutant(mutant, plan, original, directory):
    """(what killed it, why); nothing killed it: (None, why it lives)."""
    shop = rig.Workshop(mutant, SOURCES, directory)
    same = {}
    for build_name, names in plan:
        build = builds[build_name]
        for test in map(build.test, names):
            # Machines with stronger orders than the language have the same code for many; that says nothing of others.
            if mutant.kind == "comparison":
                archives = (build_name, *build.archives(test.program))
                if archives not in same:
                    same[archives] = shop.is_same_code(original.shop, build, archives[1:])
                if same[archives]:
                    continue
            why = shop.run(build, test)
            if why is not None:
                original.must_pass(build, test)
                return f"{build_name}/{test.name}", why
    return None, SAME_CODE if same and all(same.values()) else "no test fails"


def digest(*texts):
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


@functools.cache
def digest_of_rig():
    """Of everything that a survivor's verdict hangs on: the engine, and the tests."""
    kinds = [SOURCES, *(ROOT / "tests" / kind for kind in ("sim", "unit", "storms", "faults", "epoch", "misuse", "common", "mutants"))]
    files = sorted(path for kind in kinds for path in kind.rglob("*") if path.suffix in (".c", ".h", ".py", ".ld"))
    return digest(*(path.read_text() for path in files))


class Results:
    """What is known from this run and those before: who was killed stays so while the source is the same; who lived is tried
    again when the engine or a test has changed."""

    def __init__(self, path):
        self.path = path
        self.known = json.loads(path.read_text()) if path.exists() else {}

    def of(self, mutant):
        entry = self.known.get(mutant.name)
        if entry and entry["mutant"] == digest(mutant.text) and (entry["by"] or entry["rig"] == digest_of_rig()):
            return entry
        return None

    def add(self, mutant, by, why, seconds):
        entry = {"by": by, "why": why, "seconds": seconds, "mutant": digest(mutant.text), "rig": digest_of_rig()}
        self.known[mutant.name] = entry
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(self.known, indent=1, sort_keys=True))
        new.replace(self.path)
        return entry


def selected(mutants, patterns):
    chosen = {n: m for n, m in mutants.items() if not patterns or any(fnmatch.fnmatchcase(n, p) for p in patterns)}
    if not chosen:
        sys.exit(f"mutants.py: no mutant is called like that; `mutants.py list` names them: {' '.join(patterns)}")
    return chosen


def make_programs(plans):
    """Brings what the plans need up to date."""
    tests = collections.defaultdict(set)
    for build_name, names in itertools.chain.from_iterable(plans):
        tests[build_name].update(names)
    for build_name, names in tests.items():
        builds[build_name].make(names)


def run_all(mutants, plan_of, jobs, known, vouched=False):
    """{name: entry} of all mutants; what is not known is run, and said. vouched: that the tests pass on the engine as it is is
    another's to see."""
    entries = {name: known.of(mutant) for name, mutant in mutants.items()}
    due = [mutant for name, mutant in mutants.items() if entries[name] is None]

    def try_one(mutant):
        start = time.monotonic()
        with tempfile.TemporaryDirectory(dir=scratch) as directory:
            by, why = try_mutant(mutant, plan_of(mutant), originals[mutant.file], directory)
        return mutant, by, why, round(time.monotonic() - start, 1)

    with tempfile.TemporaryDirectory(prefix="tslab-mutants-") as scratch, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        originals = {mutant.file: Original(mutant, f"{scratch}/{n}", vouched) for n, mutant in enumerate(due)}
        waiting = [pool.submit(try_one, mutant) for mutant in due]
        try:
            for n, future in enumerate(concurrent.futures.as_completed(waiting), 1):
                mutant, by, why, seconds = future.result()
                entries[mutant.name] = known.add(mutant, by, why, seconds)
                verdict = f"killed by {by}" if by else "lives"
                print(f"{n}/{len(due)} {seconds:5.1f} s  {mutant.name}: {verdict}: {why}", flush=True)
        finally:
            pool.shutdown(cancel_futures=True)
    return entries


class Survivors:
    """What survivors.toml says."""

    def __init__(self, text):
        try:
            listed = tomllib.loads(text)
            groups = listed["lives"]
            # Why nothing kills it.
            self.lives = [(name, group["why"]) for group in groups for name in group["mutants"]]
            # Of these, those that tests with real threads kill when they are lucky.
            self.sometimes = {name for group in groups if group.get("sometimes") for name in group["mutants"]}
            # Orders whose mutants are killed, but not by the schedulers.
            self.elsewhere = list(listed["elsewhere"])
        except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
            sys.exit(f"mutants.py: {SURVIVORS} has 'elsewhere', and 'lives' with 'why' and 'mutants'; it is wrong: {error}")

    def names(self):
        return [name for name, _ in self.lives] + self.elsewhere


def survivors():
    return Survivors(SURVIVORS.read_text())


def complaints_about_list(mutants):
    listed = survivors()
    for name, times in collections.Counter(listed.names()).items():
        if name not in mutants:
            yield f"{SURVIVORS.name} lists {name}, but there is no such mutant: take it out, or see what it is called now."
        if times > 1:
            yield f"{SURVIVORS.name} lists {name} twice."
    for name, why in listed.lives:
        if not why.endswith("."):
            yield f"{SURVIVORS.name} has no sentence that says why {name} lives."


def is_order(name):
    return "_" in name.rsplit(":", 1)[-1]


def complaints_about(entries):
    listed = survivors()
    lives = dict(listed.lives)
    for name, entry in entries.items():
        by = entry["by"]
        scheduled = by is not None and by.startswith("release/")
        if by is None and entry["why"] == SAME_CODE and name in lives:
            yield f"{name} makes the same code as the original: it need not be in {SURVIVORS.name}."
        if by is None and entry["why"] != SAME_CODE and name not in lives:
            yield f"{name} lives: make a test fail on it, or say in {SURVIVORS.name} why none can."
        if by is not None and name in lives and (scheduled or name not in listed.sometimes):
            yield f"{name} is killed by {by}: take it out of {SURVIVORS.name}."
        if scheduled and name in listed.elsewhere:
            yield f"{name} is killed by {by}: take it out of 'elsewhere' in {SURVIVORS.name}."
        # Much that is compared is no matter of any order of steps, and needs no scheduler.
        if by is not None and not scheduled and is_order(name) and name not in [*listed.elsewhere, *lives]:
            yield f"{name} is killed by {by}, by no scheduler: put it into 'elsewhere' in {SURVIVORS.name}."


def finish(complaints):
    complaints = list(complaints)
    for complaint in complaints:
        print(f"mutants.py: {complaint}", file=sys.stderr)
    sys.exit(1 if complaints else 0)


def summarise(entries):
    count = collections.Counter((e["by"] or e["why"]).split("/")[0] for e in entries.values())
    print(", ".join([f"{len(entries)} mutants", *(f"{what}: {n}" for what, n in count.most_common())]))


def do_list(mutants, arguments):
    for name in selected(mutants, arguments.pattern):
        print(name)


def do_show(mutants, arguments):
    for mutant in selected(mutants, arguments.pattern).values():
        lines = (original_of(mutant).text.splitlines(), mutant.text.splitlines())
        print("\n".join(difflib.unified_diff(*lines, mutant.file, mutant.name, lineterm="", n=2)))


def do_check(mutants, arguments):
    del arguments
    finish(complaints_about_list(mutants))


def do_run(mutants, arguments):
    if arguments.fresh:
        arguments.results.unlink(missing_ok=True)
    chosen = selected(mutants, arguments.pattern)
    if arguments.kind:
        chosen = {name: mutant for name, mutant in chosen.items() if mutant.kind == arguments.kind}
        if not chosen:
            sys.exit(f"mutants.py: none of these mutants is of the kind {arguments.kind}")
    known = Results(arguments.results)
    make_programs(plan_of(mutant) for mutant in chosen.values() if known.of(mutant) is None)
    entries = run_all(chosen, plan_of, arguments.jobs, known)
    summarise(entries)
    finish([*complaints_about_list(mutants), *complaints_about(entries)])


def do_sample(mutants, arguments):
    """Other sources, other mutants: over the time all of them have their turn, and a failure can be repeated."""
    builds["release"] = rig.Build(arguments.build)
    excepted = set(survivors().names())
    candidates = sorted(name for name, mutant in mutants.items() if mutant.kind == "order" and name not in excepted)
    if arguments.count < 1:
        sys.exit("mutants.py: a sample has 1 mutant or more")
    chosen = random.Random(digest_of_rig()).sample(candidates, arguments.count)
    with tempfile.TemporaryDirectory() as directory:
        known = Results(pathlib.Path(directory) / "results.json")
        entries = run_all({n: mutants[n] for n in chosen}, lambda mutant: plan_of(mutant)[:1], arguments.jobs, known, True)
    finish([*complaints_about_list(mutants), *complaints_about(entries)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, do in (("list", do_list), ("show", do_show), ("check", do_check), ("run", do_run), ("sample", do_sample)):
        command = commands.add_parser(name)
        command.set_defaults(do=do)
        if name in ("list", "show", "run"):
            command.add_argument("pattern", nargs="*")
        if name in ("run", "sample"):
            command.add_argument("--jobs", type=int, default=os.cpu_count())
        if name == "run":
            command.add_argument("--kind", choices=["order", "comparison"])
            command.add_argument("--results", type=pathlib.Path, default=RESULTS, help="where what is known is kept")
            command.add_argument("--fresh", action="store_true", help="forget what is known from before")
        if name == "sample":
            command.add_argument("count", type=int)
            command.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    arguments = parser.parse_args()
    os.nice(5)
    try:
        arguments.do(mutate.mutants_in(SOURCES), arguments)
    except rig.RigError as error:
        sys.exit(f"mutants.py: {error}")


if __name__ == "__main__":
    main()
