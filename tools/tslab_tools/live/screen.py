"""How processes look on a terminal of 80 columns: all of them, and one of them. Keys change what is shown."""

import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from rich.text import Text

from tslab_tools.live import graph, kernel, processes, requests, summary
from tslab_tools.live.processes import Process
from tslab_tools.terminal import counted, plain_text

_RETAINED_MUCH = 0.5
_WIDE = 120  # columns: then the list tells whose a process is
_CLASSES, _ACCOUNTS = 12, 12
_UNITS = "BKMGTPE"
T = TypeVar("T")
Of = Callable[[Process], T]


def size(count: float) -> str:
    """Bytes in at most five columns."""
    value, unit = float(abs(count)), 0
    while value >= 999.5 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    digits = f"{value:.0f}" if unit == 0 or value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"
    return ("-" if count < 0 else "") + digits + _UNITS[unit]


def number(value: float | None) -> str:
    """A count or a rate in at most five columns; a dash where there is none."""
    if value is None:
        return "-"
    unit = 0
    while value >= 9999.5 and unit < 4:
        value, unit = value / 1000, unit + 1
    return f"{value:.0f}{['', 'k', 'M', 'G', 'T'][unit]}"


def span(seconds: float | None) -> str:
    """A time in at most five columns."""
    if seconds is None:
        return "-"
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 1.5 * length:
            return f"{seconds / length:.0f}{unit}"
    return f"{seconds:.1f}s" if seconds < 9.95 else f"{seconds:.0f}s"


def percent(part: float) -> str:
    return f"{100 * part:.1f}%"


@dataclass(frozen=True)
class Column:
    name: str  # of --sort
    key: str
    head: str
    width: int
    order: Of[Any] | None  # the largest first
    cell: Of[str]
    left: bool = False


def _own(name: str) -> Of[int]:
    return lambda process: process.figures.process[name]


def _epochs(process: Process) -> str:
    count, draining, _ = summary.epochs(process)
    return f"{number(draining)}/{number(count)}" if draining else number(count)


def _rss(process: Process) -> str:
    return size(process.rss) + ("!" if summary.pressure(process) else " ")


def _bytes(name: str, key: str, head: str, term: str) -> Column:
    return Column(name, key, head, 5, _own(term), lambda process: size(process.figures.process[term]))


COLUMNS = (
    Column("pid", "p", "PID", 7, lambda process: -process.pid, lambda process: str(process.pid)),
    Column("name", "n", "program", 12, None, lambda process: plain_text(process.program), left=True),
    Column("rss", "r", "RSS ", 6, lambda process: process.rss, _rss),
    _bytes("live", "l", "live", "live"),
    _bytes("waste", "w", "waste", "waste"),
    _bytes("caches", "c", "cache", "caches"),
    _bytes("retained", "t", "retnd", "retained"),
    Column(
        "allocations",
        "a",
        "alloc/s",
        7,
        lambda one: one.rate("allocations") or 0,
        lambda one: number(one.rate("allocations")),
    ),
    Column("epochs", "e", "epochs", 8, lambda one: summary.epochs(one)[1::-1], _epochs),
    Column("oldest", "o", "oldest", 6, lambda one: summary.oldest(one) or 0, lambda one: span(summary.oldest(one))),
)
KEYS_INSIDE = "arrows scroll  q: back  p: profile  d: dump  t: trim"
KEYS = "arrows choose  Enter goes in  h help  q ends  sort: " + " ".join(c.key for c in COLUMNS)
HELP = """keys
  up, down, Page Up, Page Down, Home, End   choose a process; inside, scroll
  Enter, right    go into the process
  q, Escape, left go back; in the list, q ends
  space           look now
  p, d, t         inside: profile (again: write it here), dump statistics and profile here, trim

sort the list by
"""
HELP_OF_COLUMNS = {
    "pid": "process", "name": "program", "rss": "RSS: what is resident now. ! it is near a limit, and saves memory",
    "live": "live: objects", "waste": "waste: free slots of slabs, dead objects of chunks",
    "caches": "cache: free memory in caches of threads", "retained": "retnd: empty memory that waits for reuse",
    "allocations": "alloc/s: small objects, without those in chunks of epochs",
    "epochs": "epochs: not draining / all that are open or keep memory", "oldest": "oldest: age of the oldest epoch",
}  # fmt: skip


