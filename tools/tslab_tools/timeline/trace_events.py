"""A timeline of tslab in the Trace Event format, which Perfetto (ui.perfetto.dev) and Chrome
(chrome://tracing) show."""

from collections.abc import Sequence
from typing import Any

from tslab_tools.timeline import ringfile

DEPOT = ("in use", "dirty", "stuck")  # of a record of memory, after what is resident
LONG_NS = 100_000
DRAINS_NS = 10_000  # what ends sooner after its close has not drained: the close itself has ended it


class _Life:
    """An epoch: opened, closed, ended by the last free of a survivor."""

    def __init__(self, value: int, thread: int, label: str, opened: int) -> None:
        self.value, self.thread, self.label, self.opened = value, thread, label, opened
        self.closed: int | None = None
        self.ended: int | None = None
        self.is_cut = False  # it was opened before the oldest record


def _lives(records: Sequence[ringfile.Record], first_ns: int) -> list[_Life]:
    """The epochs, in the order in which they were opened. A value names one epoch alone."""
    lives: dict[int, _Life] = {}
    for record in records:
        value = record.words[0]
        if record.kind == ringfile.EPOCH_OPEN:
            lives[value] = _Life(value, record.thread, ringfile.words_as_text(record.words[1:]), record.when_ns)
        elif record.kind in (ringfile.EPOCH_CLOSE, ringfile.EPOCH_END):
            if value not in lives:
                lives[value] = _Life(value, record.thread, "", first_ns)
                lives[value].is_cut = True
            life = lives[value]
            if record.kind == ringfile.EPOCH_CLOSE:
                life.closed = record.when_ns
            else:
                life.ended = record.when_ns
    return sorted(lives.values(), key=lambda life: life.opened)


def _nests(spans: Sequence[tuple[int, int]]) -> list[bool]:
    """For each (begin, end), in the order of their begins: whether it lies inside of all that are open there."""
    stack: list[int] = []
    answers = []
    for begin, end in spans:
        while stack and stack[-1] <= begin:
            stack.pop()
        fits = not stack or end <= stack[-1]
        if fits:
            stack.append(end)
        answers.append(fits)
    return answers


class Page:
    """Events, with times in microseconds since the program started."""

    def __init__(self, ring: ringfile.Ring) -> None:
        self.ring = ring
        self.first_ns = min((record.when_ns for record in ring.records), default=ring.started_ns)
        self.last_ns = max((record.when_ns for record in ring.records), default=ring.started_ns)
        self.events: list[dict[str, Any]] = []

    def at(self, ns: int) -> float:
        return max(0, ns - self.ring.started_ns) / 1000

    def add(self, phase: str, name: str, ns: int, thread: int, **more: Any) -> None:
        self.events.append(
            {"ph": phase, "name": name, "ts": self.at(ns), "pid": self.ring.process, "tid": thread} | more
        )

    def add_names(self) -> None:
        names = {record.thread: f"thread {record.thread}" for record in self.ring.records}
        for record in self.ring.records:
            if record.kind == ringfile.NAME:
                names[record.thread] = ringfile.words_as_text(record.words)
        self.add("M", "process_name", self.ring.started_ns, 0, args={"name": self.ring.program})
        for thread, name in sorted(names.items()):
            self.add("M", "thread_name", self.ring.started_ns, thread, args={"name": name})

    def add_epochs(self) -> None:
        by_thread: dict[int, list[_Life]] = {}
        for life in _lives(self.ring.records, self.first_ns):
            by_thread.setdefault(life.thread, []).append(life)
        for lives in by_thread.values():
            spans = [(life.opened, self.end_of(life)) for life in lives]
            for life, fits in zip(lives, _nests(spans), strict=True):
                self.add_epoch(life, fits)

    def end_of(self, life: _Life) -> int:
        ends = [ns for ns in (life.closed, life.ended) if ns is not None]
        return max(min(ends, default=self.last_ns), life.opened)

    def add_epoch(self, life: _Life, fits: bool) -> None:
        """A slice on its thread if it nests there, else on a track of its own; what drains then follows there."""
        name, end = life.label or "epoch", self.end_of(life)
        args = {"epoch": f"{life.value:#x}"}
        if life.is_cut:
            args["opened"] = "before the oldest record"
        if life.closed is None and life.ended is None:
            args["closed"] = "not yet"
        if fits:
            self.add("X", name, life.opened, life.thread, cat="epoch", dur=(end - life.opened) / 1000, args=args)
        else:
            self.add_span("epoch", name, life, life.opened, end, args)
        until = self.last_ns if life.ended is None else life.ended
        if life.closed is not None and (life.ended is None or until - life.closed >= DRAINS_NS):
            self.add_span("draining", f"{name} (draining)", life, life.closed, until, args)

    def add_span(self, category: str, name: str, life: _Life, begin: int, end: int, args: dict[str, Any]) -> None:
        for phase, ns in (("b", begin), ("e", end)):
            self.add(
                phase, name, ns, life.thread, cat=category, id=f"{life.value:#x}", args=args if phase == "b" else {}
            )

    def add_instants(self) -> None:
        for record in self.ring.records:
            took_ns, second, third, fourth, _ = record.words
            if record.kind == ringfile.PURGE:
                args: dict[str, Any] = {
                    "bytes": third,
                    "address": f"{second:#x}",
                    "microseconds": took_ns / 1000,
                    "granted": bool(fourth),
                }
                name = "purge" if took_ns < LONG_NS else "long purge"
                self.add("i", name, record.when_ns, record.thread, cat="purge", s="t", args=args)
            elif record.kind == ringfile.LIMIT:
                kind, used, wanted, epoch, _ = record.words
                args = {"used bytes": used, "wanted bytes": wanted} | ({"epoch": f"{epoch:#x}"} if epoch else {})
                name = ringfile.LIMITS.get(kind, f"limit {kind}")
                self.add("i", name, record.when_ns, record.thread, cat="limit", s="p", args=args)
            elif record.kind == ringfile.LONG:
                operation = ringfile.OPERATIONS.get(second, f"operation {second}")
                args = {"bytes": third, "microseconds": took_ns / 1000}
                self.add("i", f"long {operation}", record.when_ns, record.thread, cat="long", s="t", args=args)

    def add_counters(self) -> None:
        names = self.ring.names
        seen: set[str] = set()
        for record in self.ring.records:
            if record.kind == ringfile.NUMBERS:
                pairs = zip(names[record.part : record.part + ringfile.WORDS], record.words, strict=False)
                seen.update(name for name, value in pairs if value)
        for record in self.ring.records:
            if record.kind == ringfile.MEMORY:
                self.add("C", "RSS", record.when_ns, 0, args={"bytes": record.words[0]})
                self.add("C", "runs", record.when_ns, 0, args=dict(zip(DEPOT, record.words[1:4], strict=True)))
            elif record.kind == ringfile.NUMBERS:
                for name, value in zip(names[record.part : record.part + ringfile.WORDS], record.words, strict=False):
                    if name in seen:  # the others are 0 all the time
                        self.add("C", f"account {name}", record.when_ns, 0, args={"bytes": value})


def document(ring: ringfile.Ring) -> dict[str, Any]:
    page = Page(ring)
    page.add_names()
    page.add_epochs()
    page.add_instants()
    page.add_counters()
    about = {"program": ring.program, "process": ring.process, "started_unix_ns": ring.started_real_ns}
    about |= {
        "records": len(ring.records),
        "overwritten": max(0, ring.written - ring.dropped - len(ring.records) - ring.torn),
    }
    return {"traceEvents": page.events, "displayTimeUnit": "ms", "otherData": about}
