"""What the project may weigh.

usage: budgets.py ROOT [--write]

tests/house/budgets.txt has a line for each figure: its name, the most that it may be (`density`: the least), and why it was last raised.
A figure may only fall. A change that needs more raises the number, and says in the same line what the growth replaces or who asked for
it. A number that the project is below by more than a fiftieth is to be lowered: --write lowers all that can be.
"""

import pathlib
import re
import subprocess
import sys

SLACK = 0.02
# Kept, not ours.
VENDORED = re.compile(r"tools/tslab_tools/profiles/page/(d3-flame-graph\.js|LICENSES)$")
POLICIES = re.compile(r"src/(space|slab|thread)/.*\.[ch]$|src/base/limits\.h$")


def files(root):
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True, text=True)
    if listed.returncode == 0:
        names = [name for name in listed.stdout.split("\0") if name and (root / name).is_file()]
    else:
        names = [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and "build" not in path.relative_to(root).parts]
    return {name: (root / name).read_bytes().decode(errors="replace") for name in names if not VENDORED.search(name)}


def lines_in(texts, folder):
    """All of a folder's lines; of docs/ the pages alone."""
    kinds = (".md",) if folder == "docs" else ("",)
    return sum(text.count("\n") for name, text in texts.items() if name.startswith(folder + "/") and name.endswith(kinds))


def nouns(card):
    """The rows of the table of nouns in a folder's card."""
    table = re.search(r"^\| noun .*\n\|---.*\n((?:\|.*\n)*)", card, re.M)
    return table[1].count("\n") if table else 0


def figures(texts):
    header, table = texts["include/tslab/tslab.h"], texts["src/common/option.h"]
    engine = [text for name, text in texts.items() if re.match(r"src/.*\.[ch]$", name) and name != "src/os/fatal.h"]
    numbers = sum(len(re.findall(r"^\s+(?:LIMIT\(\w+|[A-Z][A-Z0-9_]+ = [^,]*\d)", text, re.M)) for name, text in texts.items() if POLICIES.match(name))
    found = {f"lines of {folder}": lines_in(texts, folder) for folder in ("src", "tests", "lab", "tools", "docs")}
    found["nouns in the cards"] = sum(nouns(text) for name, text in texts.items() if re.fullmatch(r"src/\w+/README\.md", name))
    found["options"] = len(re.findall(r"^    X\(", table, re.M))
    found["figures"] = len(re.findall(r"^    X\(", texts["src/common/figures.h"], re.M))
    found["public functions"] = len(re.findall(r"^TSLAB_API ", header, re.M))
    found["constants of policies"] = numbers
    found["density of assertions"] = int(10000 * sum(text.count("invariant(") for text in engine) / sum(text.count("\n") for text in engine)) / 10
    return found


def read(text):
    """{name: (number, reason)} of a file of budgets."""
    rows = re.findall(r"^(\w[\w ]*\w) +([\d.]+)(?: +(\S.*))?$", text, re.M)
    return {name: (float(number), reason) for name, number, reason in rows}


def is_density(name):
    return name.startswith("density")


def complaints(budgets, found):
    for name in sorted(budgets.keys() ^ found.keys()):
        yield f"budgets.txt and budgets.py do not have both {name}"
    for name in sorted(budgets.keys() & found.keys()):
        number, now = budgets[name][0], found[name]
        if is_density(name):
            if now < number:
                yield f"{name}: {now:g} for each thousand lines, at least {number:g} are asked for"
        elif now > number:
            yield f"{name}: {now:g}, more than the {number:g} of tests/house/budgets.txt: take something away, or raise it and say there why"
        elif now < number * (1 - SLACK) - 1:
            yield f"{name}: {now:g}, less than the {number:g} of tests/house/budgets.txt: lower it (tests/house/budgets.py . --write)"


def written(budgets, found):
    rows = []
    for name, now in found.items():
        number, reason = budgets.get(name, (now, ""))
        best = max(number, now) if is_density(name) else min(number, now)
        rows.append(f"{name:24}{best:8g}  {reason}".rstrip())
    return "\n".join(rows) + "\n"


def main():
    root = pathlib.Path(sys.argv[1])
    path = root / "tests/house/budgets.txt"
    budgets, found = read(path.read_text()), figures(files(root))
    if sys.argv[2:] == ["--write"]:
        path.write_text(written(budgets, found))
        return
    said = list(complaints(budgets, found))
    print("\n".join(said))
    sys.exit(1 if said else 0)


if __name__ == "__main__":
    main()
