"""`tslab export`: the figures of all processes that run on tslab, for Prometheus."""

import argparse
import signal
import sys

HELP = "an exporter for Prometheus: all processes that run on tslab"
DESCRIPTION = """Serves the figures of all processes that run on tslab with TSLAB_EXPORT=1 over HTTP, at /metrics, in
the formats of OpenMetrics and Prometheus: sums of all processes of a program in a unit of systemd or a container. It
sees the processes of its own user; root's sees all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--listen", default="127.0.0.1:9447", metavar="HOST:PORT", help="where (default: %(default)s)")
    add(
        "--per-process",
        action="store_true",
        help="series of each process, with those of its size classes: some 400 each",
    )
    add("pids", nargs="*", type=int, metavar="PID", help="only these processes")


def run(arguments: argparse.Namespace) -> int:
    from tslab_tools.live import exporter  # noqa: PLC0415  # the help needs no prometheus_client

    try:
        with exporter.Server(exporter.address(arguments.listen), arguments.pids, arguments.per_process) as server:
            if server.is_open_to_others:
                print(
                    "tslab: others may read this address: names of programs and labels of epochs are shown",
                    file=sys.stderr,
                )
            print(f"tslab: {server.url}", flush=True)
            server.serve_forever()
    except KeyboardInterrupt as end:
        if signal.SIGTERM not in end.args:  # which is how a service is to end, and no trouble
            raise
    return 0
