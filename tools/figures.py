#!/usr/bin/python3 -B
"""Writes what is made of the list of figures (src/common/figures.h): the tables between the marks of docs/statistics.md and
docs/export.md, and the lists of the tools (tools/tslab_tools/live/figures.py). And the table of jemalloc's keys (src/api/jemalloc.c).

usage: figures.py            writes them
       figures.py --check    fails where one is not that of the list
"""

import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[1]
LISTS = "src/common/figures.h"
JEMALLOC = "src/api/jemalloc.c"
PAGES = ("docs/statistics.md", "docs/export.md")
TABLE = "tools/tslab_tools/live/figures.py"
MARK = re.compile(r"(<!-- figures: (\w+) -->\n)(.*?)(<!-- end of figures -->\n)", re.DOTALL)
ROW = re.compile(r'X\((\w+), (\w+)(?:, (\w+))?,\s*((?:"[^"]*"\s*)+)\)|(\w+)\(X\)')
KEY = re.compile(r'X\(\w+, "([^"]+)", (\w+), ([\w |]+), (.*?)\)\s*(?=X\(|\Z)', re.DOTALL)
TYPES = {"VOID": "void", "BOOL": "bool", "UNSIGNED": "unsigned", "UINT32": "uint32_t", "SIZE": "size_t", "SSIZE": "ssize_t", "UINT64": "uint64_t",
         "TEXT": "const char *"}
ACCESSES = {"READ": "r-", "READ | WRITE": "rw", "WRITE": "-w", "0": "--"}
UNITS = {"COUNT": "count", "BYTES": "bytes", "MS": "ms"}
KINDS = {"COUNTER": "counter", "GAUGE": "gauge"}
HEAD = '"""The figures of each kind: name, unit, counter or gauge, help. Written by tools/figures.py: do not edit."""\n'


def lists(text):
    """Of each list its rows: (name, unit, kind, help), of an account (name, term, None, help)."""
    found = {}
    for name, body in re.findall(r"^#define (\w+)\(X\)\s*\\\n(.*?[^\\])\n\n", text, re.MULTILINE | re.DOTALL):
        rows = []
        for figure, first, second, words, inner in ROW.findall(body.replace("\\\n", "\n")):
            rows += found[inner] if inner else [(figure, first, second, "".join(re.findall(r'"([^"]*)"', words)))]
        found[name] = rows
    return found


def keys(text):
    """The keys of mallctl: (name, type, access, help)."""
    body = re.search(r"^#define JEMALLOC_KEYS\(X\)\s*\\\n(.*?[^\\])\n\n", text, re.MULTILINE | re.DOTALL)[1].replace("\\\n", "\n")
    return [(name, TYPES[kind], ACCESSES[access], "".join(re.findall(r'"([^"]*)"', re.search(r'(?:"[^"]*"\s*)+\Z', rest)[0])))
            for name, kind, access, rest in KEY.findall(body)]


def problems(found):
    for name, rows in found.items():
        names = [row[0] for row in rows]
        yield from (f"{name} has {one} twice" for one in sorted({one for one in names if names.count(one) > 1}))
        for figure, unit, kind, words in rows:
            if kind and (unit not in UNITS or kind not in KINDS) or words.endswith("."):
                yield f"{name}, {figure}: the unit, the kind or the help is not as the card says"


def markdown(name, found):
    if name == "TERMS":
        terms = list(dict.fromkeys(row[1] for row in found["ACCOUNT_FIGURES"]))
        rows = [(term, [row[0] for row in found["ACCOUNT_FIGURES"] if row[1] == term]) for term in terms]
        lines = [f"| `{term.lower()}` | {', '.join(f'`{account}`' for account in accounts)} |" for term, accounts in rows]
        return "| term | its accounts |\n|---|---|\n" + "\n".join(lines) + "\n"
    if name == "JEMALLOC_KEYS":
        rows = "".join(f"| `{key}` | {kind} | {access} | {words} |\n" for key, kind, access, words in found[name])
        return "| key | type | | value |\n|---|---|---|---|\n" + rows
    if name == "ACCOUNT_FIGURES":
        lines = [f"| `{figure}` | {words} | `{term.lower()}` |" for figure, term, _, words in found[name]]
        return "| account | its bytes | term |\n|---|---|---|\n" + "\n".join(lines) + "\n"
    lines = [f"| `{figure}` | {UNITS[unit]} | {KINDS[kind]} | {words} |" for figure, unit, kind, words in found[name]]
    return "| figure | unit | | meaning |\n|---|---|---|---|\n" + "\n".join(lines) + "\n"


def python(found):
    text = HEAD
    for name in ("TOTAL_FIGURES", "PROCESS_FIGURES", "CLASS_COUNTED", "LABEL_FIGURES", "LABEL_LIMIT_FIGURES"):
        text += f"\n{name} = (\n"
        text += "".join(f'    ("{row[0]}", "{UNITS[row[1]]}", "{KINDS[row[2]]}", "{row[3]}"),\n' for row in found[name]) + ")\n"
    accounts = textwrap.fill(" ".join(row[0] for row in found["ACCOUNT_FIGURES"]), 114, initial_indent="    ", subsequent_indent="    ")
    return f'{text}\nACCOUNTS = """\n{accounts}\n""".split()\n'


def written(found):
    """Each file, and the text that it should have."""
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        yield page, MARK.sub(lambda match: match[1] + "\n" + markdown(match[2], found) + "\n" + match[4], text)
    yield TABLE, python(found)


def main():
    found = lists((ROOT / LISTS).read_text(encoding="utf-8"))
    wrong = list(problems(found))
    found["JEMALLOC_KEYS"] = keys((ROOT / JEMALLOC).read_text(encoding="utf-8"))
    for name, text in written(found):
        path = ROOT / name
        if sys.argv[1:] != ["--check"]:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            wrong.append(f"{name} is not that of {LISTS}: run tools/figures.py")
    print("\n".join(wrong), end="\n" if wrong else "")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
