"""The raw results of a campaign, beside the pages: a compressed file for each piece, and an index that says which engine each
is of. They are all that a campaign keeps: it goes on from them on another day, and in another clone."""

import datetime
import json
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypedDict

from tslab_lab.base import processes
from tslab_lab.results import storage

FOLDER = "raw"
INDEX = "index.json"
MOST = 5 << 20  # bytes of all together


class Entry(TypedDict, total=False):
    """Of the index. `minutes`: how long it took, for so many `rounds`."""

    measured: str  # YYYY-MM-DD
    engine: str | None
    machine: str
    commit: str | None
    minutes: float
    rounds: int


class Raw:
    def __init__(self, pages: Path) -> None:
        self.folder = pages / FOLDER
        file = self.folder / INDEX
        self.index: dict[str, Entry] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}

    def path(self, step: str, piece: str) -> Path:
        return self.folder / step / f"{piece}.jsonl.zst"

    def of(self, step: str, piece: str) -> Entry | None:
        """What the index says of it; None where there is none."""
        found = self.index.get(f"{step}:{piece}")
        return found if found and self.path(step, piece).is_file() else None

    def keep(self, step: str, piece: str, lines: Path, facts: Entry) -> None:
        """`lines`: the file of results."""
        target = self.path(step, piece)
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="tslab-campaign-") as directory:
            thin = Path(directory) / storage.FILE
            thin.write_text("".join(f"{line}\n" for line in thinned(lines.read_text(encoding="utf-8").splitlines())))
            _zstd("-q", "-f", "--ultra", "-22", str(thin), "-o", str(target))
        today = f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}"
        self.index[f"{step}:{piece}"] = facts | {"measured": today}
        text = json.dumps(self.index, indent=1, sort_keys=True) + "\n"
        (self.folder / INDEX).write_text(text, encoding="utf-8")
        size = sum(file.stat().st_size for file in self.folder.rglob("*.zst"))
        if size > MOST:
            raise processes.Failure(f"The raw results take {size >> 10} KiB, at most {MOST >> 10}.")

    def unpack(self, step: str, piece: str, directory: Path | str) -> Path:
        """The file of results, in the directory."""
        lines = Path(directory) / f"{piece}.jsonl"
        _zstd("-q", "-d", "-f", str(self.path(step, piece)), "-o", str(lines))
        return lines

    def read(self, step: str, pieces: Iterable[str]) -> dict[str, storage.Results]:
        """By name of the piece."""
        with tempfile.TemporaryDirectory(prefix="tslab-campaign-") as directory:
            return {piece: storage.read(self.unpack(step, piece, directory)) for piece in pieces}


Pools = dict[tuple[str, str, str | None], dict[str, Any]]  # by case, allocator and operation


def thinned(lines: Iterable[str]) -> Iterator[str]:
    """The lines with the histograms of all rounds together as one: they are most of the bytes, and are read together."""
    pools: Pools = {}
    others: list[str] = []
    for line in lines:
        record = json.loads(line)
        if record.get("kind") == "latency":
            _pool(pools, record)
        else:
            others.append(line)
    histograms = [pool | {"buckets": sorted(map(list, pool["buckets"].items()))} for pool in pools.values()]
    yield from others[:-1]
    yield from (json.dumps(histogram) for histogram in histograms)
    yield from others[-1:]  # the footer ends the file


def _pool(pools: Pools, record: dict[str, Any]) -> None:
    key = record["case"], record["allocator"], record.get("operation")
    pool = pools.setdefault(key, record | {"round": 0, "count": 0, "max_ns": 0, "buckets": {}})
    pool["count"] += record["count"]
    pool["max_ns"] = max(pool["max_ns"], record["max_ns"])
    for least, count in record["buckets"]:
        pool["buckets"][least] = pool["buckets"].get(least, 0) + count


def _zstd(*words: str) -> None:
    try:
        done = subprocess.run(["zstd", *words], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise processes.Failure("There is no zstd here. Run `make lab`, or: apt-get install zstd") from None
    if done.returncode != 0:
        raise processes.Failure(f"zstd: {done.stderr.strip()}")
