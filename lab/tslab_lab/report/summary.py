"""Who wins where, by how much, and how sure that is, in words and bars."""

from html import escape

from tslab_lab.allocators import sides
from tslab_lab.display import layout
from tslab_lab.report import html_tables
from tslab_lab.results import standings

FEW_SHOWN = 5  # wins or losses in a list


def _bar_of_verdicts(what, rows):
    """How many workloads are won, level and lost, as words and as the width of a bar."""
    parts = []
    for verdict, words in ((standings.WINS, "wins"), (standings.LEVEL, "no difference"), (standings.LOSES, "loses")):
        count = sum(row[3] == verdict for row in rows)
        if count:
            parts.append(f'<span class="{verdict}" style="flex-grow:{count}">{words} {count}</span>')
    return f'<div class="verdict"><b>{escape(what)}</b><div class="bar">{"".join(parts)}</div></div>' if parts else ""


def _rows_in_words(rows, worst):
    """The largest losses, or the largest wins."""
    wanted = standings.LOSES if worst else standings.WINS
    chosen = [row for row in (rows if worst else reversed(rows)) if row[3] == wanted]
    lines = [
        f"<b>{escape(case)}</b>: {html_tables.ratio_text(found)} {html_tables.TIMES} {escape(other)}"
        for case, other, found, _ in chosen[:FEW_SHOWN]
    ]
    if len(chosen) > FEW_SHOWN:
        lines.append(f"and {len(chosen) - FEW_SHOWN} more, see the tables")
    return html_tables.listed(lines) if lines else "<p>Nowhere, as far as shown.</p>"


def _ends(against, ours):
    """Losses and wins side by side, in boxes of one size."""
    boxes = []
    for worst, title in ((True, f"Where {ours} loses"), (False, f"Where {ours} wins")):
        lists = "".join(f"<h4>{escape(what)}</h4>{_rows_in_words(rows, worst)}" for what, rows in against.items())
        boxes.append(f'<div class="{"loses" if worst else "wins"}-box"><h3>{escape(title)}</h3>{lists}</div>')
    note = f"<p>Largest first: {escape(ours)} in multiples of the best of the others, with 95 % intervals.</p>"
    return f'{note}<div class="two">{"".join(boxes)}</div>'


def _rivals(page):
    """The others. Another build of ours is none, nor is a side of a comparison again, unless there is nobody else."""
    others = [name for name in page.names if name != page.baseline]
    return [name for name in others if not sides.is_ours(name) and name != sides.AGAIN] or others


def add_to(page):
    ours = page.baseline
    measured = {"time": page.times, "peak RSS": page.peaks, "RSS after": page.afters}
    measured = {title: cases for title, cases in measured.items() if cases}
    counted = {title: cases for title, cases in measured.items() if title != "RSS after"}
    if not measured or len(page.names) < 2:
        return
    against = {title: standings.against_best(cases, ours, _rivals(page)) for title, cases in measured.items()}
    against = {title: rows for title, rows in against.items() if rows}
    ends = ""
    bars = "".join(_bar_of_verdicts(title, rows) for title, rows in against.items())
    if bars:
        bars = (
            f"<p>{escape(ours)} against the best of the others in each workload (95 % intervals; "
            f"&ldquo;no difference&rdquo;: none is shown):</p>{bars}"
        )
        ends = _ends({title: rows for title, rows in against.items() if title in counted}, ours)
    elif "time" in against:
        rows = against["time"]
        ahead = sum(row[2].middle < 1 for row in rows)
        workloads = layout.counted(len(rows), "workload")
        rounds = layout.counted(standings.rounds_of(page.grid)[1], "round")
        bars = (
            f"<p>By time, {escape(ours)} is ahead of the best of the others in {ahead} of {workloads}. "
            f"{rounds}: too few for a verdict, all may be on one side by chance.</p>"
        )
    table = html_tables.overall(measured, counted, page.names, ours) if len(page.grid) > 1 else ""
    page.add("summary", "Wins and losses", bars, ends, table)
