"""The soak: processes that live long on tslab, beside real programs on the drop-in, all of whose answers are checked, and
whose memory must not grow.

usage: soak.py run BUILD_FOLDER MINUTES [--page FILE]    for so long, in BUILD_FOLDER/soak; FILE is a page of results
       soak.py page LINES FILE                           makes the page anew, from soak.jsonl
       soak.py short PROGRAM                             some seconds of the program; and that each fault is found

The lines of everything that happened are in BUILD_FOLDER/soak/soak.jsonl. Exit code 1: something was wrong."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import long_lived
from trend import Trend

ROOT = Path(__file__).resolve().parents[2]
BOUND = 0.05  # growth of a series, from the end of the warm-up to the end of the soak, in relation to its median
PAUSE_SECONDS = 2  # between rounds of programs: the soak is to be long, not hot
# Processes of tests/soak/soak.c side by side: name, build, options of the library, of the program.
PROCESSES = [
    ("per-request", "release", {"TSLAB_EPOCH_POLICY": "per-request"}, ["--workers", "2"]),
    ("batch, checked", "debug", {"TSLAB_EPOCH_POLICY": "batch-16", "TSLAB_RETAIN_BYTES": "0", "TSLAB_PURGE_DELAY_MS": "0"},
     ["--workers", "2", "--requests", "500"]),
]


class Lines:
    """What happened, a line of JSON each, written at once."""

    def __init__(self, path):
        self.file, self.lock, self.begin = path.open("w", encoding="utf-8"), threading.Lock(), time.monotonic()

    def write(self, **line):
        with self.lock:
            self.file.write(json.dumps({"at": round(time.monotonic() - self.begin, 1), **line}) + "\n")
            self.file.flush()


class Soaked:
    """A process of soak.c: its lines go to the common ones."""

    def __init__(self, name, program, environment, arguments, lines, folder):
        self.name, self.lines, self.log = name, lines, folder / f"{name.replace(', ', '-')}.stderr"
        plain = {key: value for key, value in os.environ.items() if not key.startswith("TSLAB_")}
        with self.log.open("wb") as stderr:
            self.process = subprocess.Popen([program, *arguments], env=plain | environment, stdout=subprocess.PIPE,
                                            stderr=stderr, stdin=subprocess.DEVNULL, text=True)
        self.end = None
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for text in self.process.stdout:
            line = json.loads(text)
            self.lines.write(process=self.name, **line)
            self.end = line if line["kind"] == "end" else None

    def finish(self):
        """What was wrong, in sentences."""
        code = self.process.wait()
        self.reader.join()
        said = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        reports = [line for line in said if re.match(r"tslab: epoch '\w", line)]
        others = [line for line in said if line not in reports]
        if code != 0 or self.end is None or others:
            yield f"{self.name} ended with {code}: {' / '.join(others[-3:])}"
        elif len(reports) != self.end["done"]["reports"]:
            yield f"{self.name}: {len(reports)} lines of TSLAB_POLICY_REPORT, not {self.end['done']['reports']}"


def run_programs(library, lines, folder, end):
    """Rounds of real programs until the time is over; what was wrong, in sentences."""
    lived = []
    name, number = "redis", 0
    try:
        for kind in (long_lived.Redis, long_lived.Python):
            name = kind.__name__.lower()
            lived.append(kind(library, folder))
        while time.monotonic() < end:
            for program in lived:
                name = program.name
                program.round(number)
                lines.write(kind="program", name=name, round=number, rss_kib=program.resident_kib())
            number += 1
            time.sleep(PAUSE_SECONDS)
        for program in lived:
            name = program.name
            program.end()
    except (long_lived.Broken, OSError, subprocess.SubprocessError) as error:
        yield f"{name}: {error}"
    finally:
        for program in lived:
            program.kill()


def read_lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def series_of(lines):
    """The RSS of each process at each moment of its rounds: {name: ([seconds], [KiB])}."""
    found = {}
    for line in lines:
        if line["kind"] == "round":
            for moment, kib in line["rss_kib"].items():
                at, values = found.setdefault(f"{line['process']}: {moment}", ([], []))
                at.append(line["at"])
                values.append(kib)
        elif line["kind"] == "program" and "rss_kib" in line:
            at, values = found.setdefault(line["name"], ([], []))
            at.append(line["at"])
            values.append(line["rss_kib"])
    return found


def judge(lines, bound):
    """The trends, and a sentence for each that grows."""
    trends, wrong = {}, []
    for name, (_, values) in series_of(lines).items():
        try:
            trends[name] = Trend(values)
        except ValueError as error:
            wrong.append(f"{name}: {error}")
            continue
        if trends[name].grows(bound):
            wrong.append(f"{name}: the RSS grows, by {trends[name]} of {trends[name].median:.0f} KiB")
    return trends, wrong


def run(build, minutes, page):
    sys.path[:0] = [str(ROOT / "lab"), str(ROOT / "tools")]
    from tslab_lab.base import machine  # pylint: disable=import-outside-toplevel,import-error
    folder = build / "soak"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        if old.is_file() or old.is_socket():
            old.unlink()
    lines = Lines(folder / "soak.jsonl")
    lines.write(kind="header", minutes=minutes, machine=machine.facts())
    print(f"Soaking for {minutes:g} minutes; the lines are in {folder / 'soak.jsonl'}.", flush=True)
    end = time.monotonic() + 60 * minutes
    soaked = [Soaked(name, build / preset / "tests/soak/soak", environment,
                     [*arguments, "--seconds", str(round(60 * minutes))], lines, folder)
              for name, preset, environment, arguments in PROCESSES]
    wrong = list(run_programs(build / "release/libtslab-malloc.so", lines, folder, end))
    for process in soaked:
        wrong.extend(process.finish())
    lines.write(kind="verdict", wrong=wrong, load_at_end=os.getloadavg()[0])
    if page:
        make_page(folder / "soak.jsonl", page)
    return wrong + judge(read_lines(folder / "soak.jsonl"), BOUND)[1]


def make_page(path, page):
    import page as pages  # pylint: disable=import-outside-toplevel
    lines = read_lines(path)
    pages.write(lines, series_of(lines), *judge(lines, BOUND), BOUND, page)


# The short form. A bound that the warm-up stays below, for there is little else in it.

SHORT_BOUND = 0.30
SHORT = ["--rounds", "24", "--requests", "25", "--rest-ms", "5", "--workers", "2"]
FAULTS = {
    "leak-epoch": "an epoch 'forgotten' was never closed",
    "leak-object": r"the statistics say \d+ objects in slabs, and the tables \d+",
    "flip-byte": "bytes at 0x[0-9a-f]+ were overwritten",
    "leak-pages": "the RSS grows",
}


def short_run(program, fault):
    """What is wrong with a short soak, in sentences."""
    done = subprocess.run([program, *SHORT, "--fault", fault], capture_output=True, text=True, check=False)
    said = [line for line in done.stderr.splitlines() if not line.startswith("tslab: epoch '")]
    if done.returncode != 0 or said:
        return [f"exit code {done.returncode}: {' / '.join(said)}"]
    lines = [json.loads(line) | {"process": "short", "at": 0} for line in done.stdout.splitlines()]
    return judge(lines, SHORT_BOUND)[1]


def short(program):
    # Beside other work, a few seconds may look like a trend. A leak does so each time.
    found = short_run(program, "none") and short_run(program, "none") and short_run(program, "none")
    wrong = [f"a good soak fails, three times: {sentence}" for sentence in found]
    for fault, sentence in FAULTS.items():
        found = " / ".join(short_run(program, fault))
        if not re.search(sentence, found):
            wrong.append(f"the fault {fault} is not found, but: {found or 'all is well'}")
    return wrong


def main():
    arguments = sys.argv[1:]
    wrong = []
    if len(arguments) == 2 and arguments[0] == "short":
        wrong = short(arguments[1])
    elif len(arguments) == 3 and arguments[0] == "page":
        make_page(Path(arguments[1]), Path(arguments[2]))
    elif (len(arguments) in (3, 5) and arguments[0] == "run" and re.fullmatch(r"\d+(\.\d+)?", arguments[2])
          and arguments[3:4] in ([], ["--page"])):
        wrong = run(Path(arguments[1]).resolve(), float(arguments[2]), Path(arguments[4]) if arguments[4:] else None)
    else:
        sys.exit(__doc__)
    for sentence in wrong:
        print(f"FAILED: {sentence}")
    print(f"{len(wrong)} failures")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main())
