"""From the runs of `lab demo` to what may be said of them: figures, a sentence for each scene, and the verdict. All words follow
from what was measured. Pure functions."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from tslab_lab.allocators.catalogue import OURS, SYSTEM
from tslab_lab.base.shapes import Run
from tslab_lab.display.layout import Table, counted, interval_text, three_digits
from tslab_lab.estimates import medians
from tslab_lab.results import measures
from tslab_lab.results.storage import Results

WITH_EPOCHS = f"{OURS}, epochs"  # the requests of the survivors, in an epoch each
REST_SECONDS = 2  # before RSS is read
BETTER, WORSE, LEVEL = "better", "worse", "level"
SHARE = 0.05  # a smaller difference is none,
LEAST_KIB = 1024  # nor is one of less memory
AGAINST = {BETTER: "ahead of", WORSE: "behind", LEVEL: "level with"}


RULE = (
    f"Figures are medians. A difference counts where it is over {SHARE:.0%}, for memory also over 1 MiB, and where every round has it, or "
    f"so many of more than seven that chance does not explain it. All else is level. PSS is that of all processes together."
)


@dataclass(frozen=True)
class Kind:
    """A figure of a scene. `main`: it is what the scene is about, else what that costs. `of(run)`: its value; None where the run has none. `more_is_better`: as of a rate."""

    scene: str
    name: str
    of: measures.Figure
    unit: str
    scale: float = 1.0
    main: bool = False
    more_is_better: bool = False

    @property
    def is_memory(self) -> bool:
        return self.unit == "MiB"

    @property
    def title(self) -> str:
        return self.name if self.main else f"{self.name} of {self.scene}"


def _take(key: str) -> measures.Figure:
    return lambda run: run.get(key)


def _rate(run: Run) -> float | None:
    return run["operations"] / run["seconds"] if run.get("seconds") else None


def _memory(scene: str, name: str) -> Iterator[Kind]:
    yield Kind(scene, name, _take("rss_kib"), "MiB", 1024, main=True)
    yield Kind(scene, PEAK, _take("peak_kib"), "MiB", 1024)
    yield Kind(scene, CPU, _take("seconds"), "s")


PEAK, CPU = "peak RSS", "processor time"
KINDS = (
    *_memory("redis", f"redis {REST_SECONDS} s after FLUSHALL"),
    *_memory("survivors", f"survivors {REST_SECONDS} s after the requests"),
    *_memory("buffers", "buffers at rest"),
    Kind("threads", "four threads", _rate, "M objects/s", 1e6, main=True, more_is_better=True),
    Kind("threads", PEAK, _take("peak_kib"), "MiB", 1024),
    Kind("PostgreSQL", "PostgreSQL", _rate, "transactions/s", main=True, more_is_better=True),
    Kind("PostgreSQL", "peak PSS", _take("peak_kib"), "MiB", 1024),
)


class Figure:
    """A kind with its values, by allocator and round."""

    def __init__(self, kind: Kind, runs: Iterable[Run]) -> None:
        self.kind = kind
        self.values: dict[str, dict[int, float]] = {}
        for run in runs:
            value = kind.of(run) if run["case"] == kind.scene else None
            if value is not None:
                self.values.setdefault(run["allocator"], {})[run["round"]] = value

    def middle(self, name: str) -> float:
        return median(self.values[name].values())

    @property
    def scaled(self) -> dict[str, dict[int, float]]:
        """In its unit."""
        return {name: {at: value / self.kind.scale for at, value in of.items()} for name, of in self.values.items()}

    def text(self, name: str) -> str:
        return three_digits(self.middle(name) / self.kind.scale)

    @property
    def order(self) -> list[str]:
        """The allocators, the best first."""
        return sorted(self.values, key=self.middle, reverse=self.kind.more_is_better)

    def judged(self, ours: str, theirs: str) -> str | None:
        """Whether one is better than the other: in so many rounds that chance does not explain it, or in all where they are too
        few to say so, and by more than a little."""
        both = self.values.get(ours, {}).keys() & self.values.get(theirs, {}).keys()
        ratios = medians.ratios(*([self.values[name][number] for number in sorted(both)] for name in (ours, theirs)))
        if not ratios:
            return None
        needed = medians.rounds_to_show(len(ratios)) or len(ratios)
        above, below = sum(ratio > 1 for ratio in ratios), sum(ratio < 1 for ratio in ratios)
        small = abs(median(ratios) - 1) <= SHARE
        small |= self.kind.is_memory and abs(self.middle(ours) - self.middle(theirs)) <= LEAST_KIB
        if small or max(above, below) < needed:
            return LEVEL
        return BETTER if (above > below) == self.kind.more_is_better else WORSE


def figures(found: Results) -> list[Figure]:
    """Those that have values."""
    every = (Figure(kind, found.runs) for kind in KINDS)
    return [figure for figure in every if figure.values]


def main(scene: str, run: Run) -> float | None:
    """The value of the figure that a scene is about, in its unit; None where the run has none."""
    kind = next(kind for kind in KINDS if kind.scene == scene and kind.main)
    value = kind.of(run)
    return None if value is None else value / kind.scale


def main_figure(found: Results, scene: str) -> Figure | None:
    """What a scene is about."""
    return next((one for one in figures(found) if one.kind.scene == scene and one.kind.main), None)


def level_with(figure: Figure | None) -> str:
    """Of whom ours is neither ahead nor behind in what a scene is about."""
    names = [name for name in figure.order if name != OURS and figure.judged(OURS, name) == LEVEL] if figure else []
    return f"{OURS} {AGAINST[LEVEL]} {listed(names)}" if names else ""


def ended(found: Results, scene: str) -> dict[str, set[int]]:
    """By allocator the rounds in which it did not live to the end."""
    ends: dict[str, set[int]] = {}
    for run in found.runs:
        if run["case"] == scene and run.get("ended"):
            ends.setdefault(run["allocator"], set()).add(run["round"])
    return ends


def listed(words: Sequence[str]) -> str:
    """a, b and c."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def sentence(found: Results, scene: str) -> str:
    """What a scene has shown."""
    figure = main_figure(found, scene)
    ends, parts = ended(found, scene), []
    count = max((run["round"] for run in found.runs if run["case"] == scene), default=0)
    if figure:
        each = ", ".join(f"{name} {figure.text(name)}" for name in figure.order)
        parts.append(f"{figure.kind.name[:1].upper()}{figure.kind.name[1:]}: {each} {figure.kind.unit}")
    names = [name for name in found.header["allocators"] if name in ends]
    always = [name for name in names if len(ends[name]) == count]
    parts += [_ended(always)] if always else []
    parts += [f"{name} was ended in {len(ends[name])} of {count} rounds" for name in names if name not in always]
    judged = figure.judged(OURS, SYSTEM) if figure else None
    parts += [f"{OURS} is {AGAINST[judged]} {SYSTEM}"] if judged else []
    return f"{'; '.join(parts)} ({counted(count, 'round')})." if count else ""


