"""Compares the table in SECURITY.md with the tests that it names: each exists, ends as the table says, and none is left out.

usage: table.py SOURCE_DIR
"""

import pathlib
import re
import sys

SOURCE = pathlib.Path(sys.argv[1])
UNNAMED = {"processes_differ"}  # a test of its own, not a case
CASE = re.compile(
    r"""^(?:(?:CASE|MISUSE)\(|MISUSE_OF\([^,]+, |SCRIPT\()(\w+),(?: [^,]+, [^,]+, "[^"]*",)? ([A-Za-z_]+), (\w+)[,)]""", re.MULTILINE
)


def cases_of(path):
    """The ends of the cases of a program: name -> (in the release library, in the checked one)."""
    return {name: ends for name, *ends in CASE.findall((SOURCE / path).read_text(encoding="utf-8"))}


def word_of(end):
    """The word that a cell must have for a test that ends so."""
    return {"completes": None, "faults": "faults"}.get(end.lower(), "ends")


def rows_of_table():
    text = (SOURCE / "SECURITY.md").read_text(encoding="utf-8")
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == 4 and "`" in cells[3]:
            what, release, checked, tests = cells
            yield what, (release, release if checked.startswith("the same") else checked), re.findall(r"`([^`]+)`", tests)


def complaints():
    security = cases_of("tests/misuse/reach.c")
    others = {"misuse": cases_of("tests/misuse/pointers.c"), "kinds": cases_of("tests/misuse/kinds.cpp")}
    if not security or not all(others.values()):
        yield "The cases of the tests are not found in their sources."
    missing = set(security) | UNNAMED | {f"kinds:{name}" for name in others["kinds"]}
    for what, cells, tests in rows_of_table():
        ends = []
        for test in tests:
            kind, _, name = test.rpartition(":")
            missing.discard(test)
            if kind == "family":
                if not list((SOURCE / "tests/family").glob(f"{name}.c*")):
                    yield f"{what}: there is no tests/family/{name}."
            elif test not in UNNAMED:
                found = others.get(kind, security).get(name)
                if found is None:
                    yield f"{what}: there is no test {test}."
                else:
                    ends.append(found)
        for cell, words in zip(cells, zip(*([word_of(end) for end in pair] for pair in ends))):
            for word in ("ends", "faults"):
                if (word in words) != (word in cell.replace(",", " ").split()) and ends:
                    yield f"{what}: the cell '{cell}' and its tests disagree about '{word}'."
    for test in sorted(missing):
        yield f"SECURITY.md does not name the test {test}."


found = list(complaints())
print("\n".join(found))
sys.exit(1 if found else 0)
