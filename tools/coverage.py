#!/usr/bin/python3
"""Which lines and branches of the engine did the tests of the coverage build run? Compares with what is on record.

usage: tools/coverage.py build/coverage [--raise]

The record, tests/coverage.txt, counts for each file the lines and the branches that no test reaches. More of them make this
fail; --raise writes the record anew. Beside the engine as users get it, the one in the simulation counts for what both have:
its scheduler reaches what threads rarely do. Only what users get is asked for, so checks of checked builds are no branches.

What cannot run, or not in this build, says so in the source: a comment `uncounted: <why>` on a line takes the line out of the
count, and one above a function the function.
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src"
RECORD = ROOT / "tests" / "coverage.txt"
OBJECTS = ["libtslab-malloc.so", "tests/sim/sim"]  # the engine as users get it comes first

# What depends on how threads meet comes and goes by so much: in a file, and in all.
FILE_SLACK = 4
SLACK = 12

# The knobs of the build are no decisions of the engine, and what a knob turns off has no lines.
KNOB = re.compile(r"TSLAB_(CHECKED|SIM)\b")
KNOB_BLOCK = re.compile(r"( *)(?:} else )?if \(+TSLAB_(CHECKED|SIM)\b.*{$")
UNCOUNTED = re.compile(r"/\*.*\buncounted: \S")

# What has no code of its own: a brace, and what the compiler knows not to be reached or not to be evaluated.
NO_CODE = re.compile(r"[{}();, ]*(/\*.*)?$|\s*__builtin_unreachable")
UNEVALUATED = re.compile(r"invariant\b")

# A macro's own condition is that of its argument: the argument's parts are counted where there are several.
Branch = collections.namedtuple("Branch", "line column inner number")


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"tslab: {command[0]} failed: {done.stderr.strip()}")
    return done.stdout


def read_lines(build, profile, name):
    """{file: {line: count}} of an object's code."""
    counts = {}
    for row in run("llvm-cov", "export", "-format=lcov", f"-instr-profile={profile}", str(build / name)).splitlines():
        word, _, rest = row.partition(":")
        if word == "SF":
            lines = counts.setdefault(rest, {})
        elif word == "DA":
            line, count = rest.split(",")[:2]
            lines[int(line)] = lines.get(int(line), 0) + int(count)
    return counts


def branches_of(function):
    """(file, Branch, times true, times false, the place's end) of a function's record, each at its place in the file."""
    parents = {region[6]: region for region in function["regions"] if region[7] == 1}
    by_expansion = collections.Counter(branch[6] for branch in function["branches"])
    seen = collections.Counter()
    for line, column, end_line, end_column, taken, passed, file_id, _, _ in function["branches"]:
        inner = ""
        if file_id in parents:
            name = pathlib.Path(function["filenames"][file_id]).name
            seen[file_id] += 1
            if seen[file_id] == 1 and by_expansion[file_id] > 1:
                continue
            inner = f"{name}:{line}:{column}"
            while file_id in parents:
                line, column, end_line, end_column, _, file_id, _, _ = parents[file_id]
        key = (file_id, line, column, inner)
        seen[key] += 1
        yield function["filenames"][file_id], Branch(line, column, inner, seen[key]), taken, passed, (end_line, end_column)


def read_branches(build, profile, name):
    """{file: {Branch: [times true, times false, the place's end]}} of an object's code."""
    export = json.loads(run("llvm-cov", "export", f"-instr-profile={profile}", str(build / name)))
    counts = {}
    for function in export["data"][0]["functions"]:
        for file, branch, taken, passed, end in branches_of(function):
            sums = counts.setdefault(file, {}).setdefault(branch, [0, 0, end])
            sums[0] += taken
            sums[1] += passed
    return counts


def ignored_lines(source):
    """The numbers of the lines that are not asked for."""
    ignored = set()
    indent = None
    for number, text in enumerate(source, 1):
        if indent is not None:
            if text.startswith(indent + "}"):
                indent = None
            else:
                ignored.add(number)
        knob = KNOB_BLOCK.match(text)
        if knob:
            indent = knob.group(1)
        if indent is None and UNCOUNTED.match(text):
            indent = ""
        if knob or KNOB.search(text) or UNCOUNTED.search(text) or NO_CODE.match(text):
            ignored.add(number)
    return ignored


def text_at(source, branch, end):
    if end[0] != branch.line:
        return source[branch.line - 1][branch.column - 1:].strip()
    return source[branch.line - 1][branch.column - 1:end[1] - 1].strip()


