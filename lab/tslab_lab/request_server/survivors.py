"""The scattered survivors: many requests alive together, all over, a few of their objects still there."""

from dataclasses import dataclass

from tslab_lab.base import processes
from tslab_lab.base.shapes import Environment, Figures, Run
from tslab_lab.request_server import compiled

LIMIT_KIB = 5 * 1024  # above the start, with the survivors in an epoch of their own


@dataclass(frozen=True)
class Scattered:
    requests: int = 500
    objects: int = 4000
    survivors: int = 4000
    idle_ms: int = 2000

    def argv(self, epochs: bool) -> list[str]:
        argv = [compiled.SCATTERED, "--requests", self.requests, "--objects", self.objects]
        argv += ["--survivors", self.survivors, "--idle-ms", self.idle_ms]
        return [str(word) for word in argv] + (["--epochs"] if epochs else [])


def run_once(scattered: Scattered, environment: Environment, who: str, epochs: bool) -> Figures:
    return processes.figures(scattered.argv(epochs), environment, who)


def above_start(run: Run, when: str) -> int:
    """KiB above the start: `when` is peak, after, later or asked."""
    return run[f"{when}_kib"] - run["start_kib"]
