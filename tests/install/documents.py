"""Every way in docs/install.md names a test that there is, and every test of a way is named there. So for what it promises.

usage: documents.py CTEST BINARY_DIR
"""

import re
import sys

from ways import SOURCE, expect, output_of

CTEST, BINARY_DIR = sys.argv[1:]


def main():
    tests = re.findall(r"Test +#\d+: (\S+)", output_of(CTEST, "--test-dir", BINARY_DIR, "-N"))
    ways = {name for name in tests if re.fullmatch(r"install(-.*)?", name)} - {"install-documents", "install-abi"}
    page, promises = (SOURCE / "docs/install.md").read_text().split("\n## What is promised\n")
    named = set(re.findall(r"`(install(?:-[a-z0-9-]+)?)`", page))
    expect(ways == named, f"docs/install.md names {sorted(named - ways)}, which are not there, and not {sorted(ways - named)}")
    table = [line for line in promises.splitlines() if line.startswith("| ")][1:]
    for word in {word for line in table for word in re.findall(r"`([^`]+)`", line.rstrip("| ").rpartition("|")[2])}:
        pattern = re.escape(word).replace(r"\*", ".*")
        expect(any(re.match(rf"{pattern}($|[_-])", name) for name in tests), f"docs/install.md names {word}: there is no such test")


main()
