"""The earlier work's study of remote frees: a mailbox of each home against other ways, by threads and share."""

from tslab_lab.allocators.catalogue import OURS
from tslab_lab.display import layout
from tslab_lab.measure import case_runner
from tslab_lab.report import variant_tables
from tslab_lab.results import measures, merging, standings
from tslab_lab.studies import words

QUESTION = (
    "In the earlier work, slots that another thread freed waited in a mailbox of their home. Its criteria: at "
    "least 5 % less time with 90 % remote frees, and within 5 % with none. It found that the mailbox misses them: 10 to 50 % worse."
)
MAILBOX = "mailbox"
GAIN, LEVEL = 0.95, 1.05
SMALL = 64  # bytes: only smaller slots go through the mailbox


def page(found):
    """`found`: results by piece."""
    whole = merging.merged(list(found.values()))
    cases = case_runner.select(whole.header["cases"])
    rounds = layout.medians_of(whole.footer["rounds"])
    how = (
        f"{rounds}, interleaved in random order. {OURS} (outbox and exchange) in nanoseconds for each operation; the others as "
        f"ratios to {OURS}, round by round, with 95 % intervals: less is better. straight: each slot goes to its slab at once; "
        "outbox: slots wait with the thread that frees; adopted: any thread keeps them. "
        "[Remote frees](../decisions/remote-frees.md) has their locked instructions and the decision."
    )
    parts = [sentence(whole, cases), how, *variant_tables.times(whole, cases, OURS, False), *words.remarks(found)]
    return words.page("The earlier work: a mailbox for remote frees", QUESTION, parts, whole)


def _ratios(found, cases, remote):
    """Intervals of the mailbox to ours, below SMALL bytes where threads free for each other, or wherever they do not."""
    columns = standings.columns(standings.grid(found.runs, found.failures), measures.time_ns)
    for case in cases:
        own, values = columns.get(case.name, {}), case.values
        wanted = values["remote"] >= 90 and values["max"] < SMALL if remote else values["remote"] == 0
        if wanted and MAILBOX in own and OURS in own and (ratio := standings.ratio(own[MAILBOX], own[OURS])):
            yield ratio


def sentence(found, cases):
    remote, local = (list(_ratios(found, cases, remote)) for remote in (True, False))
    if not remote or not local or remote[0].low is None:
        return words.judged(words.OPEN, "There are no intervals of both.")
    gain, low, high = (standings.geometric_mean([getattr(one, end) for one in remote]) for end in ("middle", "low", "high"))
    cost = standings.geometric_mean([one.middle for one in local])
    text = (
        f"Below {SMALL} bytes and with 90 % remote frees the mailbox takes {gain:.2f} ({low:.2f}-{high:.2f}) of the time of what "
        f"tslab does instead, and {cost:.2f} without remote frees (geometric means of medians and of the ends of intervals)."
    )
    if low > GAIN:
        return words.judged(words.CONFIRMED, f"{text} The gain that was asked for is not reached.")
    if gain > GAIN or high >= 1:
        return words.judged(words.OPEN, f"{text} The noise is larger than the gain that was asked for.")
    return words.judged(words.REFUTED if cost <= LEVEL else words.PARTLY, text)
