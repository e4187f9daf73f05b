"""Makes a release twice, in two clones at places of different length, and compares the bytes. Then looks at what is in it, and has
apt install from its repository, by lists of its own.

usage: dist.py
"""

import getpass
import json
import re
import shutil
import subprocess
import tarfile

from ways import SOURCE, empty_directory, expect, interface_version, output_of, skip, version


def contents(directory):
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


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


def check_apt(root, repository):
    """What tslab-tools and libtslab-dev need comes from the repository and from this system, and what comes runs."""
    root.mkdir()
    (root / "sources.list").write_text(f"deb [trusted=yes] file:{repository} ./\n")
    for name in ("lists/partial", "archives/partial", "downloads"):
        (root / name).mkdir(parents=True)
    apt = [
        "apt-get", "-q", "-o", f"Dir::Etc::SourceList={root}/sources.list", "-o", "Dir::Etc::SourceParts=-", "-o", f"Dir::State::Lists={root}/lists",
        "-o", f"Dir::Cache={root}", "-o", f"APT::Sandbox::User={getpass.getuser()}",
    ]  # fmt: skip
    output_of(*apt, "update")
    library = f"libtslab{interface_version()}"
    planned = output_of(*apt, "-s", "install", "--no-install-recommends", "--reinstall", library, "libtslab-dev")
    for name in (library, "libtslab-dev"):
        expect(re.search(rf"^Inst {name} (\[\S+\] )?\({version()} ", planned, re.M), f"apt does not install {name}: {planned}")
    output_of("sh", "-euc", 'cd "$1"; shift; "$@"', "sh", root / "downloads", *apt, "download", library, "tslab-tools")
    for package in (root / "downloads").iterdir():
        output_of("dpkg", "-x", package, root / "system")
    said = output_of(root / "system/usr/bin/tslab-run", "true", TSLAB_STATS="1", LD_PRELOAD=None)
    expect("tslab statistics" in said, f"the packages of the repository do not run a program: {said}")


def main():
    if subprocess.run(["git", "-C", SOURCE, "rev-parse", "--verify", "HEAD"], capture_output=True).returncode != 0:
        skip("this is no clone")
    with empty_directory() as root:
        first = make(root / "a", {"LANG": "C", "TZ": "UTC", "HOME": str(root)})
        second = make(root / "another-place", {"LANG": "C.UTF-8", "TZ": "Asia/Tokyo", "HOME": str(root)})
        expect(contents(first) == contents(second), "two releases of one commit differ")
        check_contents(first)
        if (first / "apt").exists() and shutil.which("apt-get"):
            check_apt(root / "with-apt", first / "apt")
        else:
            print("not for apt: a tool is missing")


main()
