"""The command `lab`: measures programs and workloads on tslab and on other allocators."""

import sys
from collections.abc import Sequence

from tslab_tools import cli

COMMANDS = (
    *("peers", "bench", "rss", "latency", "ab", "health", "boundaries"),
    *("report", "requests", "epochs", "demo", "variants", "campaign", "show"),
)
EXAMPLES = """examples:
  lab peers install                      the other allocators
  lab bench --quick                      all of them, on a dozen workloads, in minutes
  lab rss -- python3 job.py              memory over time, on every allocator
  lab report last                        one HTML page of what was measured last
"""
LAB = cli.Program("lab", "tslab_lab.commands", COMMANDS, __doc__, EXAMPLES)


def main(argv: Sequence[str] | None = None) -> int:
    return LAB.main(argv)


if __name__ == "__main__":
    sys.exit(main())
