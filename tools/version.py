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
# Files of tools, and the place of the version in each.
WHOLE = {
    "tools/tslab_tools/__init__.py": r'^VERSION = "([^"]+)"$',
    "lab/pyproject.toml": r'^version = "([^"]+)"$',
    "debian/changelog": r"\Atslab \(([^)]+)\)",
    "CHANGELOG.md": r"^## \[(\d[^\]]*)\]",
    "packaging/tslab.spec": r"^Version: +(\S+)$",
    "packaging/APKBUILD": r"^pkgver=(\S+)$",
    "packaging/default.nix": r'^  version = "([^"]+)";$',
    "bindings/python/pyproject.toml": r'^version = "([^"]+)"$',
    "bindings/python/src/tslab/_library.py": r'^VERSION = "([^"]+)"$',
    "bindings/rust/Cargo.toml": r'^version = "([^"]+)"$',
    "bindings/rust/Cargo.lock": r'^name = "tslab[a-z-]*"\nversion = "([^"]+)"$',
    "bindings/rust/tslab/Cargo.toml": r'^tslab-sys = \{ version = "([^"]+)"',
}
# What people read, and how it says the whole version and the interface's (before 1.0: major and minor).
READ = (
    "*.md", "docs/*.md", "include/tslab/*", "bindings/*/*.md", "bindings/rust/*/*.md", "examples/*", "debian/control",
    "packaging/*", "tests/install/*/CMakeLists.txt",
)  # fmt: skip
SAID_WHOLE = r"\b(?:tslab[- ]|[Vv]ersion )(\d+\.\d+\.\d+)\b"
SAID_INTERFACE = "|".join((
    r"\blibtslab(?:-[a-z]+)*\.so\.(\d+\.\d+)\b", r"\bTSLAB_(\d+\.\d+)\b", r"\blibtslab(\d+\.\d+)(?!\d)", r"find_package\(tslab (\d+\.\d+)\b",
    r'^tslab = "(\d+\.\d+)"$', r"\bversion (\d+\.\d+)(?= of a binding| of the library|, and before 1\.0)", r"\btakes (\d+\.\d+)\.x",
    r"^\| releases \| (\d+\.\d+) \|",
))  # fmt: skip

def version():
    text = (ROOT / HEADER).read_text(encoding="utf-8")
    return ".".join(re.search(rf"^#define TSLAB_VERSION_{part} (\d+)$", text, re.M)[1] for part in ("MAJOR", "MINOR", "PATCH"))


def interface(whole):
    major, minor, _ = whole.split(".")
    return f"{major}.{minor}" if major == "0" else major


def places(wanted):
    """Each place where a version stands: file, the match, and what should stand there."""
    read = sorted({path for pattern in READ for path in ROOT.glob(pattern) if path.is_file()} - {ROOT / "CHANGELOG.md"})
    rows = [(ROOT / name, pattern, wanted) for name, pattern in WHOLE.items()]
    rows += [(path, pattern, value) for pattern, value in ((SAID_WHOLE, wanted), (SAID_INTERFACE, interface(wanted))) for path in read]
    for path, pattern, value in rows:
        found = list(re.finditer(pattern, path.read_text(encoding="utf-8"), re.M)) if path.exists() else []
        # The newest entry of a changelog is its first.
        for match in found[:1] if "changelog" in path.name.lower() else found:
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
        if "changelog" not in path.name.lower():
            edits = [(match, value) for other, match, value in places(wanted) if other == path]
            text = path.read_text(encoding="utf-8")
            for match, value in sorted(edits, key=lambda edit: -edit[0].start()):
                group = next(at for at, word in enumerate(match.groups(), 1) if word)
                text = text[:match.start(group)] + value + text[match.end(group):]  # fmt: skip
            path.write_text(text, encoding="utf-8")
    print("tslab: now begin an entry in CHANGELOG.md, debian/changelog and packaging/tslab.spec")


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


if __name__ == "__main__":
    main()
