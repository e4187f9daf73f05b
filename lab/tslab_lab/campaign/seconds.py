"""How long runs take, for the plan to say how long its pieces take: seconds of one run on tslab, with its start and its
end, on two processors. What has been measured once is known better: the index of the raw results says it."""

from collections.abc import Iterable

START_MINUTES = 0.1  # of a piece, until its first run
OTHERS = 1.25  # how much longer runs take on all allocators than on tslab
USUAL = 1.0
# Runs of the request server, for each side and round.
SERVER, SCATTERED, STUDY, BATCH = 5.5, 4.0, 3.5, 29.0

BENCH = {
    "redis-save": 2.5, "clang": 2.5, "db_bench": 1.5, "start": 0.5, "postgres": 3.5, "fleet": 0.35,
    "redis": 4.0, "python": 4.0, "sqlite3": 2.8, "lua": 2.0, "perl": 2.5, "cc1plus": 2.5, "git": 2.0, "nginx": 3.2,
    "app": 0.25, "bulk": 0.3, "burst-idle": 0.7, "cache-scratch": 0.6, "cache-thrash": 1.4, "calloc": 1.5,
    "churn-adversarial": 0.4, "churn-fixed": 0.3, "idle-threads": 0.4, "large": 0.4, "mixed-remote": 1.2, "oscillate": 3.0,
    "phase-shift": 0.4, "pinning": 0.4, "pow2": 3.1, "producer-consumer": 0.5, "replace": 1.3, "scattered": 0.5, "scopes": 0.5,
    "mixed-remote:threads=32": 3.0, "producer": 2.7, "replace-200k": 1.3, "remote-8t-90": 1.3,
}  # fmt: skip
LATENCY = {
    "redis": 3.5, "nginx": 3.2, "postgres": 8.0,
    "larson": 6.6, "oscillate": 9.0, "scopes": 4.2, "app": 3.2, "strings": 3.0, "mixed-remote": 2.8, "producer-consumer": 2.8,
    "calloc": 1.6, "churn-fixed:threads=16": 1.8, "burst-idle": 1.2,
}  # fmt: skip
RSS = {
    "app:operations=60000000": 4.5, "app:operations=60000000,live=400": 3.0, "large": 2.0, "burst-idle:idle_ms=1000": 6.5,
    "burst-idle:threads=4,min=256,max=4096": 3.5,
}  # fmt: skip
EPOCHS = {"request": 18.0, "steps": 3.0, "crowd": 3.0, "reclaim": 12.0, "many": 3.0}  # of a round, all its ways
DEMO = {"demo": 17.0}  # of a round, all its scenes
SHORT = {"boundaries-": 0.15, "edges-": 0.15, "bulk-": 0.4, "bulk64-": 0.3}  # by how they begin
TABLES = {"bench": BENCH, "ab": BENCH, "latency": LATENCY, "rss": RSS, "epochs": EPOCHS, "demo": DEMO}


def minutes(command: str, cases: Iterable[str], sides: int, rounds: int) -> float:
    return minutes_of(sum(_of(command, case) for case in cases), sides, rounds)


def _of(command: str, case: str) -> float:
    """Of a case, or of its workload with its first parameter."""
    usual = next((short for name, short in SHORT.items() if case.startswith(name)), USUAL)
    table = TABLES[command]
    return table.get(case, table.get(case.partition(",")[0], table.get(case.partition(":")[0], usual)))


def minutes_of(of_one: float, sides: int, rounds: int) -> float:
    """`of_one`: seconds of a side in a round."""
    return round(START_MINUTES + OTHERS * of_one * sides * rounds / 60, 1)
