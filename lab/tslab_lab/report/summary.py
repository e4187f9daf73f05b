"""Who wins where, by how much, and how sure that is, in words and bars."""

from collections.abc import Iterable, Sequence

from tslab_lab.allocators import sides
from tslab_lab.display import layout
from tslab_lab.report import html_tables, markup
from tslab_lab.report.material import Page
from tslab_lab.results import standings

FEW_SHOWN = 5  # wins or losses in a list
VERDICTS = ((standings.WINS, "wins"), (standings.LEVEL, "no difference"), (standings.LOSES, "loses"))


def _counts(rows: Iterable[standings.Against]) -> list[tuple[str, str, int]]:
    """How many workloads are won, level and lost."""
    return [(verdict, words, sum(row.verdict == verdict for row in rows)) for verdict, words in VERDICTS]


def _most(rows: Sequence[standings.Against], verdict: str) -> tuple[list[tuple[str, str, str]], int]:
    """The largest losses, or the largest wins, and how many more there are."""
    chosen = [row for row in (rows if verdict == standings.LOSES else reversed(rows)) if row.verdict == verdict]
    shown = [(case, html_tables.ratio_text(found), other) for case, other, found, _ in chosen[:FEW_SHOWN]]
    return shown, max(0, len(chosen) - FEW_SHOWN)


def _rivals(page: Page) -> list[str]:
    """The others. Another build of ours is none, nor is a side of a comparison again, unless there is nobody else."""
    others = [name for name in page.names if name != page.baseline]
    return [name for name in others if not sides.is_ours(name) and name != sides.AGAIN] or others


def add_to(page: Page) -> None:
    ours = page.baseline
    measured = {"time": page.times, "peak RSS": page.peaks, "RSS after": page.afters}
    measured = {title: cases for title, cases in measured.items() if cases}
    counted = {title: cases for title, cases in measured.items() if title != "RSS after"}
    if not measured or len(page.names) < 2:
        return
    against = {title: standings.against_best(cases, ours, _rivals(page)) for title, cases in measured.items()}
    against = {title: rows for title, rows in against.items() if rows}
    bars = ends = ""
    judged = [(title, _counts(rows)) for title, rows in against.items() if any(row.verdict for row in rows)]
    if judged:
        bars = markup.parts.verdicts(ours, judged)
        both = (standings.LOSES, "loses-box", f"Where {ours} loses"), (standings.WINS, "wins-box", f"Where {ours} wins")
        told = {title: rows for title, rows in against.items() if title in counted}
        ends = markup.parts.ends(
            ours,
            [
                (box, head, [(what, *_most(rows, verdict)) for what, rows in told.items()])
                for verdict, box, head in both
            ],
        )
    elif "time" in against:
        rows = against["time"]
        ahead = sum(row.ratio.middle < 1 for row in rows)
        workloads = layout.counted(len(rows), "workload")
        rounds = layout.counted(standings.rounds_of(page.grid)[1], "round")
        bars = markup.parts.paragraph(
            f"By time, {ours} is ahead of the best of the others in {ahead} of {workloads}. "
            f"{rounds}: too few for a verdict, all may be on one side by chance."
        )
    table = html_tables.overall(measured, counted, page.names, ours) if len(page.grid) > 1 else ""
    page.add("summary", "Wins and losses", bars, ends, table)
