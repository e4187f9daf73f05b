"""Builds the site as `make docs` does, and follows each link of each of its pages: to a file that is there, to a name that the page
has. README's links are among them. The reference explains every function. No page loads a script, a style or a font from elsewhere,
and the search works on a page that a browser has opened as a file.

usage: site.py SOURCES DIRECTORY
"""

import html.parser
import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

NOT_FETCHED, SKIPPED = 3, 77
PAGES_LEAST = 60


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.names, self.loads = [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.names |= {attributes[key] for key in ("id", "name") if attributes.get(key)}
        if tag != "a":
            self.loads += [attributes[key] for key in ("href", "src") if attributes.get(key) and attributes.get("rel") != "canonical"]
        self.links += [attributes[key] for key in ("href", "src") if attributes.get(key)]


def complaints(site):
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}
    if len(pages) < PAGES_LEAST:
        yield f"the site has {len(pages)} pages, at least {PAGES_LEAST} are expected"
    for path, page in pages.items():
        yield from (f"{path.relative_to(site)} loads {load}" for load in page.loads if re.match(r"(\w+:)?//", load))
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


def search_complaints(site):
    """Where there is a browser: types a word into the search of a page that it has opened as a file."""
    try:
        from selenium import webdriver
        from selenium.common.exceptions import WebDriverException
        from selenium.webdriver.common.by import By
        from selenium.webdriver.support.ui import WebDriverWait
    except ImportError:
        return
    if shutil.which("chromium") is None or shutil.which("chromedriver") is None:
        return
    options = webdriver.ChromeOptions()
    for word in ("--headless", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1280,900"):
        options.add_argument(word)
    browser = webdriver.Chrome(options=options)
    try:
        browser.get((site / "docs/guide.html").as_uri())
        boxes = browser.find_elements(By.CSS_SELECTOR, "input.md-search__input")
        box = WebDriverWait(browser, 60).until(lambda _: next((box for box in boxes if box.is_displayed()), None))
        box.click()
        box.send_keys("tslab_epoch_close")
        found = "li.md-search-result__item a"
        links = WebDriverWait(browser, 60).until(lambda _: browser.find_elements(By.CSS_SELECTOR, found))
        if not any("docs/reference.html" in (link.get_attribute("href") or "") for link in links):
            yield "the search does not find tslab_epoch_close in the reference"
    except WebDriverException:
        yield "the search does not answer on a page that is opened as a file"
    finally:
        browser.quit()


def main():
    sources, directory = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    done = subprocess.run([sources / "tools/site.py", directory], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode == NOT_FETCHED:
        print(f"skipped: {done.stdout}")
        sys.exit(SKIPPED)
    if done.returncode != 0:
        sys.exit(done.stdout)
    found = [*complaints(directory / "site"), *search_complaints(directory / "site")]
    names = Page((directory / "site/docs/reference.html").read_text(encoding="utf-8")).names
    symbols = (sources / "tests/golden/symbols-tslab.txt").read_text().split()
    found += [f"the reference lacks {name}" for name in symbols if name.startswith("tslab_") and name not in names]
    print("\n".join(found))
    sys.exit(1 if found else 0)


main()
