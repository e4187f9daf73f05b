"""The scenes of `lab demo`: what each runs, on which allocators, and how often."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator

from tslab_lab.allocators import installed
from tslab_lab.allocators.catalogue import OURS, SYSTEM
from tslab_lab.allocators.installed import Library
from tslab_lab.base import machine, processes
from tslab_lab.base.shapes import Environment, Words
from tslab_lab.demo import limits, side_by_side
from tslab_lab.demo.side_by_side import Act
from tslab_lab.real import postgres, redis, spending
from tslab_lab.request_server import scattered
from tslab_lab.results.demo_findings import REST_SECONDS, WITH_EPOCHS
from tslab_lab.workloads import compiled, named
from tslab_lab.workloads.catalogue import SETTLE

KEYS, VALUE_BYTES, AT_ONCE = 100_000, 900, 2500
LIMIT_MIB = 300
MEMORY_SHARE = 0.7  # of what is available
PROBE = "pair:operations=1,size=16"


class Scene:
    """`rounds`: how many, if the user says nothing. `together`: its allocators run side by side, as only memory is told; else
    one after another, by the clock. `quick`: little work."""

    name, title = "", ""
    rounds, together = 3, True
    mib = 150  # of each allocator
    sides: tuple[str, ...] = ()  # none: all that are here

    def __init__(self, quick: bool) -> None:
        self.quick = quick

    def names(self, libraries: dict[str, Library]) -> list[str]:
        return [name for name in libraries if name in (self.sides or libraries)]

    def heats(self, names: list[str]) -> list[list[str]]:
        """Who runs at the same time: all, or as many as there is memory for."""
        most = max(1, int(MEMORY_SHARE * machine.available_mib() / self.mib)) if self.together else 1
        return [names[i : i + most] for i in range(0, len(names), most)]

    @contextlib.contextmanager
    def opened(self, libraries: dict[str, Library]) -> Iterator[Callable[[str], Act]]:
        """Gives the function that makes the act of an allocator. `libraries`: those of names(). Raises where it cannot be shown
        here."""
        raise NotImplementedError


def _environments(libraries: dict[str, Library], probe: Words, who: str) -> dict[str, Environment]:
    return {name: installed.proven_environment(library, probe, who) for name, library in libraries.items()}


class Redis(Scene):
    name, title = "redis", "It comes back: redis with 100,000 keys, then FLUSHALL"
    sides = (SYSTEM, "jemalloc", OURS)  # Debian's is linked against jemalloc

    @contextlib.contextmanager
    def opened(self, libraries: dict[str, Library]) -> Iterator[Callable[[str], Act]]:
        environments = _environments(libraries, [redis.find("redis-server"), "--version"], "redis-server")
        keys = KEYS // 10 if self.quick else KEYS
        yield lambda name: self._act(environments[name], f"redis-server on {name}", keys)

    @staticmethod
    def _act(environment: Environment, who: str, keys: int) -> Act:
        value = b"x" * VALUE_BYTES
        with redis.serving(environment, who) as (server, connection, _):
            for first in range(0, keys, AT_ONCE):
                connection.set_all([b"key:%d" % number for number in range(first, first + AT_ONCE)], value)
                yield server.pid
            if connection.ask("DBSIZE") != str(keys):
                raise processes.Failure("it has lost keys")
            yield from side_by_side.rest(server.pid, REST_SECONDS / 4)
            full = processes.memory_kib(server.pid)["rss_kib"]
            connection.flush()
            seconds = spending.processor_seconds(server.pid)
            yield from side_by_side.rest(server.pid, REST_SECONDS)
            return processes.memory_kib(server.pid) | {"full_kib": full, "seconds": seconds, "operations": keys}


class Survivors(Scene):
    name, title = "survivors", "It rests: one thread sleeps after 500 MiB of requests, of which 1 MiB lives"
    mib = 600

    def names(self, libraries: dict[str, Library]) -> list[str]:
        return [*libraries, *([WITH_EPOCHS] if OURS in libraries else [])]

    @contextlib.contextmanager
    def opened(self, libraries: dict[str, Library]) -> Iterator[Callable[[str], Act]]:
        work = scattered.WORK | ({"requests": 50, SETTLE: 200} if self.quick else {})
        probe = scattered.argv(scattered.LEAST, False)
        environments = _environments(libraries, probe, "the program of the survivors")
        if OURS in environments:
            environments[WITH_EPOCHS] = environments[OURS]

        def act(name: str) -> Act:
            argv = scattered.argv(work, name == WITH_EPOCHS)
            told = yield from side_by_side.program(argv, environments[name], f"survivors on {name}")
            return scattered.record_of(told, work)

        yield act


class _Workload(Scene):
    """One of the lab's workloads."""

    words = ""
    before: Callable[[str], list[str]] = staticmethod(lambda name: [])  # words before the program's, by allocator

    @contextlib.contextmanager
    def opened(self, libraries: dict[str, Library]) -> Iterator[Callable[[str], Act]]:
        case, probe = named.parse(self.words), named.parse(PROBE)
        folder = compiled.build([case, probe])
        environments = _environments(libraries, probe.argv(folder, False), "a workload")
        values = case.values | (case.workload.quick if self.quick else {})
        argv = [case.argv(folder, False)[0], *map(str, values.values())]
        yield lambda name: side_by_side.program(
            [*self.before(name), *argv], environments[name], f"{self.name} on {name}", self.together
        )


class Buffers(_Workload):
    name, title = "buffers", f"It fits: 140 MiB of growing buffers in {LIMIT_MIB} MiB"
    mib = LIMIT_MIB
    words = f"buffers:mib=140,{SETTLE}={1000 * REST_SECONDS}"

    @contextlib.contextmanager
    def opened(self, libraries: dict[str, Library]) -> Iterator[Callable[[str], Act]]:
        with limits.of(LIMIT_MIB) as limit, super().opened(libraries) as program:
            self.before = limit.prefix

            def act(name: str) -> Act:
                try:
                    told = yield from program(name)
                except side_by_side.Killed as killed:
                    told = {"ended": str(killed).partition(". Its last words")[0]}
                return told | {"limit": limit.words}

            yield act


class Threads(_Workload):
    name, title = "threads", "It is fast: four threads that free for each other"
    rounds, together = 5, False
    words = "mixed-remote:operations=1500000,threads=4"


class PostgreSQL(Scene):
    name, title = "PostgreSQL", "It is fast: PostgreSQL under pgbench"
    rounds, together = 5, False
    sides = (SYSTEM, OURS)

    @contextlib.contextmanager
    def opened(self, libraries: dict[str, Library]) -> Iterator[Callable[[str], Act]]:
        environments = _environments(libraries, [str(postgres.folder() / "postgres"), "--version"], "PostgreSQL")
        transactions = 50 if self.quick else 250
        with contextlib.ExitStack() as stack:
            found = {
                name: stack.enter_context(postgres.serving(environment, f"PostgreSQL on {name}"))
                for name, environment in environments.items()
            }
            yield lambda name: found[name].load(["-t", str(transactions)])


ALL: tuple[type[Scene], ...] = (Redis, Survivors, Buffers, Threads, PostgreSQL)


def titled(libraries: dict[str, Library]) -> dict[str, Library]:
    """The libraries by all names that scenes use."""
    return libraries | {WITH_EPOCHS: dataclasses.replace(libraries[OURS], title=WITH_EPOCHS)}
