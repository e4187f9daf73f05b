"""What the fast path reads of a library's variables shares no cache line with what is written.

Threads that free read where the arena is; when another thread writes to that line, each of these reads waits for it. So the
variables that are read on every call, and written hardly ever, have lines of their own.

usage: lines.py NM LIBRARY
"""

import collections
import subprocess
import sys

LINE = 64

# Which bytes of a variable are read by calls that write nothing: all of it, where no number stands.
READ = {
    "arena": LINE,  # base, limits and tables; what the depot writes is behind it
    "epoch_blocks": None,
    "front_gone": None,
    "front_none": None,
    "heap_none": None,
    "hold_none": None,
    "option_values": None,
}

# Written once, when the engine starts.
CONSTANT = ("page_bytes",)

Symbol = collections.namedtuple("Symbol", "start end name")


def variables(nm, library):
    """The variables in memory that can be written: data and zeroed data, with those that only their file knows."""
    lines = subprocess.run([nm, "-S", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    for line in lines.splitlines():
        fields = line.split()
        if len(fields) == 4 and fields[2] in "bBdD":
            start = int(fields[0], 16)
            yield Symbol(start, start + int(fields[1], 16), fields[3])


def main():
    nm, library = sys.argv[1:]
    symbols = list(variables(nm, library))
    found = {symbol.name: symbol for symbol in symbols if symbol.name in READ}
    if found.keys() != READ.keys():
        sys.exit(f"{library} has no {', '.join(sorted(READ.keys() - found.keys()))}: the list is out of date.")
    if len(symbols) < 2 * len(READ):
        sys.exit(f"{library} shows no more than {len(symbols)} variables: is it stripped?")
    faults = []
    for name, most in READ.items():
        symbol = found[name]
        first, last = symbol.start // LINE, (min(symbol.end, symbol.start + (most or symbol.end)) - 1) // LINE
        for other in symbols:
            if other.name in READ or other.name.startswith(CONSTANT):
                continue
            if other.start // LINE <= last and (other.end - 1) // LINE >= first:
                faults.append(f"{other.name} ({other.start:#x}) is in a line of {name} ({symbol.start:#x} to {symbol.end:#x})")
    if faults:
        sys.exit("\n".join(faults))


main()
