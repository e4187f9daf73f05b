"""The rules of the house that a program can see, over all sources of the engine.

usage: house.py SOURCES RATCHET [--raise]

  layers      each file pair stands once in SOURCES/LAYERS, and includes only what stands above it
  cards       each file opens with a comment that says what it is
  orders      no C memory order is written outside of base/atomic.h
  lengths     no file has more than 550 lines, no function more than 60
  assertions  invariants for each thousand lines: at least 15, and not fewer than RATCHET has on record
"""

import pathlib
import re
import sys

FILE_LINES = 550
FUNCTION_LINES = 60
ASSERTIONS_LEAST = 15.0

INCLUDE = re.compile(r'^#include "([a-z_]+/[a-z_0-9]+)\.h"', re.M)
# The C files that are one part of a pair under another name.
PARTS = {"os/os_linux": "os/os"}


def pair_of(path, root):
    name = str(path.relative_to(root).with_suffix(""))
    return PARTS.get(name, name)


def layers_of(text):
    return [line.split()[0] for line in text.splitlines() if line.strip() and not line.startswith("#")]


def layer_complaints(order, includes):
    """includes: {pair: pairs that it includes}."""
    places = {name: place for place, name in enumerate(order)}
    for name in sorted({name for name in order if order.count(name) > 1}):
        yield f"LAYERS has {name} twice"
    for name in sorted(includes.keys() - places.keys()):
        yield f"{name} is not in LAYERS: give it a line below all that it includes"
    for name in sorted(places.keys() - includes.keys()):
        yield f"LAYERS has {name}, which is no file"
    for name, others in sorted(includes.items()):
        for other in sorted(others - {name}):
            if name in places and other in places and places[other] > places[name]:
                yield f"{name} includes {other}, which stands above it: return to the caller instead, or move what both need"


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


def assertions_of(texts):
    """Assertions that run, for each thousand lines of .c and .h files."""
    count = sum(len(re.findall(r"\binvariant\(", text)) for name, text in texts.items() if name != "os/fatal.h")
    return 1000 * count / sum(text.count("\n") for text in texts.values())


def complaints(root, recorded):
    texts = {str(path.relative_to(root)): path.read_text() for path in sorted(root.rglob("*.[ch]"))}
    includes = {}
    for name, text in texts.items():
        includes.setdefault(pair_of(root / name, root), set()).update(INCLUDE.findall(text))
    yield from layer_complaints(layers_of((root / "LAYERS").read_text()), includes)
    for name, text in texts.items():
        yield from file_complaints(name, text)
    now = assertions_of(texts)
    if now < max(recorded, ASSERTIONS_LEAST):
        yield f"{now:.1f} assertions for each thousand lines: at least {max(recorded, ASSERTIONS_LEAST):.1f} are asked for"


def main():
    root, ratchet = map(pathlib.Path, sys.argv[1:3])
    if sys.argv[3:] == ["--raise"]:
        texts = {str(path.relative_to(root)): path.read_text() for path in root.rglob("*.[ch]")}
        ratchet.write_text(f"{int(assertions_of(texts) * 10) / 10}\n")
    found = list(complaints(root, float(ratchet.read_text())))
    print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
