"""A page with flame graphs: d3-flame-graph (page/), this page's own lines, and the profile, in one file."""

import json
from importlib import resources

from tslab_tools.profiles import figures
from tslab_tools.profiles.symbols import Symbols, describe
from tslab_tools.profiles.wrappers import Wrappers
from tslab_tools.profiles.written import Written

GROWN = "grown"


def _stacks(written: Written, names: Symbols, wrappers: Wrappers, sums: dict[str, figures.Sums]) -> dict[str, object]:
    """The stacks: the numbers of their functions, the innermost first, how many of these are skipped, and the bytes of
    each kind."""
    functions: dict[str, int] = {}
    stacks = []
    for number in dict.fromkeys(number for of_kind in sums.values() for number in of_kind):
        unknown = figures.UNSAMPLED if number is None else describe(None)
        trace = [] if number is None else [place.function for place in names.trace(number)]
        numbers = [functions.setdefault(name, len(functions)) for name in trace or [unknown]]
        values = [round(of_kind[number].bytes) if number in of_kind else 0 for of_kind in sums.values()]
        stacks.append([numbers, wrappers.at.get(number, 0) if len(trace) > wrappers.at.get(number, 0) else 0, values])
    return {"functions": list(functions), "stacks": stacks}


def page(written: Written, names: Symbols, wrappers: Wrappers, kind: str, grown: figures.Sums | None) -> str:
    """The page shows `kind` first. `grown`: what lives, less what lived in an earlier profile."""
    sums = {each: figures.by_stack(written, each) for each in figures.KINDS}
    kinds = dict(figures.KINDS)
    if grown is not None:
        sums[GROWN], kinds[GROWN] = grown, "what grew"
    shown = GROWN if grown is not None and kind == "live" else kind
    data = _stacks(written, names, wrappers, sums) | {
        "title": written.title,
        "kinds": list(kinds.items()),
        "shown": shown,
    }
    parts = resources.files(__package__) / "page"
    text = (parts / "page.html").read_text(encoding="utf-8")
    library = (parts / "d3-flame-graph.js").read_text(encoding="utf-8")
    # In a script only "</" and "<!" could end or hide it.
    return text.replace("/*library*/", library).replace("/*profile*/", json.dumps(data).replace("<", "\\u003c"))
