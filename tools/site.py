#!/usr/bin/python3 -B
"""Makes the site of the documentation by MkDocs: of README.md, docs/, the reference (reference.py), and each other page that these
link to. A link to a source becomes a link to a page that shows it. MkDocs fails at a link that leads nowhere.

The site goes to DIRECTORY/site. Beside it lie its pages, and a Python environment with what docs/requirements.txt names, which
comes from PyPI the first time. Exit code 3: it could not be fetched.
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import venv

import reference

ROOT = pathlib.Path(__file__).resolve().parents[1]
REQUIREMENTS = ROOT / "docs/requirements.txt"
ASSETS = (ROOT / "docs/site.css", ROOT / "docs/iframe-worker.js")
# Interfaces whose comments are their reference.
SOURCES = ("include/tslab/tslab.hpp", "bindings/rust/tslab/src/lib.rs", "bindings/python/src/tslab/__init__.py")
BEGUN_FROM = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs", *SOURCES)
AS_THEY_ARE = {".png", ".svg", ".csv"}  # files that lie among the pages as they are
NOT_FETCHED = 3
LANDING = "---\nhide: [navigation]\n---\n"  # there is nothing beside it
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\]|!\[[^\]]*\]\([^)]*\))*\]\()([^)\s]+)(\))")
MARK = re.compile(r"<!--(?:[a-z]+; [^\n]*?)?-->")  # of the figures that the lab fills in
FENCE = re.compile(r"^( *)(```|~~~).*?^\1\2", re.M | re.S)
LANGUAGES = {
    ".c": "c", ".h": "c", ".hpp": "cpp", ".cpp": "cpp", ".py": "python", ".toml": "toml", ".yml": "yaml", ".yaml": "yaml", ".json": "json",
    ".go": "go", ".zig": "zig", ".rs": "rust",
}  # fmt: skip

# What stands where. FOLDER/* is all pages of the folder that are not named.
NAVIGATION = {
    "Home": "README.md",
    "Learn": {
        "Tutorial": "docs/tutorial.md",
        "Guide to epochs": "docs/guide.md",
        "Examples": "examples/README.md",
    },
    "Do": {
        "Install": "docs/install.md",
        "Recipes": "docs/recipes.md",
        "Operations": "docs/operations.md",
        "Heap profiles": "docs/profiles.md",
        "Live view": "docs/export.md",
        "Tracing": "docs/tracing.md",
        "Other languages": "docs/bindings.md",
        "Measure": "docs/lab.md",
    },
    "Look up": [
        {"C interface": "docs/reference.md"},
        {"C++ interface": "source/include/tslab/tslab.hpp.md"},
        {"Rust interface": "source/bindings/rust/tslab/src/lib.rs.md"},
        {"Python interface": "source/bindings/python/src/tslab/__init__.py.md"},
        {"Commands": "docs/commands.md"},
        {"Options": "docs/options.md"},
        {"Statistics": "docs/statistics.md"},
        {"Diagnostics": "docs/diagnostics.md"},
        {"Limits": "docs/limits.md"},
        {"Security": "SECURITY.md"},
        "docs/*",
        {"Changes": "CHANGELOG.md"},
    ],
    "Results": [
        "docs/results/README.md",
        {"All workloads": "docs/results/matrix.md"},
        {"Patterns": "docs/results/patterns.md"},
        {"Sizes": "docs/results/boundaries.md"},
        {"Latency": "docs/results/latency.md"},
        {"Resident memory over time": "docs/results/rss.md"},
        {"Request server": "docs/results/requests.md"},
        {"Epochs": "docs/results/epochs.md"},
        {"The checked library": "docs/results/checked.md"},
        {"Real programs": "docs/results/demo.md"},
        {"Rust": "docs/results/rust.md"},
        {"Soak": "docs/results/soak.md"},
        "docs/results/*",
    ],
    "Understand": [
        {"Memory": "docs/memory.md"},
        {"Comparison": "docs/comparison.md"},
        {"Architecture": "docs/ARCHITECTURE.md"},
        {"How it is tested": "docs/verification.md"},
        {"Origins": "docs/origins.md"},
        {"Decisions": ["docs/decisions/README.md", "docs/decisions/*"]},
        {"Protocols": ["docs/protocols/README.md", "docs/protocols/*"]},
        {"Contributing": "CONTRIBUTING.md"},
        {"Style": "docs/STYLE.md"},
        {"Tests": "tests/README.md"},
    ],
}


def environment(folder):
    """The Python that has MkDocs. It is made anew when the requirements have changed."""
    stamp, wanted = folder / "requirements", hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    python = folder / "bin/python"
    if stamp.is_file() and stamp.read_text() == wanted:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    argv = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--retries", "1", "-r", REQUIREMENTS]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        # A pin that PyPI does not have is a fault of ours.
        print(f"{done.stdout}tslab: MkDocs could not be fetched from PyPI.", file=sys.stderr)
        sys.exit(1 if re.search(r"from versions: (?!none)", done.stdout) else NOT_FETCHED)
    stamp.write_text(wanted)
    return python


def source_page(path):
    """Where the page of a source, or of a folder without a README, lies among the pages. Names with a dot in front are hidden."""
    return pathlib.PurePosixPath("source", *(part.lstrip(".") for part in path.relative_to(ROOT).parts)).as_posix() + ".md"


class Pages:
    def __init__(self, folder):
        self.folder = folder
        self.done = {}

    def write(self, name, text):
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def name_of(self, path):
        """The name among the pages of a file or folder, which is put there if it is not yet. None: there is no such file."""
        if path.is_dir() and (path / "README.md").is_file():
            path /= "README.md"
        if path == ROOT / "include/tslab/tslab.h":
            return "docs/reference.md"
        if path in self.done:
            return self.done[path]
        if not path.exists() or ROOT not in path.parents:
            return None
        shown = path.suffix == ".md" or path.suffix in AS_THEY_ARE
        self.done[path] = name = path.relative_to(ROOT).as_posix() if shown else source_page(path)
        if path.suffix == ".md":
            self.write(name, (LANDING if name == "README.md" else "") + self.markdown(path, name))
        elif path.suffix in AS_THEY_ARE:
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, self.folder / name)
        elif path.is_dir():
            inside = sorted(one for one in path.iterdir() if one.is_file())
            items = [f"- [{one.name}]({os.path.relpath(self.name_of(one), pathlib.Path(name).parent)})\n" for one in inside]
            self.write(name, f"# {path.relative_to(ROOT)}/\n\n{''.join(items)}")
        else:
            code = path.read_text(encoding="utf-8")
            self.write(name, f"# {path.relative_to(ROOT)}\n\n````{LANGUAGES.get(path.suffix, 'text')}\n{code}````\n")
        return name

    def markdown(self, path, name):
        """A page with its links, outside of code, as they have to be among the pages."""

        def link(match):
            # What the link shows may be a picture, which is a link, too.
            shown = LINK.sub(link, match[1]) if "](" in match[1][:-2] else match[1]
            target, mark, anchor = match[2].partition("#")
            if not target or "://" in target or target.startswith("mailto:"):
                return f"{shown}{match[2]}{match[3]}"
            found = self.name_of(pathlib.Path(os.path.normpath(path.parent / target)))
            if found is None:
                return f"{shown}{match[2]}{match[3]}"  # MkDocs complains
            return f"{shown}{os.path.relpath(found, pathlib.Path(name).parent)}{mark}{anchor}{match[3]}"

        text, out, at = MARK.sub("", path.read_text(encoding="utf-8")), [], 0
        for fence in FENCE.finditer(text):
            out += [LINK.sub(link, text[at:fence.start()]), fence[0]]  # fmt: skip
            at = fence.end()
        return "".join([*out, LINK.sub(link, text[at:])])


def commands():
    """The help of the command `tslab` and of each of its commands, as a page."""

    def help_of(*words):
        argv = [sys.executable, "-B", ROOT / "tools/tslab", *words, "--help"]
        done = subprocess.run(argv, capture_output=True, text=True, check=True, env=os.environ | {"COLUMNS": "80"})
        return f"```text\n{done.stdout.rstrip()}\n```\n"

    names = sorted(path.stem for path in (ROOT / "tools/tslab_tools/commands").glob("[a-z]*.py"))
    parts = [f"# The command `tslab`\n\nThis page is the help of the command itself.\n\n{help_of()}"]
    return "\n".join([*parts, *(f"## tslab {name}\n\n{help_of(name)}" for name in names)])


def make_pages(folder):
    shutil.rmtree(folder, ignore_errors=True)
    pages = Pages(folder)
    pages.write("docs/reference.md", reference.page())
    pages.write("docs/commands.md", commands())
    for asset in ASSETS:
        pages.write(asset.name, asset.read_text(encoding="utf-8"))
    for begun in BEGUN_FROM:
        path = ROOT / begun
        for one in sorted(path.rglob("*.md")) if path.is_dir() else [path]:
            pages.name_of(one)
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.md"))


def places_of(table):
    for value in table.values() if isinstance(table, dict) else table:
        yield from [value] if isinstance(value, str) else places_of(value)


def navigation(table, names):
    """The table, with FOLDER/* spelled out. Pages of other folders have no place in it: links lead to them."""
    left = [name for name in names if name not in set(places_of(table))]

    def spelled(value):
        if isinstance(value, dict):
            return [{title: spelled(inside)} for title, inside in value.items()]
        if isinstance(value, str):
            return value
        out = []
        for one in value:
            if isinstance(one, str) and one.endswith("/*"):
                out += [name for name in left if name.rpartition("/")[0] == one[:-2]]
            else:
                out += spelled(one) if isinstance(one, dict) else [one]
        return out

    return spelled(table)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    folder = parser.parse_args().directory.resolve()
    python = environment(folder / "python")
    names = make_pages(folder / "pages")
    config = {"docs_dir": str(folder / "pages"), "site_dir": str(folder / "site"), "nav": navigation(NAVIGATION, names)}
    lines = "".join(f"{name}: {json.dumps(value)}\n" for name, value in config.items())  # what is JSON is YAML
    (folder / "mkdocs.yml").write_text((ROOT / "docs/mkdocs.yml").read_text(encoding="utf-8") + lines, encoding="utf-8")
    # With --quiet it counts no warnings, and fails at none.
    argv = [python, "-m", "mkdocs", "build", "--strict", "--config-file", folder / "mkdocs.yml"]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        print(done.stdout, file=sys.stderr)
    sys.exit(done.returncode)


main()
