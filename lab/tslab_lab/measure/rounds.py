"""Runs cases on allocators in rounds: every round runs all cases in a new random order, and each on all allocators one
after another, in random order, too: so what the machine does meanwhile falls on all alike."""

import random
import time

from tslab_lab.base import processes


class Interrupted(Exception):
    """The user has had enough; what was measured until then is in the file."""


def numbers(rounds, seconds):
    """The numbers of the rounds, from 1 on. No round is begun that would end after `seconds`."""
    start = time.monotonic()
    for number in range(1, rounds + 1):
        yield number
        spent = time.monotonic() - start
        if spent + spent / number > seconds:
            return


def run(cases, names, rounds, seconds, measure, writer, bar):
    """`measure(case, name)` gives the figures of one run. No round is started that would end after `seconds`.
    An allocator that fails in a case takes no further part in it. Returns the number of complete rounds."""
    failed, hashes = set(), {}
    complete = 0
    try:
        for number in numbers(rounds, seconds):
            for case in random.sample(cases, len(cases)):
                for name in random.sample(list(names), len(names)):
                    if (case.name, name) in failed:
                        continue
                    bar.begin(f"round {number}: {case.name} on {name}")
                    try:
                        figures = measure(case, name)
                        _require_same_work(case, name, figures, hashes)
                        for histogram in figures.pop("latency", ()):
                            writer.latency(case.name, name, number, histogram)
                        writer.run(case.name, name, number, figures)
                    except processes.Failure as failure:
                        failed.add((case.name, name))
                        writer.failure(case.name, name, number, failure)
                    bar.end()
            complete = number
            bar.round_done(number, rounds)
    except KeyboardInterrupt:
        writer.footer(complete, complete=False)
        raise Interrupted from None
    writer.footer(complete, complete=complete == rounds)
    return complete


def _require_same_work(case, name, figures, hashes):
    """The first allocator that ends sets the hash of the case; who differs has damaged something, or cheated."""
    known = hashes.setdefault(case.name, figures.get("hash"))
    if figures.get("hash") != known:
        raise processes.Failure(
            f"{case.name} on {name} did other work: its hash is {figures.get('hash')}, not {known}."
        )
