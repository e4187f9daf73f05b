#!/usr/bin/python3 -B
"""Writes the tables of docs/comparison.md, of the cells in docs/comparison.toml and of the versions that docs/results/matrix.md was
measured with.

usage: comparison.py [--check]    --check: writes nothing, and fails if the page is not what it would write, if a cell has no source,
                                  or was read longer ago than DAYS_MOST
"""

import datetime
import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]
DAYS_MOST = 180
BEGIN, END = "<!-- comparison: {} -->\n", "<!-- end of comparison -->"


def cells(data):
    """All of them, with where each stands."""
    for name, cell in data["ages"].items():
        yield f"ages: {name}", cell
    for table in data["tables"]:
        for row, of_peers in data[table].items():
            for peer, cell in of_peers.items():
                yield f"{table}: {row}: {peer}", cell


def complaints(data, today):
    for where, cell in cells(data):
        if "is" not in cell or not cell.get("source", "").strip():
            yield f"{where}: there is no value, or no source"
        elif "checked" not in cell:
            yield f"{where}: there is no day"
        elif not 0 <= (days := (today - cell["checked"]).days) <= DAYS_MOST:
            yield f"{where}: read {days} days ago. Read it again in the newest version: {cell['source']}"
    for table, peers in data["tables"].items():
        for row, of_peers in data[table].items():
            missing = set(peers) - set(shared(data, row, of_peers))
            for peer in sorted(missing | (set(of_peers) - set(peers))):
                yield f"{table}: {row}: {peer} is in one of row and columns"


def shared(data, row, of_peers):
    """The cells of a row. Those of tslab stand in the first table alone."""
    return data["general"].get(row, {}) | of_peers


def table_of(data, name):
    peers = data["tables"][name]
    yield "| | " + " | ".join(data["peers"][peer]["title"] for peer in peers) + " |"
    yield "|---" * (len(peers) + 1) + "|"
    for row, of_peers in data[name].items():
        found = shared(data, row, of_peers)
        yield f"| {row} | " + " | ".join(found[peer]["is"] for peer in peers) + " |"


def measured(matrix):
    """The versions that the page of results tells, with their days, by allocator."""
    peers = re.search(r"^\| peers \| (.*) \|$", matrix, re.M)[1]
    found = dict(part.split(" ", 1) for part in peers.split(", "))
    return {"glibc": re.search(r"^\| system \|.*?glibc ([\d.]+)", matrix, re.M)[1]} | found


def ages_of(data, matrix):
    yield "| in the matrix | version that was measured | newest that we know of |"
    yield "|---|---|---|"
    versions = measured(matrix)
    assert versions.keys() == data["ages"].keys(), "another set of allocators was measured"
    for name, version in versions.items():
        yield f"| {name} | {version} | {data['ages'][name]['is']} |"


def sources_of(data):
    yield "| column | what was read |"
    yield "|---|---|"
    for peer in data["peers"].values():
        if peer["title"] not in ("tslab", "epochs of tslab", "who"):
            yield f"| {peer['title']} | {peer['read']} |"


def page(text, data, matrix):
    parts = {name: table_of(data, name) for name in data["tables"]} | {"ages": ages_of(data, matrix), "sources": sources_of(data)}
    for name, lines in parts.items():
        before, begin, rest = text.partition(BEGIN.format(name))
        assert begin, f"the page has no place for {name}"
        text = before + begin + "\n" + "\n".join(lines) + "\n\n" + END + rest.partition(END)[2]
    return text


def main():
    data = tomllib.loads((ROOT / "docs/comparison.toml").read_text(encoding="utf-8"))
    target = ROOT / "docs/comparison.md"
    text = target.read_text(encoding="utf-8")
    wanted = page(text, data, (ROOT / "docs/results/matrix.md").read_text(encoding="utf-8"))
    wrong = list(complaints(data, datetime.datetime.now(datetime.UTC).date()))
    if "--check" not in sys.argv:
        target.write_text(wanted, encoding="utf-8")
    elif text != wanted:
        wrong.append("docs/comparison.md is not what docs/comparison.toml makes: run tools/comparison.py")
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
