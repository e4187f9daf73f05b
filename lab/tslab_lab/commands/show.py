"""`lab show`: where each measured figure of README or a page comes from."""

import argparse
from pathlib import Path

from tslab_lab.base import processes
from tslab_lab.campaign import plan
from tslab_lab.results import quoted

HELP = "where each measured figure of README or a page comes from"
DESCRIPTION = """Lists the measured figures of README or a page of docs: the page of results that has each, its place there, and
the command that measures that page again."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("page", metavar="PAGE", help="README, or a page of docs: memory, docs/memory.md")


def run(arguments: argparse.Namespace) -> int:
    name = Path(arguments.page).stem
    pages = [path for path in quoted.quoting(quoted.ROOT) if path.stem == name]
    if not pages:
        known = sorted({path.stem for path in quoted.quoting(quoted.ROOT)})
        raise processes.Failure(f"There is no page {arguments.page}. There are: {', '.join(known)}.")
    steps = {step.name for step in (*plan.full(), *plan.long())}
    sources = dict[str, None]()
    for mark, told in quoted.MARK.findall(pages[0].read_text(encoding="utf-8")):
        source, _, place = mark.partition("; ")
        sources[source] = None
        print(f"{told:>24}  {source}: {place}")
    for source in sources:
        if source in steps:
            print(f"{source}: docs/results/{source}.md, measured again by lab/lab campaign --pieces {source}")
        else:
            print(f"{source}: {'counted in the sources' if source == 'facts' else f'docs/{source}.md'}")
    return 0
