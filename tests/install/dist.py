"""Makes a release twice, in two clones at places of different length, and compares the bytes. Then looks at what is in it.

usage: dist.py
"""

import json
import subprocess
import tarfile

from ways import SOURCE, empty_directory, expect, output_of, skip, version


def contents(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def make(clone, environment):
    output_of("git", "clone", "--quiet", SOURCE, clone)
    output_of("make", "--no-print-directory", "-C", clone, "dist", **environment)
    return clone / "build/dist"


def check_contents(dist):
    output_of("sh", "-c", f"cd '{dist}' && sha256sum --quiet -c SHA256SUMS")
    name = f"tslab-{version()}"
    with tarfile.open(dist / f"{name}.tar.gz") as archive:
        names = set(archive.getnames())
    for file in ("CMakeLists.txt", "LICENSE", "include/tslab/tslab.h", "src/thread/heap.c", "debian/control"):
        expect(f"{name}/{file}" in names, f"the archive lacks {file}")
    with tarfile.open(dist / f"{name}-amalgamation.tar.gz") as archive:
        expect(sorted(archive.getnames()) == [f"{name}-amalgamation/tslab.{end}" for end in "ch"], archive.getnames())
    bill = json.loads((dist / f"{name}.spdx.json").read_text())
    listed = {f"{name}/{file['fileName'].removeprefix('./')}" for file in bill["files"]}
    expect(bill["spdxVersion"] == "SPDX-2.3" and listed <= names and "LICENSE" in str(listed), "the bill lists other files")
    expect(bill["packages"][0]["versionInfo"] == version(), "the bill has another version")


def main():
    if subprocess.run(["git", "-C", SOURCE, "rev-parse", "--verify", "HEAD"], capture_output=True).returncode != 0:
        skip("this is no clone")
    with empty_directory() as root:
        first = make(root / "a", {"LANG": "C", "TZ": "UTC", "HOME": str(root)})
        second = make(root / "another-place", {"LANG": "C.UTF-8", "TZ": "Asia/Tokyo", "HOME": str(root)})
        expect(contents(first) == contents(second), "two releases of one commit differ")
        check_contents(first)


main()
