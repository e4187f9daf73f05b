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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    folder = parser.parse_args().directory.resolve()
    python = environment(folder / "python")
    make_pages(folder / "pages")
    config = {"docs_dir": str(folder / "pages"), "site_dir": str(folder / "site")}
    lines = "".join(f"{name}: {json.dumps(value)}\n" for name, value in config.items())  # what is JSON is YAML
    (folder / "mkdocs.yml").write_text((ROOT / "docs/mkdocs.yml").read_text(encoding="utf-8") + lines, encoding="utf-8")
    # With --quiet it counts no warnings, and fails at none.
    argv = [python, "-m", "mkdocs", "build", "--strict", "--config-file", folder / "mkdocs.yml"]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        print(done.stdout, file=sys.stderr)
    sys.exit(done.returncode)


main()
