"""The cases that tslab is held to: workloads with fixed parameters, and the limits of time and memory there."""

from collections.abc import Iterator
from typing import Any

from tslab_lab.workloads.catalogue import WORKLOADS, Case, case

QUICK_DIVISOR = 40
STEP_LIMIT = 1.5  # times the neighbour's time per operation, either way
LEANEST_LIMIT = 1.05  # times the peak RSS of the leanest peer but glibc
GLIBC_LIMIT = 1.15  # times the peak RSS of glibc, or
GLIBC_SLACK_KIB = 1024  # so much more, whichever is larger
LIVE_LIMIT = 1.15  # times what is live, where one thread only frees

BOUNDARIES = (1024, 2048, 2049, 4096, 8192, 16384, 32768, 32832, 32833, 65536, 131072, 262208, 262209, 524288, 1048576)
# Of the engine (src/base/limits.h, src/common/size_class.h): what ends at a size.
ENGINE_LIMITS = {2048: "fine classes", 32832: "slots in epochs", 262208: "slots", 1048576: "hot runs"}
BULK_ORDERS = ("fifo", "lifo", "rand")


def _case(
    name: str,
    group: str,
    of: str,
    limit: float | None = None,
    live_limit: float | None = None,
    largest: int = 0,
    **values: int,
) -> Case:
    """Of a workload. The first value is how much work there is. A case that has its workload's name is that workload as it is."""
    workload = WORKLOADS[of]
    first, amount = next(iter(values.items()))
    quick = workload.quick if name == workload.name else {first: amount // QUICK_DIVISOR}
    more: dict[str, Any] = {"group": group, "limit": limit, "live_limit": live_limit, "largest": largest, "held": True}
    return case(workload, values, name=name, quick=quick, **more)


def _replace() -> Iterator[Case]:
    for live, operations, most, limit in (
        (1000, 15_000_000, 256, 1.1),
        (20_000, 8_000_000, 512, 1.0),
        (200_000, 2_500_000, 1024, 1.0),
    ):
        values = {"operations": operations, "live": live, "min": 16, "max": most}
        yield _case(f"replace-{live // 1000}k", "replace", "replace", limit, **values)


def _bulk() -> Iterator[Case]:
    limits = {
        (1000, "fifo"): 1.1,
        (100_000, "fifo"): 1.1,
        (1000, "lifo"): 1.0,
        (100_000, "lifo"): 1.0,
        (100_000, "rand"): 1.4,
    }
    for prefix, least, most in (("bulk", 16, 128), ("bulk64", 64, 64)):
        for objects, operations in ((1000, 15_000_000), (100_000, 5_000_000)):
            for order, word in enumerate(BULK_ORDERS):
                name = f"{prefix}-{objects // 1000}k-{word}"
                values = {"operations": operations, "objects": objects, "min": least, "max": most, "order": order}
                yield _case(name, "bulk", "bulk", limits.get((objects, word)), **values)


def _remote() -> Iterator[Case]:
    for threads in (2, 8):
        for percent, operations, limit in ((0, 8_000_000, None), (50, 3_000_000, 1.0), (90, 3_000_000, 1.0)):
            values = {"operations": operations, "threads": threads, "remote": percent}
            values |= {"live": 400, "min": 16, "max": 2048, "ring": 65_536, "written": 0}
            yield _case(f"remote-{threads}t-{percent}", "remote", "mixed-remote", limit, **values)


def _boundaries() -> Iterator[Case]:
    """Two ways for a largest size: random sizes up to it, and that size alone."""
    for group, alone in (("boundaries", False), ("edges", True)):
        for size in BOUNDARIES:
            operations = 1_500_000 if size <= 16384 else 400_000
            values = {"operations": operations, "live": 200, "min": size if alone else 16, "max": size}
            yield _case(f"{group}-{size}", group, "replace", largest=size, **values)


CASES = (
    _case("pair", "pair", "pair", 1.0, operations=25_000_000, size=64),
    *_replace(),
    *_bulk(),
    *_remote(),
    _case(
        "producer",
        "hand over",
        "producer-consumer",
        1.1,
        operations=5_000_000,
        producers=1,
        window=0,
        min=16,
        max=256,
        ring=4096,
    ),
    _case(
        "free-only",
        "hand over",
        "free-only",
        1.0,
        LIVE_LIMIT,
        operations=3_000_000,
        producers=4,
        window=50_000,
        min=16,
        max=256,
        ring=1024,
    ),
    _case("sharing", "threads", "cache-scratch", operations=30_000_000, threads=2, size=16, passive=1),
    _case("threads", "threads", "threads", lives=20_000, min=16, max=512),
    *_boundaries(),
)

GROUPS = {
    "pair": "malloc(64) and free at once, one thread.",
    "replace": "Random replacement among 1,000 (16 to 256 bytes), 20,000 (16 to 512) and 200,000 (16 to 1,024) live "
    "objects, one thread.",
    "bulk": "1,000 or 100,000 objects in, then out in order, in reverse or at random, one thread; bulk: 16 to 128 "
    "bytes, bulk64: 64 bytes.",
    "remote": "Threads replace random ones of 400 objects each (16 to 2,048 bytes) and hand a share over to the next "
    "thread, which frees them, through a ring of 65,536; where it is full, the thread frees the object itself.",
    "hand over": "producer: one thread allocates, one frees, through a ring of 4,096. free-only: one thread only frees "
    "what four others allocate, each of which keeps its latest 50,000. 16 to 256 bytes.",
    "threads": "sharing: false sharing: two threads write what the other handed them and they freed and allocated anew "
    "(16 bytes); an operation is one write. threads: 20,000 threads come and go, four at a time; each allocates 50 "
    "objects (16 to 512 bytes), frees 49, and leaves one to be freed by the main thread; an operation is one thread.",
    "boundaries": "Replacement among 200 live objects of 16 bytes up to a largest size that steps over internal "
    "limits, one thread.",
    "edges": "The same, but all objects are of the largest size.",
}
STEPPING = ("boundaries", "edges")
