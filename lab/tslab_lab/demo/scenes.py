"""The scenes of `lab demo`: what each runs, on which allocators, and how often."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator

from tslab_lab.allocators import installed
from tslab_lab.allocators.catalogue import OURS, SYSTEM
from tslab_lab.allocators.installed import Library
from tslab_lab.base import machine, processes
from tslab_lab.base.shapes import Environment, Figures, Record, Words
from tslab_lab.demo import limits, side_by_side
from tslab_lab.demo.side_by_side import Act, End
from tslab_lab.real import postgres, redis, spending
from tslab_lab.request_server import driver
from tslab_lab.request_server.driver import Scattered
from tslab_lab.results.demo_findings import REST_SECONDS, WITH_EPOCHS
from tslab_lab.workloads import compiled, named

KEYS, VALUE_BYTES, AT_ONCE = 100_000, 900, 2500
LIMIT_MIB = 300
MEMORY_SHARE = 0.7  # of what is available
PROBE = "pair:operations=1,size=16"
REST_MS = f"settle_ms={1000 * REST_SECONDS}"


class Scene:
    """`rounds`: how many, if the user says nothing. `together`: its allocators run side by side, as only memory is told; else
    one after another, by the clock. `quick`: little work."""

    name, title = "", ""
    rounds, together = 3, True
    mib = 150  # of each allocator
    sides: tuple[str, ...] = ()  # none: all that are here

    def __init__(self, quick: bool) -> None:
        self.quick = quick
        self.setting = ""  # what belongs to the title, once it is open

    def names(self, libraries: dict[str, Library]) -> list[str]:
        return [name for name in libraries if name in (self.sides or libraries)]

    def heats(self, names: list[str]) -> list[list[str]]:
        """Who runs at the same time: all, or as many as there is memory for."""
        most = max(1, int(MEMORY_SHARE * machine.available_mib() / self.mib)) if self.together else 1
        return [names[i : i + most] for i in range(0, len(names), most)]

    def require(self) -> None:
        """Raises where it cannot be shown here."""

    @contextlib.contextmanager
    def opened(self, libraries: dict[str, Library]) -> Iterator[Callable[[str], Act]]:
        """Gives the function that makes the act of an allocator. `libraries`: those of names()."""
        raise NotImplementedError

    def figures(self, end: End) -> Figures:
        """Of what an act ended with; a failure that is none of a result is raised."""
        if isinstance(end, processes.Failure):
            raise end
        return end


def _environments(libraries: dict[str, Library], probe: Words, who: str) -> dict[str, Environment]:
    return {name: installed.proven_environment(library, probe, who) for name, library in libraries.items()}


class Redis(Scene):
    name, title = "redis", "It comes back: redis with 100,000 keys, then FLUSHALL"
    sides = (SYSTEM, "jemalloc", OURS)  # Debian's is linked against jemalloc

    def require(self) -> None:
        redis.find("redis-server")

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
            connection.ask("FLUSHALL", "SYNC")
            if connection.ask("DBSIZE") != "0":
                raise processes.Failure("FLUSHALL left keys behind")
            seconds = spending.processor_seconds(server.pid)
            yield from side_by_side.rest(server.pid, REST_SECONDS)
            return processes.memory_kib(server.pid) | {"full_kib": full, "seconds": seconds, "operations": keys}


class Survivors(Scene):
    name, title = "survivors", "Survivors: 500 MiB of requests end, 1 MiB of their objects lives"
    mib = 600

    def names(self, libraries: dict[str, Library]) -> list[str]:
        return [*libraries, *([WITH_EPOCHS] if OURS in libraries else [])]

    @contextlib.contextmanager
    def opened(self, libraries: dict[str, Library]) -> Iterator[Callable[[str], Act]]:
        driver.build_scattered()
        work = Scattered(requests=50, survivors=400, idle_ms=200) if self.quick else Scattered()
        least = Scattered(requests=1, objects=8, survivors=1, idle_ms=0).argv(False)
        environments = _environments(libraries, least, "the program of the survivors")
        if OURS in environments:
            environments[WITH_EPOCHS] = environments[OURS]
        yield lambda name: side_by_side.program(
            work.argv(name == WITH_EPOCHS), environments[name], f"survivors on {name}"
        )

    def figures(self, end: End) -> Figures:
        told = super().figures(end)
        seconds = told["allocate_seconds"] + told["finish_seconds"]
        return told | {"rss_kib": told["later_kib"], "seconds": seconds, "operations": told["objects"]}


class _Workload(Scene):
    """One of the lab's workloads."""

    words = ""

    @contextlib.contextmanager
    def opened(self, libraries: dict[str, Library]) -> Iterator[Callable[[str], Act]]:
        case, probe = named.parse(self.words), named.parse(PROBE)
        folder = compiled.build([case, probe])
        environments = _environments(libraries, probe.argv(folder, False), "a workload")
        argv = case.argv(folder, False)
        if self.quick:
            values = case.values | case.workload.quick
            argv = [argv[0], *map(str, values.values())]
        with self.before(libraries) as prefix:
            yield lambda name: side_by_side.program(
                [*prefix(name), *argv], environments[name], f"{self.name} on {name}", self.together
            )

    @contextlib.contextmanager
    def before(self, libraries: dict[str, Library]) -> Iterator[limits.Prefix]:
        """Gives the function of a name that gives words before the program's."""
        del libraries
        yield lambda name: []


class Buffers(_Workload):
    name, title = "buffers", f"It fits: 140 MiB of growing buffers in {LIMIT_MIB} MiB"
    mib = LIMIT_MIB
    words = f"buffers:mib=140,{REST_MS}"

    @contextlib.contextmanager
    def before(self, libraries: dict[str, Library]) -> Iterator[limits.Prefix]:
        with limits.of(LIMIT_MIB) as limit:
            self.setting = limit.words
            yield limit.prefix

    def figures(self, end: End) -> Figures:
        if isinstance(end, side_by_side.Killed):
            return {"ended": str(end).partition(". Its last words")[0], "limit": self.setting}
        return super().figures(end) | {"limit": self.setting}


class Threads(_Workload):
    name, title = "threads", "It is fast: four threads that free for each other"
    rounds, together = 5, False
    words = "mixed-remote:operations=1500000,threads=4"


class PostgreSQL(Scene):
    name, title = "PostgreSQL", "It is fast: PostgreSQL under pgbench"
    rounds, together = 5, False
    sides = (SYSTEM, OURS)

    def require(self) -> None:
        postgres.folder()

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


def facts(scene: Scene) -> Record:
    """What a file of results says of it."""
    return {"group": "demo", "title": scene.title, "parameters": {}}


def titled(libraries: dict[str, Library]) -> dict[str, Library]:
    """The libraries by all names that scenes use."""
    more = {WITH_EPOCHS: dataclasses.replace(libraries[OURS], title=WITH_EPOCHS)} if OURS in libraries else {}
    return libraries | more
