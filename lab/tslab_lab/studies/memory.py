"""The earlier work's series of RSS: an application's mixture on several allocators, and what options of retention are
worth."""

from tslab_lab.allocators.catalogue import OURS, SYSTEM
from tslab_lab.display.layout import Table, three_digits
from tslab_lab.memory import tables
from tslab_lab.studies import words

QUESTION = (
    "The earlier work measured an application's mixture on its allocator, mimalloc, tcmalloc and a baseline: 67 to 91 million "
    "operations a second at 13 to 16 MB. It then asked what a budget for large blocks, decay, and a purge at exit are worth: a "
    "budget 25 % more operations, decay and the purge nothing."
)
EARLIER_MB = (13.0, 16.0)
EARLIER_BUDGET = 1.25
MEAN, SPEED, PEAK = "mean\nMiB", "ops/s", "max\nMiB"
LEVEL = 0.05
BUDGET = f"{OURS}@retain_bytes=64M"
EAGER, KEEP = f"{OURS}@purge=eager", f"{OURS}@purge=never"


def page(found):
    """`found`: results by piece."""
    outcomes = {piece: tables.outcome_of(one) for piece, one in found.items()}
    parts = []
    for piece, (title, say, base) in PIECES.items():
        if piece in outcomes:
            parts += [f"## {title}", next(iter(found[piece].header["cases"].values()))["title"], say(outcomes[piece])]
            parts += tables.tables(outcomes[piece], base)
    parts += ["Limits between sizes are the matter of `lab/tslab boundaries`. Where all memory is, `tslab stat` says."]
    parts += words.remarks(found)
    return words.page("The earlier work: memory over time", QUESTION, parts, next(iter(found.values())))


def _median(outcome, name, figure):
    runs = outcome.get(name)
    return tables.middle(runs, tables.FIGURES[figure]) if runs else None


def app_sentence(outcome):
    mean, speed = _median(outcome, OURS, MEAN), _median(outcome, OURS, SPEED)
    if mean is None or speed is None:
        return words.judged(words.OPEN, "There are too few figures.")
    others = {name: _median(outcome, name, SPEED) for name in outcome if name not in (OURS, SYSTEM)}
    beside = ", ".join(f"{name} {tables.text(value)}" for name, value in others.items() if value)
    text = (
        f"Here tslab takes {three_digits(mean)} MiB on average, where the earlier work took {EARLIER_MB[0]:.0f} to "
        f"{EARLIER_MB[1]:.0f} MB, at {tables.text(speed)} operations a second{f' ({beside})' if beside else ''}; speeds of "
        "different machines do not compare."
    )
    return words.judged(words.REPLACED if mean < EARLIER_MB[0] else words.CONFIRMED, text)


def _against(outcome, name, figure):
    """The ratio to tslab as it is, round by round; None where there is nothing to compare."""
    if name not in outcome or OURS not in outcome:
        return None
    return tables.ratio(outcome[name], outcome[OURS], tables.FIGURES[figure])


def budget_sentence(outcome):
    speed, mean = (_against(outcome, BUDGET, figure) for figure in (SPEED, MEAN))
    if speed is None or mean is None:
        return words.judged(words.OPEN, "There is nothing to compare.")
    spread = f"{speed.middle:.2f} ({speed.low:.2f}-{speed.high:.2f})"
    text = (
        f"That a budget is worth 25 % more operations: with one of 64 MiB there are {spread} times as many operations, at "
        f"{mean.middle:.2f} times the mean RSS."
    )
    if speed.low >= EARLIER_BUDGET:
        return words.judged(words.CONFIRMED, text)
    return words.judged(words.REFUTED if speed.high < EARLIER_BUDGET else words.OPEN, text)


def decay_sentence(outcome):
    """Whether giving memory back makes RSS lower than keeping it, and what it costs."""
    kept, eager = _against(outcome, KEEP, MEAN), _against(outcome, EAGER, MEAN)
    if kept is None or eager is None:
        return words.judged(words.OPEN, "There is nothing to compare.")
    text = (
        f"That decay is worth nothing: without any purge the mean RSS is {kept.middle:.2f} times as large; with one at once, "
        f"{eager.middle:.2f} times."
    )
    return words.judged(words.REFUTED if kept.middle > 1 + LEVEL else words.CONFIRMED, text)


def exit_sentence(outcome):
    kept = _against(outcome, KEEP, MEAN)
    if kept is None:
        return words.judged(words.OPEN, "There is nothing to compare.")
    text = f"That a purge of what threads leave is worth nothing: without any the mean RSS is {kept.middle:.2f} times as large."
    return words.judged(words.REFUTED if kept.middle > 1 + LEVEL else words.CONFIRMED, text)


PIECES = {
    "app": ("The application's mixture", app_sentence, SYSTEM),
    "budget": ("A budget for large blocks", budget_sentence, OURS),
    "decay": ("Decay of what is idle", decay_sentence, OURS),
    "exit": ("Purge of what threads leave", exit_sentence, OURS),
}
