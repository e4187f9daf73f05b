"""The order of the engine's files, from the bottom up: by src/LAYERS between folders, by their includes inside of one."""

import graphlib
import re

INCLUDE = re.compile(r'^#include "([a-z_]+/[a-z_0-9]+)\.h"', re.M)
# The C files that are one part of a pair under another name.
PARTS = {"os/os_linux": "os/os"}


def layers_of(text):
    """The folders in the file LAYERS."""
    return [line.split()[0] for line in text.splitlines() if line.strip() and not line.startswith("#")]


def folder_of(pair):
    return pair.split("/")[0]


def pair_of(name):
    """The pair that the file with this name belongs to."""
    pair = name.rsplit(".", 1)[0]
    return PARTS.get(pair, pair)


def includes_of(texts):
    """{pair: pairs that it includes}, of the files {name: text}."""
    includes = {}
    for name, text in texts.items():
        includes.setdefault(pair_of(name), set()).update(INCLUDE.findall(text))
    return includes


def pairs_in_order(order, includes):
    """All pairs from the bottom up. Raises graphlib.CycleError when some of a folder include each other in a ring."""
    inside = {pair: sorted(other for other in includes[pair] - {pair} if folder_of(other) == folder_of(pair)) for pair in sorted(includes)}
    pairs = graphlib.TopologicalSorter(inside).static_order()
    return sorted(pairs, key=lambda pair: order.index(folder_of(pair)) if folder_of(pair) in order else len(order))
