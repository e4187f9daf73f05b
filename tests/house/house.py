"""The rules of the house that a program can see, over all sources of the engine.

usage: house.py SOURCES

  layers      a file includes only files of its folder and of folders above it in SOURCES/LAYERS; inside a folder there is no ring
  folders     each folder stands once in SOURCES/LAYERS, and has a card, README.md, that names each of its file pairs once
  cards       each file opens with a comment that says what it is
  orders      no C memory order is written outside of base/atomic.h
  lengths     no file has more than 800 lines, no function more than 60
"""

import graphlib
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from layers import folder_of, includes_of, layers_of, pairs_in_order

FILE_LINES = 800
FUNCTION_LINES = 60


def layer_complaints(order, includes):
    """order: the folders from the bottom up. includes: {pair: pairs that it includes}."""
    places = {folder: place for place, folder in enumerate(order)}
    used = {folder_of(pair) for pair in includes}
    for folder in sorted({folder for folder in order if order.count(folder) > 1}):
        yield f"LAYERS has {folder} twice"
    for folder in sorted(used - places.keys()):
        yield f"the folder {folder} is not in LAYERS: give it a line above all that includes it"
    for folder in sorted(places.keys() - used):
        yield f"LAYERS has {folder}, where no file is"
    for pair, others in sorted(includes.items()):
        for other in sorted(others):
            if places.get(folder_of(other), 0) > places.get(folder_of(pair), 0):
                yield f"{pair} includes {other}, which is above it: return to the caller instead, or move what both need"
    try:
        pairs_in_order(order, includes)
    except graphlib.CycleError as error:
        yield f"these include each other in a ring: {', '.join(error.args[1])}"


def card_complaints(root, includes):
    for folder in sorted({folder_of(pair) for pair in includes}):
        card = root / folder / "README.md"
        if not card.is_file():
            yield f"{folder} has no card: write {folder}/README.md"
            continue
        named = re.findall(r"^\| `([a-z_0-9]+)` \|", card.read_text(), re.M)
        here = [pair.split("/")[1] for pair in sorted(includes) if folder_of(pair) == folder]
        for name in sorted(set(here) | set(named)):
            if named.count(name) != here.count(name):
                yield f"{folder}/README.md has {named.count(name)} rows for `{name}`, and should have {here.count(name)}"


def function_lengths(text):
    """(name, lines) of each function's body with its head."""
    for match in re.finditer(r"^(?!typedef|struct|enum|union|#|/| )[^;{}=\n]*?(\w+)\([^;{}]*\)\s*\n\{.*?^\}", text, re.M | re.S):
        yield match.group(1), match.group(0).count("\n") + 1


def file_complaints(name, text):
    if not text.startswith("/*"):
        yield f"{name} has no card: open it with a comment that says what it is"
    if name != "base/atomic.h" and "memory_order_" in text:
        yield f"{name} names a memory order: use the operations of base/atomic.h"
    lines = text.count("\n")
    if lines > FILE_LINES:
        yield f"{name} has {lines} lines: more than {FILE_LINES} are two files"
    for function, length in function_lengths(text):
        if length > FUNCTION_LINES:
            yield f"{name}: {function} has {length} lines: more than {FUNCTION_LINES} are two functions"


def complaints(root):
    texts = {str(path.relative_to(root)): path.read_text() for path in sorted(root.rglob("*.[ch]"))}
    includes = includes_of(texts)
    yield from layer_complaints(layers_of((root / "LAYERS").read_text()), includes)
    yield from card_complaints(root, includes)
    for name, text in texts.items():
        yield from file_complaints(name, text)


def main():
    found = list(complaints(pathlib.Path(sys.argv[1])))
    print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