@dataclass
class View:
    """What is shown: the list, the process `inside` (its PID), or the help."""

    processes: list[Process]
    problems: list[str] = field(default_factory=list)
    sort: str = "rss"
    chosen: int | None = None  # a PID
    inside: int | None = None
    scrolled: int = 0
    helps: bool = False
    ended: bool = False
    height: int = 24
    asked: bool = False  # to look now
    wanted: str = ""  # a key of requests.KEYS, for the process inside
    said: str = ""  # its answer, until the next key
    pasts: dict[int, graph.Past] = field(default_factory=dict)  # by PID

    @property
    def sorted(self) -> list[Process]:
        column = next(column for column in COLUMNS if column.name == self.sort)
        order = column.order
        if order is None:
            return sorted(self.processes, key=lambda process: (process.program, process.pid))
        return sorted(self.processes, key=lambda process: (order(process), -process.pid), reverse=True)

    def show(self, found: list[Process], problems: Sequence[str] = ()) -> None:
        self.processes, self.problems, self.asked = found, list(problems), False
        self.pasts = {process.pid: self.pasts.get(process.pid, graph.Past()) for process in found}
        for process in found:
            own = process.figures.process
            self.pasts[process.pid].add(processes.now(), own["live"], own["waste"], process.rss)

    def the_one(self) -> Process | None:
        """The process that the view is inside of; None: it has ended."""
        return next((process for process in self.processes if process.pid == self.inside), None)

    def _choose(self, step: int) -> None:
        pids = [process.pid for process in self.sorted]
        if pids:
            at = pids.index(self.chosen) if self.chosen in pids else 0
            self.chosen = pids[min(max(0, at + step), len(pids) - 1)]

    def _move(self, step: int) -> None:
        if self.inside is None:
            self._choose(step)
        else:
            self.scrolled = max(0, self.scrolled + step)

    def _back(self, ends: bool) -> None:
        if self.helps:
            self.helps = False
        elif self.inside is not None:
            self.inside = None
        else:
            self.ended = ends

    def press(self, key: str) -> None:
        self.said = ""
        page = max(1, self.height - 5)
        steps = {"up": -1, "down": 1, "page up": -page, "page down": page, "home": -(1 << 30), "end": 1 << 30}
        sorts = {column.key: column.name for column in COLUMNS}
        if key in steps and not self.helps:
            self._move(steps[key])
        elif key == "enter" and not self.helps and self.inside is None and self.processes:
            self._choose(0)
            self.inside, self.scrolled = self.chosen, 0
        elif key in ("q", "back"):
            self._back(ends=key == "q")
        elif key in ("h", "?"):
            self.helps = not self.helps
        elif key == " ":
            self.asked = True
        elif key in sorts and self.inside is None:
            self.sort = sorts[key]
        elif key in requests.KEYS and self.the_one() is not None and not self.helps:
            self.wanted = key

    def obey(self) -> None:
        """Asks the process inside for what a key wants."""
        process = self.the_one()
        if self.wanted and process is not None:
            self.said = requests.answer(self.wanted, process)
        self.wanted = ""


def _heads(sort: str, width: int) -> Text:
    line = Text()
    for column in COLUMNS:
        line.append(" " if line else "")
        head = column.head.ljust(column.width) if column.left else column.head.rjust(column.width)
        line.append(head, "bold reverse" if column.name == sort else "bold")
    return line.append(_whose("user", "unit") if width >= _WIDE else "", "bold")


def _whose(user: str, unit: str) -> str:
    return f"  {plain_text(user)[:12]:<12} {plain_text(unit)}"


def _row(process: Process, chosen: bool, width: int) -> Text:
    cells = []
    for column in COLUMNS:
        cell = column.cell(process)[: column.width]
        cells.append(cell.ljust(column.width) if column.left else cell.rjust(column.width))
    style = "reverse" if chosen else "bold red" if summary.pressure(process) else ""
    whose = _whose(kernel.user_of(process.pid), process.unit) if width >= _WIDE else ""
    return Text(" ".join(cells) + whose, style)


def _title(found: list[Process]) -> Text:
    heads = {"live": "live", "waste": "waste", "caches": "cache", "retained": "retnd"}
    whole = {head: sum(process.figures.process[name] for process in found) for name, head in heads.items()}
    rss = sum(process.rss for process in found)
    words = " ".join(f"{name} {size(value)}" for name, value in whole.items())
    return Text(f"{time.strftime('%H:%M:%S')} {counted(len(found), 'process', 'es')}: RSS {size(rss)} {words}")


def overview(view: View, width: int) -> list[Text]:
    """The lines of the list."""
    lines = [_title(view.processes), _heads(view.sort, width)]
    for process in view.sorted:
        lines.append(_row(process, process.pid == view.chosen, width))
    if not view.processes:
        lines.append(Text("no process here exports its figures: start one with TSLAB_EXPORT=1"))
    return lines + [Text(plain_text(problem)[:width], "red") for problem in view.problems]


