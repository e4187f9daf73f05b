"""The scattered survivors: many requests alive together, all over, a few of their objects still there."""

import json
from dataclasses import dataclass

from tslab_lab import programs
from tslab_lab import requests_build

LIMIT_KIB = 5 * 1024  # above the start, with the survivors in an epoch of their own


@dataclass(frozen=True)
class Scattered:
    requests: int = 500
    objects: int = 4000
    survivors: int = 4000
    idle_ms: int = 2000

    def argv(self, epochs):
        argv = [requests_build.SCATTERED, "--requests", self.requests, "--objects", self.objects]
        argv += ["--survivors", self.survivors, "--idle-ms", self.idle_ms]
        return [str(word) for word in argv] + (["--epochs"] if epochs else [])


def run_once(scattered, environment, who, epochs):
    text = programs.run(scattered.argv(epochs), environment, who)
    try:
        return json.loads(text)
    except ValueError:
        raise programs.Failure(f"{who} gave no figures to read:\n{text.strip()}") from None


def above_start(run, when):
    """KiB above the start: `when` is peak, after, later or asked."""
    return run[f"{when}_kib"] - run["start_kib"]
