"""docs/origins.md: its figures are those of the raw results. usage: test_origins.py LIBRARY"""

import unittest

from lab_test import ROOT, main
from tslab_lab.allocators.catalogue import OURS, SYSTEM
from tslab_lab.campaign import plan
from tslab_lab.campaign.raw import Raw
from tslab_lab.commands import rss
from tslab_lab.display import layout
from tslab_lab.estimates import medians
from tslab_lab.estimates.histogram import Histogram, pooled
from tslab_lab.report import tables
from tslab_lab.request_server import figures
from tslab_lab.request_server.figures import WALL
from tslab_lab.results import measures, merging, published, standings

PAGE = (ROOT / "docs/origins.md").read_text(encoding="utf-8")
TEXT = " ".join(PAGE.split())
STEPS = {step.name: step for step in plan.studies()}
WITHOUT = f"{OURS}@magazines=0"


def read(step):
    return Raw(published.FOLDER).read(step, [piece.name for piece in STEPS[step].pieces])


def percentile(found, case, name, operation, share):
    wanted = (case, name, operation)
    lines = [line for line in found.latency if (line["case"], line["allocator"], line["operation"]) == wanted]
    return pooled(map(Histogram.from_line, lines)).percentile_ns(share)


class Origins(unittest.TestCase):
    def assert_told(self, *figures):
        for figure in figures:
            self.assertTrue(figure in TEXT, figure)

    def test_requests(self):
        study, batch = (figures.rows_of(one)[0] for one in read("study-requests").values())
        deferred, ours = study["deferred never"], study[f"{OURS} never"]
        self.assert_told(layout.interval_text(tables.ratio_of(deferred, ours, figures.mean_us(WALL))))
        for name, runs in (("deferred", deferred), ("continuous", ours)):
            both = figures.together(runs, WALL)
            self.assert_told(f"| {name} | {both.mean_ns / 1000:.1f} |", f"| {both.most_ns / 1000:,.0f} |")
        for begin, end in ((0.25, 0.5), (0.5, 0.75), (0.75, 0.95)):
            change = standings.middle(standings.column(batch[f"{OURS} batch-256"], figures.change_kib(begin, end)))
            self.assert_told(f"{change:+,.0f}")

    def test_caches(self):
        found = read("study-caches")
        for share in (0.5, 0.9, 0.99, 0.999):
            changes = []
            for threads in plan.THREADS:
                (case,) = found[f"churn-fixed-threads-{threads}"].header["cases"]
                with_, without = (
                    percentile(found[f"churn-fixed-threads-{threads}"], case, name, "malloc", share)
                    for name in (OURS, WITHOUT)
                )
                changes.append(100 * (with_ / without - 1))
            self.assertRegex(TEXT, rf"p{100 * share:g} {min(changes):.0f} to {max(changes):.0f}\b")
        for operation in ("malloc", "free"):
            cells = [
                [
                    f"{percentile(found['bypass'], 'churn-adversarial', name, operation, share):,.0f}"
                    for share in (0.99, 0.999)
                ]
                for name in found["bypass"].header["allocators"]
            ]
            self.assert_told(f"| {operation} p99, p99.9 | {' | '.join(', '.join(cell) for cell in cells)} |")

    def test_mailbox(self):
        found = merging.merged(list(read("study-mailbox").values()))
        columns = standings.columns(standings.grid(found.runs, found.failures), measures.time_ns)
        for threads in (4, 32):
            for remote, row in ((90, "90 %"), (0, "none")):
                own = columns[f"mixed-remote:threads={threads},remote={remote}"]
                ratios = [
                    layout.interval_text(standings.ratio(own["mailbox"], own[name]))
                    for name in ("straight", "outbox", OURS)
                ]
                told = [line for line in PAGE.splitlines() if line.startswith(f"| {threads}, {row} |")]
                self.assertEqual([cell.strip(" *") for cell in told[0].split("|")[3:6]], ratios)

    def test_memory(self):
        every = {piece: standings.ordered(one) for piece, one in read("study-memory").items()}
        runs = {piece: next(iter(grid.values())) for piece, grid in every.items()}
        mean = rss.FIGURES["mean\nMiB"]
        for name in (OURS, SYSTEM, "tcmalloc", "mimalloc"):
            self.assert_told(layout.three_digits(standings.middle(standings.column(runs["app"][name], mean))))
        kept = f"{OURS}@purge=never"
        for piece, name in (("budget", f"{OURS}@retain_bytes=64M"), ("decay", kept), ("exit", kept)):
            columns = [standings.column(runs[piece][one], mean) for one in (name, OURS)]
            ratio = medians.spread(medians.ratios(*(list(one.values()) for one in columns)))
            self.assert_told(f"{ratio.middle:.2f} ({ratio.low:.2f}-{ratio.high:.2f})")


if __name__ == "__main__":
    main()
