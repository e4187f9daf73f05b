"""Every way in docs/install.md names a test that there is, and every test of a way is named there. So for docs/stability.md.

usage: documents.py CTEST BINARY_DIR
"""

import re
import sys

from ways import SOURCE, expect, output_of

CTEST, BINARY_DIR = sys.argv[1:]


def main():
    tests = re.findall(r"Test +#\d+: (\S+)", output_of(CTEST, "--test-dir", BINARY_DIR, "-N"))
    ways = {name for name in tests if re.fullmatch(r"install(-.*)?", name)} - {"install-documents", "install-abi"}
    named = set(re.findall(r"`(install(?:-[a-z0-9-]+)?)`", (SOURCE / "docs/install.md").read_text()))
    expect(ways == named, f"docs/install.md names {sorted(named - ways)}, which are not there, and not {sorted(ways - named)}")
    table = [line for line in (SOURCE / "docs/stability.md").read_text().splitlines() if line.startswith("| ")][1:]
    for word in {word for line in table for word in re.findall(r"`([^`]+)`", line.rstrip("| ").rpartition("|")[2])}:
        pattern = re.escape(word).replace(r"\*", ".*")
        expect(any(re.match(rf"{pattern}($|[_-])", name) for name in tests), f"docs/stability.md names {word}: there is no such test")


main()
