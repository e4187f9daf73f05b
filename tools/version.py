#!/usr/bin/python3 -B
"""The version stands in the public header. Packages repeat it, because their tools read it from their own files.

usage: version.py            prints it
       version.py --check    fails where another file has another version
       version.py X.Y.Z      writes it everywhere
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
HEADER = "include/tslab/tslab.h"
# Files, and the places of the whole version and of the interface's (before 1.0: major and minor) in them.
WHOLE = {
    "tools/tslab_tools/__init__.py": r'^VERSION = "([^"]+)"$',
    "lab/pyproject.toml": r'^version = "([^"]+)"$',
    "debian/changelog": r"\Atslab \(([^)]+)\)",
    "CHANGELOG.md": r"^## \[(\d[^\]]*)\]",
    "README.md": r"version (\d+\.\d+\.\d+)",
    "docs/install.md": r"tslab-(\d+\.\d+\.\d+)\.tar",
    "packaging/tslab.spec": r"^Version: +(\S+)$",
    "packaging/APKBUILD": r"^pkgver=(\S+)$",
    "packaging/default.nix": r'^  version = "([^"]+)";$',
    "bindings/python/pyproject.toml": r'^version = "([^"]+)"$',
    "bindings/rust/Cargo.toml": r'^version = "([^"]+)"$',
    "bindings/rust/Cargo.lock": r'^name = "tslab[a-z-]*"\nversion = "([^"]+)"$',
    "bindings/rust/tslab/Cargo.toml": r'^tslab-sys = \{ version = "([^"]+)"',
}
INTERFACE = {
    HEADER: r"libtslab\.so\.([\d.]+\d)|symbol version TSLAB_([\d.]+\d)",
    "debian/control": r"libtslab(\d[\d.]*)",
    "README.md": r"find_package\(tslab ([\d.]+)\)",
    "docs/install.md": r"find_package\(tslab ([\d.]+)",
    "bindings/rust/tslab/README.md": r'^tslab = "([^"]+)"$',
    "examples/CMakeLists.txt": r"find_package\(tslab ([\d.]+)",
    "tests/install/consumer/CMakeLists.txt": r"find_package\(tslab ([\d.]+)",
}


def version():
    text = (ROOT / HEADER).read_text(encoding="utf-8")
    return ".".join(re.search(rf"^#define TSLAB_VERSION_{part} (\d+)$", text, re.M)[1] for part in ("MAJOR", "MINOR", "PATCH"))


def interface(whole):
    major, minor, _ = whole.split(".")
    return f"{major}.{minor}" if major == "0" else major


def places(wanted):
    """Each place where a version stands: file, the match, and what should stand there."""
    for table, value in ((WHOLE, wanted), (INTERFACE, interface(wanted))):
        for name, pattern in table.items():
            path = ROOT / name
            text = path.read_text(encoding="utf-8") if path.exists() else ""
            found = list(re.finditer(pattern, text, re.M))
            # The newest entry of a changelog is its first.
            for match in found[:1] if "hange" in name else found:
                yield path, match, value


def check():
    wrong = [f"{path.relative_to(ROOT)}: {match[0]!r} is not of {value}" for path, match, value in places(version())
             if next(filter(None, match.groups())) != value]  # fmt: skip
    if not (ROOT / f"debian/libtslab{interface(version())}.install").exists():
        wrong.append("debian/: the package of the library is named for another interface")
    sys.exit("\n".join(wrong) or 0)


def write(wanted):
    header = ROOT / HEADER
    text = header.read_text(encoding="utf-8")
    for part, number in zip(("MAJOR", "MINOR", "PATCH"), wanted.split("."), strict=True):
        text = re.sub(rf"(?m)^(#define TSLAB_VERSION_{part}) \d+$", rf"\1 {number}", text)
    header.write_text(text, encoding="utf-8")
    before = next((ROOT / "debian").glob("libtslab[0-9]*.install"))
    before.rename(before.with_name(f"libtslab{interface(wanted)}.install"))
    for path in dict.fromkeys(path for path, _, _ in places(wanted)):
        if path.name not in ("CHANGELOG.md", "changelog"):
            edits = [(match, value) for other, match, value in places(wanted) if other == path]
            text = path.read_text(encoding="utf-8")
            for match, value in sorted(edits, key=lambda edit: -edit[0].start()):
                group = next(at for at, word in enumerate(match.groups(), 1) if word)
                text = text[:match.start(group)] + value + text[match.end(group):]  # fmt: skip
            path.write_text(text, encoding="utf-8")
    print("tslab: now begin an entry in CHANGELOG.md and in debian/changelog")


def main():
    words = sys.argv[1:]
    if not words:
        print(version())
    elif words == ["--check"]:
        check()
    elif re.fullmatch(r"\d+\.\d+\.\d+", words[0]):
        write(words[0])
    else:
        sys.exit(__doc__)


main()
