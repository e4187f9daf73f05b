"""What the pages of the studies share: claims of the earlier work beside what was measured, and the words for it."""

from tslab_lab.display import layout
from tslab_lab.measure import measurement

CONFIRMED, PARTLY, REFUTED, REPLACED, OPEN = "Confirmed", "Confirmed in part", "Refuted", "Replaced", "Undecided"


def page(title, question, parts, found):
    """`parts`: of paragraphs and tables, in their order. `found`: one of the results, for the machine."""
    return layout.markdown_page(title, [question, *parts], measurement.setting(found))


def remarks(found):
    """Of all pieces, each with the pieces that it is about."""
    about = {}
    for piece, one in found.items():
        for remark in measurement.remarks(one):
            about.setdefault(remark, []).append(piece)
    for remark, pieces in about.items():
        yield remark if len(pieces) == len(found) else f"{', '.join(pieces)}: {remark}"


def judged(verdict, text):
    return f"**{verdict}.** {text}"


def ratio(found):
    """1.05 (1.01-1.09), or a dash."""
    return layout.interval_text(found)
