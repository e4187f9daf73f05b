"""The page of results of a soak, and its figure."""

import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "lab"), str(ROOT / "tools")]
from trend import settled  # noqa: E402  pylint: disable=wrong-import-position
from tslab_lab.base import machine  # noqa: E402  pylint: disable=wrong-import-position,import-error
from tslab_lab.display import figures  # noqa: E402  pylint: disable=wrong-import-position,import-error

# In the order of tests/soak/soak.h.
COUNTED = {
    "objects": "objects allocated", "bytes": "bytes asked for", "checked_bytes": "bytes checked",
    "reallocations": "reallocations", "handed_objects": "objects freed by a thread that they were handed to",
    "handles": "objects with handles", "large": "large objects", "requests": "requests", "epochs": "epochs",
    "handed_scopes": "scopes that went on on another thread", "units": "units of work", "instances": "instances",
    "reports": "lines of TSLAB_POLICY_REPORT", "threads": "threads that came and went", "forks": "forks",
}
INTRODUCTION = """\
`make soak` ({minutes:g} minutes here): processes that do a bit of everything that the library is for, beside real programs on
the drop-in. Every object is filled with a pattern of its own, and all of it is compared when the object is reallocated, handed
to another thread, freed, or ended with its epoch. A round is the same amount of work each time; then all threads rest, and the
statistics must be exactly what the program's own tables say: objects, bytes, large runs, epochs, and every unit of the arena in
use or in the depot. At the end nothing may be left."""
RSS = """\
At the same moment of every round: right after the work, at rest, after a trim; of redis and Python after the round, when all
keys and objects are dropped. What rises at first are the tables of trapped memory, which stays trapped until 4,096 further runs
of memory were (`TSLAB_POLICY_TRAP`). Growth: from the end of the warm-up (a quarter of the rounds) to the end, by the slope of Theil and
Sen, with its 95 % interval. The soak fails when one is above {bound:.0f} % and surely above 0: {sensitivity}."""


def paragraph(text):
    return textwrap.fill(text, 128, break_long_words=False, break_on_hyphens=False)


def table(heads, rows):
    yield "| " + " | ".join(heads) + " |"
    yield "|---|" + "---:|" * (len(heads) - 1)
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


def draw(series, path):
    missing = figures.available()
    if missing:
        sys.exit(f"soak: {missing}")
    from matplotlib.figure import Figure  # pylint: disable=import-outside-toplevel
    names = [name for name in series if len(series[name][0]) > 1]
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    axes = figure.add_subplot()
    drawn, ends = [], []
    for name in names:
        at, values = series[name]
        minutes, mib = [seconds / 60 for seconds in at], [kib / 1024 for kib in values]
        drawn += axes.plot(minutes, mib, **figures.line(name) | {"linewidth": 1.1})
        ends.append((minutes[-1], mib[-1]))
    axes.set_xlabel("minutes")
    axes.set_ylabel("RSS, MiB")
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    axes.grid(color=figures.GRID, linewidth=0.6)
    if ends:
        figures.name_lines(axes, names, ends, drawn, max(x for x, _ in ends))
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(path, dpi=figures.DPI)


def requests_after_warm_up(lines, process):
    """How many there were from the first to the last round that a trend is made of."""
    done = [line["done"]["requests"] for line in lines if line["kind"] == "round" and line["process"] == process]
    return settled(done)[-1] - settled(done)[0]


def write(lines, series, trends, grown, bound, path):
    header = next(line for line in lines if line["kind"] == "header")
    verdict = next(line for line in lines if line["kind"] == "verdict")
    ends = {line["process"]: line for line in lines if line["kind"] == "end"}
    rounds = {name: sum(line["kind"] == "round" and line["process"] == name for line in lines) for name in ends}
    runs = {}
    for line in lines:
        if line["kind"] == "program":
            runs[line["name"]] = runs.get(line["name"], 0) + 1
    image = path.with_name(f"{path.stem}-rss.png")
    draw(series, image)
    wrong = verdict["wrong"] + grown
    sentence = "0 failures, flat RSS, nothing left." if not wrong else f"{len(wrong)} failures: " + "; ".join(wrong)
    text = ["# Soak: an hour of everything at once" if header["minutes"] == 60 else "# Soak", "", f"**{sentence}**", ""]
    text += [f"![RSS over the soak, at the same moments of each round]({image.name})", ""]
    text += [paragraph(INTRODUCTION.format(minutes=header["minutes"])), ""]
    text += table(["", *ends], [["rounds", *(f"{rounds[name]:,}" for name in ends)]]
                  + [[words, *(f"{end['done'][key]:,}" for end in ends.values())] for key, words in COUNTED.items()])
    text += [paragraph("Programs on the drop-in, each with the result that it has on the system's malloc, and how often: "
                       + ", ".join(f"{name} {count}" for name, count in sorted(runs.items())) + "."), ""]
    sensitivity = " and ".join(
        f"in '{name}' that is {bound * trends[f'{name}: trimmed'].median * 1024 / requests_after_warm_up(lines, name):.1f} bytes"
        " a request" for name in ends if f"{name}: trimmed" in trends)
    text += ["## RSS", "", paragraph(RSS.format(bound=100 * bound, sensitivity=sensitivity)), ""]
    text += table(["", "median, MiB", "growth (95 % interval)"],
                  [[name, f"{trend.median / 1024:.1f}", str(trend)] for name, trend in trends.items()])
    told = machine.setting(header["machine"], verdict["load_at_end"], "")
    setting = [[name, value] for name, value in told if name != "peers"]
    text += ["## Measured on", "", *table(["", ""], setting)]
    path.write_text("\n".join(text), encoding="utf-8")
