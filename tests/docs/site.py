"""Builds the site as `make docs` does, and follows each link of each of its pages: to a file that is there, to a name that the page
has. README's links are among them. The reference explains every function.

usage: site.py SOURCES DIRECTORY
"""

import html.parser
import os
import pathlib
import subprocess
import sys
import urllib.parse

NOT_FETCHED, SKIPPED = 3, 77
PAGES_LEAST = 60


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.names = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.names |= {attributes[key] for key in ("id", "name") if attributes.get(key)}
        self.links += [attributes[key] for key in ("href", "src") if attributes.get(key)]


def complaints(site):
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}
    if len(pages) < PAGES_LEAST:
        yield f"the site has {len(pages)} pages, at least {PAGES_LEAST} are expected"
    for path, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = pathlib.Path(os.path.normpath(path.parent / urllib.parse.unquote(parts.path))) if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            name = urllib.parse.unquote(parts.fragment)
            if not target.is_file():
                yield f"{path.relative_to(site)}: {link} is not there"
            elif name and not name.startswith("__") and target in pages and name not in pages[target].names:
                yield f"{path.relative_to(site)}: {link}: the page has no such name"


def main():
    sources, directory = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    done = subprocess.run([sources / "tools/site.py", directory], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode == NOT_FETCHED:
        print(f"skipped: {done.stdout}")
        sys.exit(SKIPPED)
    if done.returncode != 0:
        sys.exit(done.stdout)
    found = list(complaints(directory / "site"))
    names = Page((directory / "site/docs/reference.html").read_text(encoding="utf-8")).names
    symbols = (sources / "tests/golden/symbols-tslab.txt").read_text().split()
    found += [f"the reference lacks {name}" for name in symbols if name.startswith("tslab_") and name not in names]
    print("\n".join(found))
    sys.exit(1 if found else 0)


main()
