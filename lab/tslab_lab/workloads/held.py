"""Cases with names and parameters of their own: the set patterns, and in it sizes around internal limits."""

from collections.abc import Iterator

from tslab_lab.workloads.catalogue import WORKLOADS, Case, case

QUICK_DIVISOR = 40
BOUNDARIES = (1024, 2048, 2049, 4096, 8192, 16384, 32768, 32832, 32833, 65536, 131072, 262208, 262209, 524288, 1048576)
# Of the engine (src/base/limits.h, src/common/size_class.h): what ends at a size.
ENGINE_LIMITS = {2048: "fine classes", 32832: "slots in epochs", 262208: "slots", 1048576: "hot runs"}
STEPPING = ("boundaries", "edges")  # the groups of sizes: up to each, and each alone


def _case(name: str, group: str, of: str, **values: int) -> Case:
    """Of a workload. The first value is how much work there is. A case that has its workload's name is that workload as it is."""
    workload = WORKLOADS[of]
    first, amount = next(iter(values.items())) if values else ("", 0)
    quick = workload.quick if name == workload.name else {first: amount // QUICK_DIVISOR}
    return case(workload, values, name, group, quick)


def _all() -> Iterator[Case]:
    yield _case("pair", "pair", "pair")
    for live, operations, most in ((1000, 15_000_000, 256), (20_000, 8_000_000, 512), (200_000, 2_500_000, 1024)):
        yield _case(
            f"replace-{live // 1000}k", "replace", "replace", operations=operations, live=live, min=16, max=most
        )
    for prefix, least, most in (("bulk", 16, 128), ("bulk64", 64, 64)):
        for objects, operations in ((1000, 15_000_000), (100_000, 5_000_000)):
            for order, word in enumerate(("fifo", "lifo", "rand")):
                values = {"operations": operations, "objects": objects, "min": least, "max": most, "order": order}
                yield _case(f"{prefix}-{objects // 1000}k-{word}", "bulk", "bulk", **values)
    for threads in (2, 8):
        for percent, operations in ((0, 8_000_000), (50, 3_000_000), (90, 3_000_000)):
            values = {"operations": operations, "threads": threads, "remote": percent}
            yield _case(f"remote-{threads}t-{percent}", "remote", "mixed-remote", **values)
    yield _case("producer", "hand over", "producer-consumer", operations=5_000_000)
    yield _case("free-only", "hand over", "free-only")
    yield _case("sharing", "threads", "cache-scratch", operations=30_000_000)
    yield _case("threads", "threads", "threads")
    for group in STEPPING:
        for size in BOUNDARIES:
            operations = 1_500_000 if size <= 16384 else 400_000
            values = {"operations": operations, "live": 200, "min": 16 if group == STEPPING[0] else size, "max": size}
            yield _case(f"{group}-{size}", group, "replace", **values)


CASES = tuple(_all())
