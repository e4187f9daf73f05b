"""Files of results, made by code: their figures are known, so that what a report says of them can be checked."""

import json
import math
import random

ALLOCATORS = ("tslab", "glibc", "jemalloc", "tcmalloc", "mimalloc")
CASES = (
    "pair", "replace-20k", "bulk-random", "mixed-remote", "app", "larson",
    "producer-consumer", "burst-idle", "phase-shift", "scopes", "threads", "scattered",
)  # fmt: skip
ROUNDS = 6
# How long an operation takes in each case, as a multiple of the first allocator's; and its peak RSS.
SPEED = {"glibc": 1.9, "jemalloc": 1.2, "tcmalloc": 1.05, "mimalloc": 0.93}
WEIGHT = {"glibc": 0.95, "jemalloc": 1.15, "tcmalloc": 1.4, "mimalloc": 1.1}
WORST = ("larson", "mimalloc", 0.5)  # here tslab loses most: the other takes half of its time
BEST = ("scattered", 3.0)  # and here it wins most: all others take three times as long
FAILED = ("threads", "tcmalloc")


def header(**more):
    machine = {
        "cpu": "Example CPU <1>", "cpus": 2, "memory_kib": 8 * 1024**2, "kernel": "6.1.0-18-amd64",
        "libc": "glibc 2.36", "compiler": "gcc (Debian) 12.2.0", "python": "3.11.2", "thp": "madvise",
        "load_at_start": 0.12, "commit": "0123456789abcdef0123456789abcdef01234567 with changes",
        "options": {"TSLAB_PURGE_DELAY_MS": "100"},
    }  # fmt: skip
    allocators = {
        name: {"title": f"{name} & its title", "version": "1.2.3", "source": "the fixture", "sha256": f"{i:064x}"}
        | {"library": None if name == "glibc" else f"/lib/lib{name}.so", "environment": {}}
        for i, name in enumerate(ALLOCATORS)
    }
    cases = {name: {"group": "some", "title": f"what {name} does", "parameters": {"threads": 2}} for name in CASES}
    return {
        "kind": "header", "format": 1, "command": "bench", "arguments": ["--rounds", "6", "mixed-remote:threads=8"],
        "started": "2026-01-31T12:00:00Z", "machine": machine, "marks": ["The machine is busy: others use 20% of it."],
        "allocators": allocators, "cases": cases,
    } | more  # fmt: skip


def _run(case, name, number, noise):
    place = CASES.index(case)
    nanoseconds = 20 * 1.7**place * SPEED.get(name, 1)
    if (case, name) == WORST[:2]:
        nanoseconds = 20 * 1.7**place * WORST[2]
    if case == BEST[0] and name != "tslab":
        nanoseconds = 20 * 1.7**place * BEST[1]
    nanoseconds *= noise.uniform(0.98, 1.02)
    peak = (4096 + 3000 * place) * WEIGHT.get(name, 1) * noise.uniform(0.99, 1.01)
    figures = {"operations": 1_000_000, "seconds": nanoseconds / 1000, "hash": f"{place:08x}", "peak_kib": round(peak)}
    figures |= {"base_kib": 1500, "live_kib": 3000 + 2000 * place, "rss_kib": round(peak * 0.6), "instructions": None}
    if case == "mixed-remote":
        figures |= {"remote_share": 0.482, "threads": 8}
    return {"kind": "run", "case": case, "allocator": name, "round": number, "at_seconds": float(number)} | figures


def _series(name, number, noise):
    weight = WEIGHT.get(name, 1)
    rss = [
        round(1024 * weight * (5 + 20 * min(1, t / 800) - (8 if t > 1500 else 0) + noise.uniform(-0.3, 0.3)))
        for t in range(0, 2000, 10)
    ]
    rss[50] = None
    not_sampled = {f"{column}_kb": [None] * 200 for column in ("vms", "pss", "uss", "lazyfree")}
    head = {"kind": "series", "case": "burst-idle", "allocator": name, "round": number}
    return head | {"t_ms": list(range(0, 2000, 10)), "rss_kb": rss} | not_sampled


def _latency(name, number, operation):
    """With all rounds there is a p99.99 of malloc, but not of free."""
    least, count = 20 * SPEED.get(name, 1), 60_000 if operation == "malloc" else 2000
    counts = {}
    for i in range(count):
        share = (i + 0.5) / count
        ns = least * (1 + 0.4 * -math.log(1 - share)) * (40 if share > 0.9985 else 1)
        bucket = math.floor(math.log(ns) / math.log(1.01))
        counts[bucket] = counts.get(bucket, 0) + 1
    buckets = [[round(1.01**bucket, 3), number_in] for bucket, number_in in sorted(counts.items())]
    return {
        "kind": "latency", "case": "churn-fixed", "allocator": name, "round": number, "operation": operation,
        "count": count, "max_ns": round(buckets[-1][0] * 1.01), "timer_ns": 21.5, "buckets": buckets,
    }  # fmt: skip


def records(cases=CASES, allocators=ALLOCATORS, rounds=ROUNDS, more=True):
    """`more`: memory over time and latency, too."""
    noise = random.Random(7)
    result = [header()]
    for number in range(1, rounds + 1):
        for case in cases:
            for name in allocators:
                if (case, name) == FAILED and number >= 2:
                    continue
                result.append(_run(case, name, number, noise))
        if more:
            result += [_series(name, number, noise) for name in allocators]
            result += [_latency(name, number, operation) for name in allocators for operation in ("malloc", "free")]
    if FAILED[1] in allocators and FAILED[0] in cases:
        why = "threads on tcmalloc died of SIGSEGV. Its last words:\n  | <nothing>"
        result.append({"kind": "failure", "case": FAILED[0], "allocator": FAILED[1], "round": 2, "why": why})
    result.append({"kind": "footer", "rounds": rounds, "complete": True, "load_at_end": 0.5, "seconds": 60.0})
    return result


def write(folder, lines):
    """Lines that are records or texts."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "results.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return path
