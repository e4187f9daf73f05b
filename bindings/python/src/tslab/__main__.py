"""Runs a program on the drop-in of this package, as `tslab run` does.

usage: python -m tslab run [--objects] [--policy POLICY] [options of tslab run] [--] PROGRAM [ARGUMENT...]

  --objects        Python's objects of up to 512 bytes, too (PYTHONMALLOC=malloc)
  --policy POLICY  what units of work mean: per-request, batch-N, interval-MS, manual or never (--epoch-policy)
"""

import os
import sys

from tslab_tools.commands import run


def main():
    command, *words = [*sys.argv[1:], ""]
    if command != "run":
        sys.exit(__doc__)
    words.pop()
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        name, equals, value = words[at].partition("=")
        if name == "--objects":
            os.environ["PYTHONMALLOC"] = "malloc"
            del words[at]
            continue
        if name == "--policy":
            words[at] = f"--epoch-policy{equals}{value}"
            at += not equals
        at += 1
    run.become(words)


main()
