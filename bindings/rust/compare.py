#!/usr/bin/python3 -B
"""Runs the benchmarks of the crates in rounds, and writes a page of their results: epochs beside bumpalo and typed-arena, and three crates
on tslab, mimalloc, jemalloc and the system's malloc. For a machine at rest.

usage: compare.py [--rounds 10] [--seconds 1] [--page docs/results/rust.md]

In each round all benchmarks run in a random order. Ratios are taken round by round, so that a machine that slows down slows both.
"""

import argparse
import json
import operator
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "lab"), str(ROOT / "tools")]

from tslab_lab.base import machine  # noqa: E402

BENCHES = ("arenas", "crates_tslab", "crates_mimalloc", "crates_jemalloc", "crates_system")
PEERS = ("bumpalo", "typed-arena", "mimalloc", "libmimalloc-sys", "tikv-jemallocator", "tikv-jemalloc-sys", "serde_json", "regex", "syn", "criterion")
# What is measured against what: the group of a benchmark, ours, and the others.
ARENAS = {"tree": ("tslab, advance", "bumpalo, reset"), "growing vectors": ("tslab, a scope each", "bumpalo, a bump each")}
OURS = "tslab"


def cargo(*words):
    return ["cargo", *words]


def targets():
    directory = os.environ.get("CARGO_TARGET_DIR") or json.loads(
        subprocess.run(cargo("metadata", "--no-deps", "--format-version=1"), cwd=HERE, check=True, capture_output=True, text=True).stdout
    )["target_directory"]
    return pathlib.Path(directory) / "criterion"


def run(bench, seconds):
    options = ["--warm-up-time", str(seconds / 2), "--measurement-time", str(seconds), "--sample-size", "20", "--noplot", "--quiet"]
    subprocess.run(cargo("bench", "--quiet", "--locked", "-p", "tslab-benches", "--bench", bench, "--", *options), cwd=HERE, check=True)


def medians(directory):
    """Of the last run: (group, the rest of its name) -> nanoseconds."""
    found = {}
    for path in directory.rglob("new/benchmark.json"):
        name = json.loads(path.read_text())
        rest = "/".join(word for word in (name["function_id"], name["value_str"]) if word)
        found[name["group_id"], rest] = json.loads((path.parent / "estimates.json").read_text())["median"]["point_estimate"]
    return found


def rounds(count, seconds):
    directory, found = targets(), {}
    for number in range(count):
        for bench in random.sample(BENCHES, len(BENCHES)):
            print(f"round {number + 1} of {count}: {bench}", flush=True)
            run(bench, seconds)
        for name, time in medians(directory).items():
            found.setdefault(name, []).append(time)
    return {name: times for name, times in found.items() if len(times) == count}


def duration(nanoseconds):
    for unit, size in (("ms", 1e6), ("us", 1e3), ("ns", 1)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds:.3g} ns"


def spread(values, form):
    return f"{form(statistics.median(values))} ({form(min(values))} to {form(max(values))})"


def ratio(times, others):
    return spread([mine / other for mine, other in zip(times, others, strict=True)], "{:.2f}".format)


def middle(times, others):
    return statistics.median(map(operator.truediv, times, others))


def table(head, rows):
    return ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1), *("| " + " | ".join(row) + " |" for row in rows), ""]


def arena_times(found):
    """(group, name, value, times, times of what it is compared with) of each benchmark of arenas."""
    for group, (_, base) in ARENAS.items():
        for (of, rest), times in sorted(found.items()):
            name, _, value = rest.partition("/")
            if of == group:
                yield group, name, value, times, found[group, "/".join(word for word in (base, value) if word)]


def arena_rows(found):
    for group, name, value, times, others in arena_times(found):
        mark = " *" if name == ARENAS[group][0] else ""
        yield f"{group} {value}".strip(), name + mark, spread(times, duration), ratio(times, others)


def crate_rows(found):
    groups = {group for group, _ in found} - set(ARENAS)
    for (group, rest), times in sorted(found.items()):
        if group in groups:
            what, allocator = rest.rsplit("/", 1)
            yield f"{group}: {what}", allocator, spread(times, duration), ratio(times, found[group, f"{what}/mimalloc"])


def answer(found):
    """What the page says first: sentences."""
    crates = {}
    for group, rest in found:
        what, _, allocator = rest.rpartition("/")
        if group not in ARENAS and allocator == "tslab":
            crates[f"{group}: {what}"] = middle(found[group, rest], found[group, f"{what}/mimalloc"])
    arenas = {f"{group} {value}".strip(): middle(times, others) for group, name, value, times, others in arena_times(found) if name == ARENAS[group][0]}
    yield f"**As the allocator of a program, tslab takes {span(crates)} times as long as mimalloc.**"
    yield f"**In an epoch, the rows with a * take {span(arenas)} times as long as bumpalo.**"


def span(ratios):
    first, last = min(ratios, key=ratios.get), max(ratios, key=ratios.get)
    return f"{ratios[first]:.2f} ({first}) to {ratios[last]:.2f} ({last})"


def versions():
    locked = dict(re.findall(r'^name = "([^"]+)"\nversion = "([^"+]+)', (HERE / "Cargo.lock").read_text(), re.M))
    return ", ".join(f"{name} {locked[name]}" for name in PEERS)


def page(found, count, seconds, before):
    facts = {**machine.facts(), "load_at_start": before}
    facts["compiler"] = subprocess.run(["rustc", "--version"], check=True, capture_output=True, text=True).stdout.strip() + "; " + facts["compiler"]
    head = [
        "# Rust: epochs beside arenas, and crates on four allocators",
        "",
        *(line for sentence in answer(found) for line in (sentence, "")),
        f"Medians (least to most) of {count} rounds, each with the benchmarks in another order. Ratios are taken round by round. They are by",
        "criterion's medians of each run. Below 1, the allocator of the row is faster than bumpalo, or mimalloc.",
        "",
        f"To repeat it: `bindings/rust/compare.py --rounds {count} --seconds {seconds:g}`.",
        "",
    ]
    setting = ["## Measured on", "", *table(("", ""), machine.setting(facts, os.getloadavg()[0], versions()))]
    arenas = ["## Epochs and arenas", "", "Each builds a tree of nodes, or fills vectors, and ends it all. Rows with a * are held to 1.2.", ""]
    crates = ["## Crates, by allocator of the program", "", "tslab is held to 1.0.", ""]
    ends = ("work", "allocator", "time", "/ bumpalo"), ("work", "allocator", "time", "/ mimalloc")
    lines = [*head, *arenas, *table(ends[0], arena_rows(found)), *crates, *table(ends[1], crate_rows(found)), *setting]
    return "\n".join(lines).rstrip("\n") + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--page", type=pathlib.Path, default=ROOT / "docs/results/rust.md")
    choice = parser.parse_args()
    before = os.getloadavg()[0]
    found = rounds(choice.rounds, choice.seconds)
    choice.page.write_text(page(found, choice.rounds, choice.seconds, before), encoding="utf-8")
    print(choice.page)


main()
