"""docs/statistics.md names what the code names: the accounts, the members of the JSON, and the columns of the summary.

usage: statistics.py ROOT
"""

import pathlib
import re
import sys

NAME = re.compile(r"`([\w-]+)`")


def section(page, title):
    """The text below a heading, up to the next one of its depth or above."""
    depth, rest = re.match(r"#+", title)[0], page.partition(f"\n{title}\n")[2]
    assert rest, f"there is no heading {title}"
    return re.split(rf"^#{{1,{len(depth)}}} ", rest, flags=re.MULTILINE)[0]


def first_column(text):
    """The names in the first column of its tables."""
    return [name for line in text.splitlines() if line.startswith("| `") for name in NAME.findall(line.split("|")[1])]


def struct_members(header, name):
    body = re.search(rf"^struct {name} {{\n(.*?)^}};", header, re.MULTILINE | re.DOTALL)[1]
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL)
    return [word for line in body.split(";") for word in re.findall(r"(\w+)(?=,|$|\[)", line.strip())]


def function(source, name):
    return re.search(rf"^[^\n]*\b{name}\([^;]*?\)\n{{\n(.*?)^}}", source, re.MULTILINE | re.DOTALL)[1]


def json_names(source, *functions):
    body = "".join(function(source, name) for name in functions)
    return re.findall(r'json_(?:number|string|identity)\(&?json, "(\w+)"', body)


def differences(what, told, there):
    for name in sorted(set(there) - set(told)):
        yield f"{what}: docs/statistics.md does not tell {name}"
    for name in sorted(set(told) - set(there)):
        yield f"{what}: docs/statistics.md tells {name}, which is not there"


def complaints(root):
    page = (root / "docs/statistics.md").read_text()
    header = (root / "include/tslab/tslab.h").read_text()
    report = (root / "src/report/report.c").read_text()
    accounts_h = (root / "src/audit/accounts.h").read_text()
    accounts = re.findall(r"^ +X\((\w+)\)", accounts_h, re.MULTILINE)
    yield from differences("struct tslab_accounts", accounts + ["committed_bytes", "untouched_bytes"],
                           struct_members(header, "tslab_accounts"))
    yield from differences("accounts", first_column(section(page, "## Accounts of memory").partition("\n### ")[0]), accounts)
    of_class = json_names(report, "json_class_entry", "json_slabs")
    yield from differences("a size class", first_column(section(page, "### A size class")), of_class)
    yield from differences("an epoch", first_column(section(page, "### An epoch")), json_names(report, "json_epoch_entry"))
    of_limit = json_names(report, "json_label_limits")
    yield from differences("a limit of a label", first_column(section(page, "### A limit of a label")), of_limit)
    totals = set(json_names(report, "json_totals"))
    yield from differences("totals", totals, struct_members(header, "tslab_stats"))
    summary = (root / "src/report/summary.c").read_text()
    table = section(page, "## The summary")
    wanted = [word.lstrip("=+ ") for word in re.findall(r'{ "([^"]+)", \d+ }', summary)]
    yield from differences("the summary", first_column(table), wanted)
    for account, term in re.findall(r"^    X\((\w+), (\w+)\)", summary, re.MULTILINE):
        row = re.search(rf"^\| `{term.lower()}` \|(.*)", table, re.MULTILINE)[1]
        if term != "METADATA" and f"`{account}`" not in row:
            yield f"the summary: docs/statistics.md does not tell that {account} is in {term.lower()}"
    head = first_column(section(page, "## JSON").partition("\n### ")[0])
    arrays = ["totals", "accounts", "classes", "threads", "epochs", "labels", "label_limits", "options"]
    yield from differences("a thread", first_column(section(page, "### A thread")), json_names(report, "json_threads"))
    yield from differences("JSON", head, json_names(report, "tslab_stats_json") + arrays)


def main():
    found = list(complaints(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or "docs/statistics.md names what the code names.")
    sys.exit(1 if found else 0)


main()