def _ended(names: Sequence[str]) -> str:
    return f"{listed(names)} {'were' if names[1:] else 'was'} ended"


def _against(figure: Figure) -> str:
    """Ours and the system's."""
    return f"{figure.text(OURS)} {figure.kind.unit}, not {figure.text(SYSTEM)}"


def _gained(found: Results, known: Sequence[Figure]) -> str:
    parts, also = [], []
    for figure in known:
        if figure.judged(OURS, SYSTEM) != BETTER:
            continue
        if not figure.kind.main:
            also.append(figure.kind.title)
            continue
        more = ""
        if figure.judged(WITH_EPOCHS, OURS) == BETTER:
            more = f" ({figure.text(WITH_EPOCHS)} with an epoch for each request)"
        parts.append(f"{figure.kind.title} {_against(figure)}{more}")
    ends = ended(found, "buffers")
    others = [name for name in found.header["allocators"] if name in ends]
    if others and OURS not in ends:
        parts.append(f"the buffers fit where {_ended(others)}")
    if also:
        parts.append(f"also the {listed(also)}")
    return f"**Gained** against {SYSTEM}: {'; '.join(parts) or 'nothing that these rounds show'}."


def _paid(found: Results, known: Sequence[Figure]) -> str:
    parts = [f"{figure.kind.title} {_against(figure)}" for figure in known if figure.judged(OURS, SYSTEM) == WORSE]
    if OURS in ended(found, "buffers"):
        parts.append("the buffers did not fit" + "".join(f", {limit}" for limit in _limits(found, "buffers")))
    level = [figure.kind.title for figure in known if figure.judged(OURS, SYSTEM) == LEVEL]
    same = f" (Level: {listed(level)}.)" if level else ""
    return f"**Paid**: {'; '.join(parts) or 'nothing that these rounds show'}.{same}"


def _not_for(known: Sequence[Figure]) -> str:
    """Where somebody else does as well, and what was paid."""
    parts, dear = [], []
    for figure in known:
        others = [name for name in figure.order if name not in (OURS, WITH_EPOCHS)]
        judged = figure.judged(OURS, others[0]) if others and OURS in figure.values else None
        if figure.kind.main and judged in (LEVEL, WORSE):
            both = f"{figure.text(OURS)} and {figure.text(others[0])} {figure.kind.unit}"
            parts.append(f"{figure.kind.name}: {AGAINST[judged]} {others[0]}, {both}")
        if not figure.kind.main and figure.judged(OURS, SYSTEM) == WORSE:
            dear.append(figure.kind.name)
    words = [f"where others do as well ({'; '.join(parts)})"] if parts else []
    dear = list(dict.fromkeys(dear))
    words += [f"where {listed(dear)} {'count' if dear[1:] else 'counts'} more than memory at rest"] if dear else []
    if not words:
        return "**Not for you**: these scenes show no case; docs/results/README.md has what tslab loses."
    return f"**Not for you** {', or '.join(words)}."


def verdict(found: Results) -> list[str]:
    """Three sentences: what was gained, what it cost, when not to use it."""
    known = [figure for figure in figures(found) if figure.judged(OURS, SYSTEM)]
    if not known:
        return []
    return [_gained(found, known), _paid(found, known), _not_for(figures(found))]


def _limits(found: Results, scene: str) -> list[str]:
    return sorted({run["limit"] for run in found.runs if run["case"] == scene and run.get("limit")})


def whole_title(found: Results, scene: str, title: str) -> str:
    """With the limit, where there was one."""
    return ", ".join([title, *_limits(found, scene)])


def table(found: Results, scene: str) -> Table:
    """Of all figures of a scene: medians, and the least and most."""
    known = [figure for figure in figures(found) if figure.kind.scene == scene]
    names = list(dict.fromkeys(run["allocator"] for run in found.runs if run["case"] == scene))
    names = [name for name in found.header["allocators"] if name in names]
    ends = ended(found, scene)
    result = Table("Median (least to most)", ["", *names, f"{OURS} against {SYSTEM}"])
    for figure in known:
        cells = []
        for name in names:
            values = [value / figure.kind.scale for value in figure.values.get(name, {}).values()]
            cells.append(interval_text(medians.spread(values)) if values else "ended" if name in ends else "-")
        result.rows.append([f"{figure.kind.name}, {figure.kind.unit}", *cells, figure.judged(OURS, SYSTEM) or "-"])
    return result