class File:
    """The lines and branches of a source: those that are asked for, and those that were not reached."""

    def __init__(self, path, lines, branches):
        self.name = str(path.relative_to(ROOT))
        self.source = path.read_text().splitlines()
        ignored = ignored_lines(self.source)
        self.lines = {line: count for line, count in sorted(lines.items()) if line not in ignored}
        self.branches = []  # (line, what it says, count)
        for branch, (taken, passed, end) in sorted(branches.items()):
            text = text_at(self.source, branch, end)
            if branch.line not in ignored and not UNEVALUATED.match(text):
                self.branches += [(branch.line, f"{text} is true", taken), (branch.line, f"{text} is false", passed)]

    def missed(self):
        """[(line, what is there)] of what was not reached."""
        lines = [(line, "line " + self.source[line - 1].strip()) for line, count in self.lines.items() if count == 0]
        dead = {line for line, _ in lines}
        branches = [(line, f"branch {text}") for line, text, count in self.branches if count == 0 and line not in dead]
        return lines + branches

    def counts(self):
        """(lines, branches) that were not reached."""
        missed = [text.startswith("line ") for _, text in self.missed()]
        return sum(missed), len(missed) - sum(missed)

    def totals(self):
        return [len(self.lines), sum(count != 0 for count in self.lines.values()),
                len(self.branches), sum(count != 0 for _, _, count in self.branches)]


def measure(build):
    counts = sorted(str(path) for path in (build / "counts").glob("*.profraw"))
    if not counts:
        sys.exit(f"tslab: no test has run in {build}: start with `make coverage`.")
    profile = build / "all.profdata"
    run("llvm-profdata", "merge", "-sparse", "-o", str(profile), *counts)
    first_lines, first_branches = read_lines(build, profile, OBJECTS[0]), read_branches(build, profile, OBJECTS[0])
    for name in OBJECTS[1:]:
        for file, lines in read_lines(build, profile, name).items():
            mine = first_lines.get(file, {})
            for line in lines.keys() & mine.keys():
                mine[line] += lines[line]
        for file, branches in read_branches(build, profile, name).items():
            mine = first_branches.get(file, {})
            for branch in branches.keys() & mine.keys():
                mine[branch][0] += branches[branch][0]
                mine[branch][1] += branches[branch][1]
    return [File(pathlib.Path(path), lines, first_branches.get(path, {}))
            for path, lines in sorted(first_lines.items()) if SOURCES in pathlib.Path(path).parents]


def percent(part, whole):
    return 100.0 if whole == 0 else 100.0 * part / whole


def summary(totals):
    lines, lines_run, branches, branches_run = totals
    return (f"{percent(lines_run, lines):.1f} % of {lines} lines, "
            f"{percent(branches_run, branches):.1f} % of {branches} branches")


def write_record(files, total):
    with open(RECORD, "w", encoding="utf-8") as record:
        record.write("# How many lines and branches of each file no test of the engine reaches: see tools/coverage.py.\n")
        record.write(f"# All: {summary(total)}\n")
        for file in files:
            lines, branches = file.counts()
            if lines + branches > 0:
                record.write(f"{file.name} {lines} {branches}\n")


def compare(files):
    """[(file, how much more of it is not reached than is on record)], of the files where that is so."""
    rows = [row.split() for row in RECORD.read_text().splitlines() if row and not row.startswith("#")]
    known = {name: int(lines) + int(branches) for name, lines, branches in rows}
    excess = [(file, sum(file.counts()) - known.get(file.name, 0)) for file in files]
    return [(file, more) for file, more in excess if more > 0]


def write_html(build):
    objects = [word for name in OBJECTS[1:] for word in ("-object", str(build / name))]
    run("llvm-cov", "show", "-format=html", "-show-branches=count", f"-output-dir={build / 'html'}",
        f"-instr-profile={build / 'all.profdata'}", str(build / OBJECTS[0]), *objects, str(SOURCES))
    return build / "html" / "index.html"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path, help="the folder of the coverage build")
    parser.add_argument("--raise", dest="record", action="store_true", help="write the record anew")
    options = parser.parse_args()

    files = measure(options.build.resolve())
    total = [sum(column) for column in zip(*(file.totals() for file in files))]
    print(f"tslab: the tests reach {summary(total)}: {write_html(options.build.resolve())}")
    if options.record:
        write_record(files, total)
        return
    new = compare(files)
    worst = [entry for entry in new if entry[1] > FILE_SLACK]
    if not worst and sum(more for _, more in new) <= SLACK:
        return
    for file, _ in worst or new:
        for line, text in file.missed():
            print(f"{file.name}:{line}: {text}", file=sys.stderr)
    more = ", ".join(f"{file.name} (by {more})" for file, more in worst or new)
    sys.exit(f"tslab: the tests reach less than before of {more}: test some of the above, or record that nobody does "
             "(make coverage RATCHET=raise).")


if __name__ == "__main__":
    main()
