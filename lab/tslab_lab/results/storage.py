"""The file of raw results: a line of JSON for each thing that happened, written at once, so that whatever ends a
measurement, what was measured is kept. docs/lab.md describes it."""

import datetime
import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from tslab_lab.base import machine, processes

FORMAT = 1
FILE = "results.jsonl"
FOLDER = Path("tslab-runs")


@dataclass
class Results:
    path: Path
    header: dict
    runs: list = field(default_factory=list)
    series: list = field(default_factory=list)
    latency: list = field(default_factory=list)
    failures: list = field(default_factory=list)
    instructions: list = field(default_factory=list)
    accounts: list = field(default_factory=list)
    footer: dict | None = None

    def runs_of(self, case, allocator):
        return [run for run in self.runs if run["case"] == case and run["allocator"] == allocator]


class Writer:
    """Appends lines; each is in the file before the call returns."""

    def __init__(self, folder, command, arguments, marks, allocators, cases, settings=None):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.path = folder, folder / FILE
        self._start = time.monotonic()
        self._file = self.path.open("w", encoding="utf-8")
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        header = {"format": FORMAT, "command": command, "arguments": list(arguments), "started": now}
        header |= {"machine": machine.facts(), "marks": list(marks), "allocators": allocators, "cases": cases}
        header |= {"settings": settings} if settings else {}
        self._write("header", header)

    def _write(self, kind, record):
        self._file.write(json.dumps({"kind": kind} | record) + "\n")
        self._file.flush()

    @property
    def seconds(self):
        return round(time.monotonic() - self._start, 3)

    def run(self, case, allocator, number, figures):
        """`figures`: what the workload printed."""
        head = {"case": case, "allocator": allocator, "round": number, "at_seconds": self.seconds}
        self._write("run", head | figures)

    def series(self, case, allocator, number, columns):
        self._write("series", {"case": case, "allocator": allocator, "round": number} | columns)

    def latency(self, case, allocator, number, histogram):
        self._write("latency", {"case": case, "allocator": allocator, "round": number} | histogram)

    def instructions(self, case, allocator, value):
        """By callgrind, for one operation."""
        self._write("instructions", {"case": case, "allocator": allocator, "value": value})

    def accounts(self, case, allocator, figures):
        """Where the allocator's memory is when the program ends, as its statistics say."""
        self._write("accounts", {"case": case, "allocator": allocator} | figures)

    def failure(self, case, allocator, number, why):
        self._write("failure", {"case": case, "allocator": allocator, "round": number, "why": str(why)})

    def footer(self, rounds, complete, others_share=None):
        """`others_share`: of the processors' time, used by others all the while."""
        record = {"rounds": rounds, "complete": complete, "load_at_end": os.getloadavg()[0], "seconds": self.seconds}
        self._write("footer", record | ({} if others_share is None else {"others_share": round(others_share, 3)}))
        self.close()

    def close(self):
        self._file.close()


def new_folder(command, wanted=None):
    """Where this measurement's files go: `wanted`, or a folder of its own below the current directory."""
    if wanted:
        if (wanted / FILE).exists():
            raise processes.Failure(f"{wanted} already holds results. Name another folder with --output.")
        return wanted
    name = f"{command}-{datetime.datetime.now():%Y%m%d-%H%M%S}"
    return next(path for path in _numbered(FOLDER / name) if not path.exists())


def _numbered(path):
    yield path
    number = 2
    while True:
        yield path.with_name(f"{path.name}-{number}")
        number += 1


def _file_of(where):
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


def read(where):
    """All of a file, also of one whose writer was killed in the middle of its last line."""
    path = _file_of(where)
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    records = []
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
    lists |= {"instructions": found.instructions, "accounts": found.accounts}
    for record in records[1:]:
        if record["kind"] == "footer":
            found.footer = record
        elif record["kind"] in lists:
            lists[record["kind"]].append(record)
    return found
