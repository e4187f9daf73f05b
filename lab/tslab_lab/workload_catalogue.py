"""What can be run: each workload is one C program in workloads/ with parameters, all of them whole numbers."""

from dataclasses import dataclass, field

SETTLE = "settle_ms"  # every program takes it last: how long to wait before it looks at what RSS remains


@dataclass(frozen=True)
class Workload:
    """`parameters`: name -> default, in the order of the command line; the first says how much work there is. `quick`:
    what differs where a run is to be short; `tiny`: the least work that shows anything, for tools that slow a program
    down. `threads`: how many there are, or the name of the parameter that says it; `beside`: so many more."""

    name: str
    group: str
    program: str
    title: str
    parameters: dict = field(hash=False)
    quick: dict = field(hash=False)
    threads: str | int = 1
    beside: int = 0
    tiny: int = 20_000

    def __post_init__(self):
        self.parameters.setdefault(SETTLE, 0)


@dataclass(frozen=True)
class Case:
    """A workload with a value for each parameter. What comes after the group is for the cases that tslab is held to:
    see workload_patterns.py."""

    name: str
    workload: Workload
    values: dict = field(hash=False)
    quick: dict = field(hash=False)
    group: str
    limit: float | None = None  # of the time per operation, in those of the best peer
    live_limit: float | None = None  # of the peak RSS beyond the bare process, in what is live
    largest: int = 0  # the size that steps over internal limits
    held: bool = False  # to the limits of peak RSS

    @property
    def program(self):
        return self.workload.program

    @property
    def title(self):
        return self.workload.title

    @property
    def threads(self):
        threads = self.workload.threads
        return self.workload.beside + (self.values[threads] if isinstance(threads, str) else threads)

    def parameters(self, quick):
        """What a run is given: name -> value."""
        return self.values | self.quick if quick else self.values

    def argv(self, directory, quick):
        return [str(directory / self.program), *map(str, self.parameters(quick).values())]


def case(workload, given, name=None, **more):
    """`given`: the parameters that are not to be the default. What was asked for outright is not made quick."""
    values = workload.parameters | given
    differing = [f"{key}={value}" for key, value in values.items() if value != workload.parameters[key]]
    quick = {key: value for key, value in workload.quick.items() if key not in given}
    canonical = workload.name + (":" + ",".join(differing) if differing else "")
    settings = {"name": name or canonical, "group": workload.group, "quick": quick} | more
    return Case(workload=workload, values=values, **settings)


