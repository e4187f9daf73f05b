"""`tslab stat`: the figures of one process that runs on tslab."""

import json

from tslab_lab.display import layout
from tslab_lab.live import metrics, processes, screen, summary

NAME = "stat"
HELP = "the figures of a process that runs on tslab, now"
DESCRIPTION = """Shows the figures of a process that runs on tslab with TSLAB_EXPORT=1: its memory by use, rates,
accounts, size classes and epochs. The process does not stop. One that is idle and has one thread keeps the figures that
it posted last, and the first line says how old they are."""


def add_arguments(parser):
    parser.add_argument("pid", type=int, metavar="PID")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="JSON, on one line")
    form.add_argument("--openmetrics", action="store_true", help="OpenMetrics, as `tslab export` serves it")


def run(arguments):
    with processes.Watched([arguments.pid]) as watched:
        found = watched.look_afresh()
        watched.require(found)
        if arguments.openmetrics:
            print(metrics.text(found), end="")
        elif arguments.json:
            print(json.dumps(summary.as_json(found[0])))
        else:
            console = layout.console()
            for line in screen.details(found[0], console.width):
                console.print(line, no_wrap=True, crop=False, overflow="ignore")
    return 0
