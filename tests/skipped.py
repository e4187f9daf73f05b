"""Which tests were skipped, in whole or in part, and are not on the list of those that may be (skipped.txt). A test that
nobody runs finds nothing, so for .ci/run a skip without a reason is a failure.

usage: skipped.py JUNIT...      what `ctest --output-junit` has written; a name may be a pattern"""

import glob
import pathlib
import re
import sys
import xml.etree.ElementTree as xml

LIST = pathlib.Path(__file__).with_name("skipped.txt")
# How programs say it: ours and Python's by tslab_test.py, cmocka's, other tests in Python.
SAID = re.compile(r"^(?:SKIP|skipped): (.*)|^\[  SKIPPED \] (?!\d)(.*)|\b(skipped=\d+)\b", re.MULTILINE)


def skips(text):
    """Lines of TEST: what it said, of the text of a file of JUnit's."""
    for case in xml.fromstring(text).iter("testcase"):
        name, said = case.get("name"), case.findtext("system-out") or ""
        found = dict.fromkeys(next(filter(None, groups)) for groups in SAID.findall(said))
        if any(not each.startswith("skipped=") for each in found):  # each by its name
            found = [each for each in found if not each.startswith("skipped=")]
        if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            found = found or [f"({case.get('status')})"]
        yield from (f"{name}: {each}" for each in found)


def allowed(text):
    """Of the list: patterns, each with its reason."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    rows = [re.split(r" {2,}", line, maxsplit=1) for line in lines]
    lone = [row[0] for row in rows if len(row) != 2]
    if lone:
        raise ValueError(f"{LIST.name}: no reason for {', '.join(lone)}")
    return [pattern for pattern, _ in rows]


def complaints(texts, patterns):
    for text in texts:
        for skip in skips(text):
            if not any(re.fullmatch(pattern, skip) for pattern in patterns):
                yield skip


def main():
    paths = [path for pattern in sys.argv[1:] for path in sorted(glob.glob(pattern))]
    if not paths:
        sys.exit(f"skipped.py: there is no file {' '.join(sys.argv[1:])}")
    texts = [pathlib.Path(path).read_text(encoding="utf-8", errors="replace") for path in paths]
    found = list(complaints(texts, allowed(LIST.read_text(encoding="utf-8"))))
    for skip in found:
        print(f"skipped, and not in tests/{LIST.name}: {skip}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