def _catalogue():
    yield Workload(
        "pair",
        "basic",
        "pair",
        "allocate and free at once, always the same size",
        {"operations": 25_000_000, "size": 64},
        {"operations": 2_500_000},
    )
    yield Workload(
        "replace",
        "basic",
        "replace",
        "replace random ones of the live objects",
        {"operations": 8_000_000, "live": 20_000, "min": 16, "max": 512},
        {"operations": 4_000_000},
    )
    yield Workload(
        "bulk",
        "basic",
        "bulk",
        "many objects in, then all out: in order (0), in reverse (1) or at random (2)",
        {"operations": 5_000_000, "objects": 100_000, "min": 16, "max": 128, "order": 0},
        {"operations": 3_000_000},
    )
    yield Workload(
        "mixed-remote",
        "threads",
        "remote",
        "threads replace random objects and hand a share of them to the next thread, which frees them",
        {"operations": 3_000_000, "threads": 2, "remote": 50, "live": 400, "min": 16, "max": 2048, "ring": 65_536},
        {"operations": 1_000_000},
        threads="threads",
    )
    yield Workload(
        "producer-consumer",
        "threads",
        "handoff",
        "one thread only allocates, another only frees",
        {"operations": 5_000_000, "producers": 1, "window": 0, "min": 16, "max": 256, "ring": 4096},
        {"operations": 2_000_000},
        threads="producers",
        beside=1,
    )
    yield Workload(
        "free-only",
        "threads",
        "handoff",
        "one thread only frees what several others allocate, each of which keeps its latest objects",
        {"operations": 3_000_000, "producers": 4, "window": 50_000, "min": 16, "max": 256, "ring": 1024},
        {"operations": 600_000},
        threads="producers",
        beside=1,
    )
    yield Workload(
        "threads",
        "threads",
        "threads",
        "threads come and go, four at a time; each leaves an object to be freed by another",
        {"lives": 20_000, "min": 16, "max": 512},
        {"lives": 2000},
        threads=4,
        tiny=40,
    )
    yield Workload(
        "cache-scratch",
        "threads",
        "sharing",
        "passive false sharing: threads free what one thread dealt out, allocate anew, and write it many times",
        {"operations": 200_000_000, "threads": 2, "size": 16, "passive": 1},
        {"operations": 60_000_000},
        threads="threads",
    )
    yield Workload(
        "cache-thrash",
        "threads",
        "sharing",
        "active false sharing: threads allocate at the same time, and write it many times",
        {"operations": 200_000_000, "threads": 2, "size": 16, "passive": 0},
        {"operations": 60_000_000},
        threads="threads",
    )


    yield Workload(
        "app",
        "mixed",
        "app",
        "an application's mixture of sizes (80 % to 256 bytes, 15 % to 2,048, 5 % to 32,768) and of lifetimes",
        {"operations": 5_000_000, "threads": 1, "live": 10_000},
        {"operations": 3_000_000},
        threads="threads",
    )
    yield Workload(
        "churn-fixed",
        "mixed",
        "churn_fixed",
        "replace objects of one size among many live ones; a share of the frees are of the latest allocated",
        {"operations": 1_000_000, "live": 100_000, "size": 128, "locality": 50},
        {},
    )
    yield Workload(
        "churn-adversarial",
        "mixed",
        "churn_adversarial",
        "bulk in, bulk out, every time of a size far from the last one and in another order",
        {"operations": 2_000_000, "objects": 5000},
        {"operations": 500_000},
    )
    yield Workload(
        "scopes",
        "mixed",
        "scopes",
        "requests, each of which allocates about 52 KB in small objects and frees them all at its end",
        {"requests": 40_000, "threads": 1, "objects": 225},
        {"requests": 20_000},
        threads="threads",
        tiny=100,
    )
    yield Workload(
        "strings",
        "mixed",
        "strings",
        "many texts grow by appending a few bytes at a time, by realloc",
        {"operations": 5_000_000, "texts": 1000, "length": 4096, "growth": 0},
        {"operations": 1_000_000},
    )
    yield Workload(
        "calloc",
        "mixed",
        "calloc",
        "replace random objects by zeroed ones of an application's sizes",
        {"operations": 1_000_000, "live": 2000},
        {"operations": 200_000},
    )
    yield Workload(
        "oscillate",
        "mixed",
        "oscillate",
        "to and fro between a low and a high number of live objects, the oldest freed first",
        {"operations": 20_000_000, "low": 1000, "high": 5000, "min": 64, "max": 64},
        {"operations": 5_000_000},
    )
    yield Workload(
        "pow2",
        "mixed",
        "pow2",
        "write the first words of objects whose sizes are powers of two, 16 bytes to 1 MiB",
        {"operations": 200_000_000, "objects": 256},
        {"operations": 50_000_000},
    )
    yield Workload(
        "large",
        "mixed",
        "large",
        "blocks of 64 KiB to 64 MiB grow step by step by realloc, and are freed and allocated anew",
        {"operations": 600, "live": 8, "min_kib": 64, "max_kib": 65_536, "touch": 4},
        {"operations": 150},
        tiny=50,
    )
    yield Workload(
        "larson",
        "threads",
        "larson",
        "a server's threads replace objects, then hand all of them over to new threads, and end",
        {"operations": 8_000_000, "threads": 2, "slots": 10_000, "min": 16, "max": 512, "generations": 100},
        {"operations": 2_000_000, "generations": 25},
        threads="threads",
    )
    yield Workload(
        "idle-threads",
        "threads",
        "idle_threads",
        "very many threads, each of which has allocated a little of many sizes and does nothing more",
        {"threads": 1000, "objects": 4},
        {"threads": 500},
        threads="threads",
        tiny=20,
    )
    yield Workload(
        "fork",
        "threads",
        "fork",
        "a parent with live objects forks children, which check them, free some, allocate, and end",
        {"forks": 500, "live": 2000, "objects": 200},
        {"forks": 150},
        tiny=5,
    )
    yield Workload(
        "burst-idle",
        "memory",
        "burst_idle",
        "bursts of many objects, all freed, and then nothing for a while",
        {"bursts": 5, "objects": 200_000, "min": 16, "max": 512, "idle_ms": 50},
        {"bursts": 3, "objects": 100_000, "idle_ms": 20},
        tiny=1,
    )
    yield Workload(
        "phase-shift",
        "memory",
        "phase_shift",
        "phases of different sizes; a few objects of each survive to the end",
        {"phases": 12, "mib": 24, "survivors": 5},
        {"mib": 12},
        tiny=2,
    )
    yield Workload(
        "scattered",
        "memory",
        "scattered",
        "requests end, and a few of their objects live on, scattered among what was freed",
        {"requests": 500, "objects": 1000, "every": 200, "min": 16, "max": 512},
        {"requests": 400},
        tiny=20,
    )
    yield Workload(
        "pinning",
        "memory",
        "pinning",
        "all objects of a size are freed but one in every 64 KiB, then another size is allocated",
        {"mib": 64, "size": 64, "then": 192, "keep_kib": 64},
        {"mib": 24},
        tiny=1,
    )


WORKLOADS = {workload.name: workload for workload in _catalogue()}

GROUPS = {
    "basic": "one thread, one simple thing again and again",
    "mixed": "one thread (or several, by a parameter), as programs do it, or as it is hardest",
    "threads": "threads that work together, or come and go, and processes that fork",
    "memory": "what remains in memory when most is freed",
}
