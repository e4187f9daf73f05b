"""The file of raw results: a line of JSON for each thing that happened, written at once, so that whatever ends a
measurement, what was measured is kept. docs/lab.md describes it."""

import datetime
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tslab_lab.base import machine, processes
from tslab_lab.base.shapes import Record, Run

FORMAT = 1
FILE = "results.jsonl"
FOLDER = Path("tslab-runs")


@dataclass
class Results:
    path: Path
    header: Record
    runs: list[Run] = field(default_factory=list)
    series: list[Record] = field(default_factory=list)
    latency: list[Record] = field(default_factory=list)
    failures: list[Record] = field(default_factory=list)
    footer: Record | None = None

    @property
    def rounds(self) -> int:
        """That were complete."""
        return self.footer["rounds"] if self.footer else 0


class Writer:
    """Appends lines; each is in the file before the call returns."""

    def __init__(
        self,
        folder: Path,
        command: str,
        arguments: Iterable[str],
        marks: Iterable[str],
        allocators: Mapping[str, Record],
        cases: Mapping[str, Record],
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.path = folder, folder / FILE
        self._start = time.monotonic()
        self._file = self.path.open("w", encoding="utf-8")
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        header: dict[str, Any] = {"format": FORMAT, "command": command, "arguments": list(arguments), "started": now}
        header |= {"machine": machine.facts(), "marks": list(marks), "allocators": allocators, "cases": cases}
        header |= {"settings": settings} if settings else {}
        self._write("header", header)

    def _write(self, kind: str, record: Mapping[str, object]) -> None:
        self._file.write(json.dumps({"kind": kind, **record}) + "\n")
        self._file.flush()

    @property
    def seconds(self) -> float:
        return round(time.monotonic() - self._start, 3)

    def line(self, kind: str, case: str, allocator: str, number: int, more: Mapping[str, Any]) -> None:
        """A run, a series, a histogram (`latency`) or a failure; `number`: of its round."""
        at = {"at_seconds": self.seconds} if kind == "run" else {}
        self._write(kind, {"case": case, "allocator": allocator, "round": number, **at, **more})

    def footer(self, rounds: int, complete: bool, others_share: float | None = None) -> None:
        record = {"rounds": rounds, "complete": complete, "load_at_end": os.getloadavg()[0], "seconds": self.seconds}
        self._write("footer", record | ({} if others_share is None else {"others_share": round(others_share, 3)}))
        self.close()

    def close(self) -> None:
        self._file.close()


def new_folder(command: str, wanted: Path | None = None) -> Path:
    """Where this measurement's files go: `wanted`, or a folder of its own below the current directory."""
    if wanted:
        if (wanted / FILE).exists():
            raise processes.Failure(f"{wanted} already holds results. Name another folder with --output.")
        return wanted
    name = f"{command}-{datetime.datetime.now():%Y%m%d-%H%M%S}"
    return next(path for path in _numbered(FOLDER / name) if not path.exists())


def _numbered(path: Path) -> Iterator[Path]:
    yield path
    number = 2
    while True:
        yield path.with_name(f"{path.name}-{number}")
        number += 1


def _file_of(where: Path | str) -> Path:
    """`where`: a folder, a file, or the word last."""
    if str(where) == "last":
        every = sorted(FOLDER.glob(f"*/{FILE}"), key=lambda path: path.stat().st_mtime)
        if not every:
            raise processes.Failure(f"There is no run below {FOLDER}/ here. Measure first, as by `lab bench --quick`.")
        return every[-1]
    path = Path(where)
    if path.is_dir():
        path = path / FILE
    if not path.is_file():
        raise processes.Failure(f"There are no results in {where}: no file {path}.")
    return path


def read(where: Path | str) -> Results:
    """All of a file, also of one whose writer was killed in the middle of its last line."""
    path = _file_of(where)
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    records: list[dict[str, Any]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            if not isinstance(record, dict) or "kind" not in record:
                raise ValueError
        except ValueError:
            if number == len(lines) and records:
                break  # no newline behind it: the writer was stopped there
            raise processes.Failure(f"{path}, line {number}, is no line of results.") from None
        records.append(record)
    if not records or records[0]["kind"] != "header":
        raise processes.Failure(f"{path} is no file of results: its first line is no header.")
    header = records[0]
    if header.get("format") != FORMAT:
        raise processes.Failure(f"{path} has format {header.get('format')}; this tslab reads format {FORMAT}.")
    found = Results(path, header)
    lists = {"run": found.runs, "series": found.series, "latency": found.latency, "failure": found.failures}
    for record in records[1:]:
        if record["kind"] == "footer":
            found.footer = record
        elif record["kind"] in lists:
            lists[record["kind"]].append(record)
    return found
