"""`tslab timeline`: what the option trace has written, as a page for Perfetto."""

import argparse
import collections
import json
import sys
from collections.abc import Iterator

from tslab_tools.failure import told
from tslab_tools.terminal import plain_text
from tslab_tools.timeline import ringfile, trace_events

NAME = "timeline"
HELP = "what TSLAB_TRACE has written, for ui.perfetto.dev: epochs, purges, slow operations, memory"
DESCRIPTION = (
    "Turns the file of the option trace into the Trace Event format, which ui.perfetto.dev and chrome://tracing open: "
    "epochs as slices on their threads, RSS and accounts as counters, purges and slow operations as instants. "
    "The program may still run, or have been killed."
)
_KINDS = {
    ringfile.EPOCH_OPEN: "epochs opened",
    ringfile.PURGE: "purges",
    ringfile.LONG: "slow operations",
    ringfile.LIMIT: "limits reached",
    ringfile.MEMORY: "samples of memory",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the file that the option trace has named")
    parser.add_argument("-o", "--output", metavar="FILE", help="where the page goes (default: stdout)")


def summary(ring: ringfile.Ring) -> Iterator[str]:
    counts = collections.Counter(record.kind for record in ring.records)
    seconds = (ring.records[-1].when_ns - ring.records[0].when_ns) / 1e9 if ring.records else 0
    lost = ring.written - ring.dropped - len(ring.records) - ring.torn
    parts = [f"{counts[kind]:,} {name}" for kind, name in _KINDS.items() if counts[kind]]
    yield (
        f"{plain_text(ring.program)}, process {ring.process}: {len(ring.records):,} records of {seconds:.1f} s"
        + (": " if parts else "")
        + ", ".join(parts)
    )
    if lost > 0:
        yield f"{lost:,} older records were overwritten: TSLAB_TRACE=FILE,BYTES makes the file longer"
    if ring.torn or ring.dropped:
        given_up = f"{ring.dropped} were given up because another thread wrote in their place"
        yield f"{ring.torn} records were being written, {given_up}"


def run(arguments: argparse.Namespace) -> int:
    with told("read", arguments.file):
        ring = ringfile.read(arguments.file)
    text = json.dumps(trace_events.document(ring), separators=(",", ":"))
    if arguments.output:
        with told("write", arguments.output), open(arguments.output, "w", encoding="utf-8") as file:
            file.write(text + "\n")
    else:
        print(text)
    for line in summary(ring):
        print(f"tslab: {line}", file=sys.stderr)
    return 0