def _pairs(pairs: list[tuple[str, str]], width: int, columns: int) -> Iterator[Text]:
    """Names and values in columns."""
    each = max(_CELL_LEAST, (width - 2) // columns)
    rows = -(-len(pairs) // columns)
    for row in range(rows):
        cells = pairs[row::rows]
        yield Text("  " + "".join(f"{name:<{each - 10}}{value:>8}  " for name, value in cells).rstrip())


def _memory(process: Process) -> Iterator[Text]:
    own = process.figures.process
    heads = ("RSS", "= live", "+ waste", "+ caches", "+ retained", "+ metadata", "+ not_ours", "peak")
    cells = [own["rss_bytes"], *(own[name] for name in processes.TERMS), process.not_ours, own["peak_rss_bytes"]]
    widths = [max(7, len(head) + 1) for head in heads]
    yield Text("".join(head.rjust(width) for head, width in zip(heads, widths)), "bold")
    yield Text("".join(size(cell).rjust(width) for cell, width in zip(cells, widths)))


def _limits(process: Process) -> Text:
    own = process.figures.process
    said = [
        f"{name} limit {size(own[f'{name}_limit_bytes'])}" for name in ("hard", "soft") if own[f"{name}_limit_bytes"]
    ]
    near = summary.pressure(process)
    said.append(f"pressure: {', '.join(near)}" if near else "no pressure")
    said.append(f"retained {percent(summary.share(process, 'retained'))} of what the library has")
    warns = near or (summary.share(process, "retained") > _RETAINED_MUCH and own["retained"] > 64 << 20)
    return Text("; ".join(said), "bold red" if warns else "")


def _rates(process: Process) -> list[tuple[str, str]]:
    own = process.figures.process
    names = [("allocations", "allocations/s"), ("frees", "frees/s"), ("refills", "refills/s"), ("flushes", "flushes/s")]
    names += [("remote_frees", "remote frees/s"), ("purge_calls", "purges/s"), ("epochs_opened", "epochs opened/s")]
    names += [("work_units", "units of work/s")]
    pairs = [(text, number(process.rate(name))) for name, text in names]
    for name, text in (("purged_bytes", "purged/s"), ("epoch_bytes", "in chunks/s")):
        rate = process.rate(name)
        pairs.append((text, "-" if rate is None else size(rate)))
    pairs += [("purged in all", size(own["purged_bytes"])), ("purged too early", size(own["purge_mistakes"]))]
    return pairs


def _accounts(process: Process) -> list[tuple[str, str]]:
    found = process.figures.accounts
    names = [name for name in found if not name.endswith("_untouched")]
    touched = {name: found[name] - found.get(f"{name}_untouched", 0) for name in names}
    most = sorted((name for name in names if touched[name] > 0), key=lambda name: -touched[name])
    return [(plain_text(name), size(touched[name])) for name in most[:_ACCOUNTS]]


def _classes(process: Process) -> Iterator[Text]:
    yield Text(
        f"{'size':>8}{'live':>10}{'bytes':>8}{'cached':>8}{'slabs':>8}{'used':>8}{'allocations':>13}{'hit rate':>10}",
        "bold",
    )
    rows = [row for row in process.figures.classes if row["slab_bytes"]]
    for row in sorted(rows, key=lambda row: -row["slab_bytes"])[:_CLASSES]:
        live, calls = row["live"] * row["size"], row["allocations"] + row["frees"]
        hits = percent(max(0, calls - row["misses"]) / calls) if calls else "-"
        cells = f"{row['size']:>8}{number(row['live']):>10}{size(live):>8}{size(row['cached_bytes']):>8}"
        cells += f"{size(row['slab_bytes']):>8}"
        yield Text(f"{cells}{percent(live / row['slab_bytes']):>8}{number(row['allocations']):>13}{hits:>10}")


def _size_if_told(row: dict[str, Any], name: str) -> str:
    """A library of an earlier version does not tell it."""
    return size(row[name]) if name in row else "-"


def _labels(process: Process) -> Iterator[Text]:
    refused = any(row.get("refused") for row in process.figures.labels)
    heads = f"{'epochs':>8}{'draining':>10}{'oldest':>8}{'live':>8}{'memory':>8}{'peak':>8}{'resident':>10}"
    yield Text(f"{heads}{'refused':>9}  label" if refused else f"{heads}  label", "bold")
    for row in sorted(process.figures.labels, key=lambda row: (row["draining"] == 0, -row["memory_bytes"])):
        count = row["open"] + row["closing"] + row["draining"]
        label = "(others)" if row["labels"] > 1 else plain_text(row["label"]) or "(no label)"
        cells = f"{number(count):>8}{number(row['draining']):>10}{span(row['oldest_ms'] / 1000):>8}"
        text = f"{cells}{size(row['live_bytes']):>8}{size(row['memory_bytes']):>8}"
        text += f"{_size_if_told(row, 'peak_bytes'):>8}{_size_if_told(row, 'resident_bytes'):>10}"
        text += f"{number(row['refused']) if 'refused' in row else '-':>9}  {label}" if refused else f"  {label}"
        yield Text(text, "yellow" if row["draining"] else "")


def _label_limits(process: Process) -> Iterator[Text]:
    yield Text(f"{'limit':>8}{'used':>8}{'peak':>8}{'refusals':>10}  label", "bold")
    for row in sorted(process.figures.limits, key=lambda row: -row["refusals"]):
        limit = size(row["limit_bytes"]) if row["limit_bytes"] else "none"
        cells = f"{limit:>8}{size(row['used_bytes']):>8}{_size_if_told(row, 'peak_used_bytes'):>8}"
        text = f"{cells}{number(row['refusals']):>10}  {plain_text(row['label'])}"
        yield Text(text, "bold red" if row["refusals"] else "")


_CELL_LEAST = 20  # columns of a name and a value; a narrower terminal cuts them off
_WIDTH = 80  # of the tables; a graph that has room beside them is there
_HEAD = 4  # lines: title, sum and limits
_GRAPH_WIDTH, _GRAPH_HEIGHTS = 38, (6, 18)  # at least; below the sum, and beside the tables


def _beside(left: list[Text], right: list[Text]) -> list[Text]:
    for line, more in zip(left, right):
        line.pad_right(max(0, _WIDTH + 2 - line.cell_len))
        line.append_text(more)
    return left


def _with_graph(process: Process, past: graph.Past | None, width: int) -> list[Text]:
    if past is None:
        return details(process, width)
    why = f"why: tslab doctor {process.pid}"
    if width < _WIDTH + 2 + _GRAPH_WIDTH:
        lines = details(process, width)
        return [*lines[:_HEAD], *graph.draw(past, width - 2, _GRAPH_HEIGHTS[0], size, why), *lines[_HEAD:]]
    lines = details(process, _WIDTH)
    height = max(_GRAPH_HEIGHTS[0], min(_GRAPH_HEIGHTS[1], len(lines) - 2))
    return _beside(lines, graph.draw(past, width - _WIDTH - 2, height, size, why))


def details(process: Process, width: int) -> list[Text]:
    """The lines of one process."""
    figures = process.figures
    own = figures.process
    first = f"{plain_text(process.program)}, process {process.pid}, tslab {plain_text(figures.library)}"
    lines = [Text(f"{first}, up {span(own['uptime_ms'] / 1000)}, {counted(own['threads'], 'thread')}", "bold")]
    lines += [*_memory(process), _limits(process)]
    lines += [Text("rates", "bold"), *_pairs(_rates(process), width, 3 if width >= 80 else 2)]
    lines += [Text("accounts with most memory", "bold"), *_pairs(_accounts(process), width, 3 if width >= 80 else 2)]
    if figures.labels:
        lines += _labels(process)
    if figures.limits:
        lines += _label_limits(process)
    if any(row["slab_bytes"] for row in figures.classes):
        lines += _classes(process)
    return lines


def _help() -> list[Text]:
    rows = [f"  {column.key}  {HELP_OF_COLUMNS[column.name]}" for column in COLUMNS]
    return [Text(line) for line in HELP.splitlines() + rows]


def _window(lines: list[Text], at: int, height: int) -> list[Text]:
    return lines[at : at + height]


def lines(view: View, width: int, height: int) -> list[Text]:
    """A whole screen: each line fits, and there are no more than the screen has."""
    view.height = height
    room = height - 1
    process = view.the_one()
    foot = KEYS
    if view.helps:
        shown, foot = _help()[:room], "h or q: back"
    elif view.inside is not None and process is None:
        shown, foot = [Text(f"process {view.inside} has ended, or exports no figures any more")], "q: back"
    elif process is not None:
        every = _with_graph(process, view.pasts.get(process.pid), width)
        view.scrolled = min(view.scrolled, max(0, len(every) - room))
        said = textwrap.wrap(plain_text(view.said), width)[: room - 1]
        shown, foot = _window(every, view.scrolled, room - len(said)), KEYS_INSIDE
        shown += [Text("") for _ in range(room - len(said) - len(shown))] + [Text(line, "bold") for line in said]
    else:
        every = overview(view, width)
        pids = [process.pid for process in view.sorted]
        at = pids.index(view.chosen) if view.chosen in pids else 0
        first = max(0, at - (room - 2) + 1)
        shown = every[:2] + _window(every[2:], first, room - 2)
    for line in shown:
        line.truncate(width)
        line.no_wrap = True
    filler = [Text("") for _ in range(room - len(shown))]
    return [*shown, *filler, Text(foot[:width], "dim", no_wrap=True)]
