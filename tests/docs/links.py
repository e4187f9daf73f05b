"""Every relative link of every page leads to a file that is there, and every anchor to a heading, as GitHub names them. Every page
below docs is linked to from another.

usage: links.py SOURCES
"""

import collections
import os
import pathlib
import re
import sys

PAGES = ("*.md", "docs/**/*.md", "examples/*.md", "tests/**/*.md", "bindings/*/README.md", "bindings/rust/*/README.md")
CODE = re.compile(r"^( *)(```|~~~).*?^\1\2[^\n]*$|(?<=\n\n)(?: {4}[^\n]*\n)+|`[^`\n]+`", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (.+?)\s*#*$", re.M)


def slug(heading):
    """The name that GitHub gives a heading."""
    shown = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", shown.strip().lower()).replace(" ", "-")


def anchors(text):
    """All that a link to the page may name; a heading that is there again gets a number."""
    seen = collections.Counter()
    for heading in HEADING.findall(re.sub(r"^( *)(```|~~~).*?^\1\2[^\n]*$", "", text, flags=re.M | re.S)):
        name = slug(heading)
        yield f"{name}-{seen[name]}" if seen[name] else name
        seen[name] += 1
    yield from re.findall(r'<a id="([^"]+)">', text)


def links(text):
    """The targets of a page's links, but not those in its code."""
    return LINK.findall(CODE.sub("", text))


def complaints(root):
    pages = sorted({path for pattern in PAGES for path in root.glob(pattern)})
    texts = {path: path.read_text(encoding="utf-8") for path in pages}
    known = {path: set(anchors(text)) for path, text in texts.items()}
    linked = set()
    for page, text in texts.items():
        for target in links(text):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            found = pathlib.Path(os.path.normpath(page.parent / name)) if name else page
            if not found.exists():
                yield f"{page.relative_to(root)}: {target} is not there"
            elif anchor and anchor not in known.get(found, ()):
                yield f"{page.relative_to(root)}: {target}: there is no such heading"
            linked |= {found} - {page}
    for page in pages:
        if page.is_relative_to(root / "docs") and page not in linked:
            yield f"{page.relative_to(root)}: no page links to it"


def main():
    found = list(complaints(pathlib.Path(sys.argv[1]).resolve()))
    print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
