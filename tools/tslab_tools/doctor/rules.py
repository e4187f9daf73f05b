"""What `tslab doctor` knows, a row of RULES each: a condition in figures, a sentence, and a cure where one is known to
help: for each, a program of the tests has the illness, and has it no more after the cure."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from tslab_tools.doctor import mappings
from tslab_tools.doctor.evidence import Evidence, Sites, number
from tslab_tools.profiles import figures
from tslab_tools.terminal import counted, plain_text, size

MUCH = 0.1  # of the RSS: less is not worth a sentence
NEAR = 0.9  # of a limit
GROWTH_LEAST = 64 << 10  # bytes between two looks; and a 200th of what lives
ROWS_MOST = 5
CACHES_LEAST, OTHERS_LEAST = 4 << 20, 8 << 20
Row = tuple[float, str]  # bytes, and of what


def percent(part: float) -> str:
    return f"{100 * part:.0f} %" if part >= 0.0995 else f"{100 * part:.1f} %"


def span(seconds: float) -> str:
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.1f} s"


def _sites(sites: Sites) -> list[Row]:
    most = [(site, found) for site, found in sites[:ROWS_MOST] if found.bytes >= sites[0][1].bytes / 100]
    return [(found.bytes, f"{site} (too few samples)" if found.is_rough else site) for site, found in most]


def _to_set(of: Evidence, option: str) -> str:
    """How to set an option, where the process still runs."""
    name, _, value = option.partition("=")
    return f"tslab ctl {of.pid} {option}" if of.mappings is not None else f"TSLAB_{name.upper()}={value}"


def _objects(slot: int) -> str:
    return f"objects of up to {slot:,} bytes"


class Rule:
    """`bytes` is how much of the RSS it explains."""

    name: str
    is_ill = True  # else it is as it should be
    term = ""  # of the sum that is the RSS
    has_sites = False  # a heap profile would tell the sites
    is_urgent = False  # told first

    def bytes(self, of: Evidence) -> int:
        return 0

    def holds(self, of: Evidence) -> bool:
        return of.part(self.bytes(of)) >= MUCH

    def says(self, of: Evidence) -> str:
        raise NotImplementedError

    def cure(self, of: Evidence) -> str:
        """ "": none is known to help, or it has been taken."""
        return ""

    def rows(self, of: Evidence) -> list[Row]:
        return []

    def much(self, of: Evidence) -> str:
        return f"{size(self.bytes(of))} ({percent(of.part(self.bytes(of)))} of the RSS)"


class Limit(Rule):
    """What the library counts against the limit: all runs that may have pages."""

    name, is_urgent = "limit", True

    def _used(self, of: Evidence) -> int:
        return sum(of.figures[name] for name in ("slab_bytes", "chunk_bytes", "large_bytes", "dirty_bytes"))

    def holds(self, of: Evidence) -> bool:
        limit = of.figures["hard_limit_bytes"]
        return bool(limit and (self._used(of) >= NEAR * limit or of.lately("limit_refusals")))

    def says(self, of: Evidence) -> str:
        used, limit, refused = self._used(of), of.figures["hard_limit_bytes"], of.figures["limit_refusals"]
        also = f"; it refused {counted(refused, 'allocation')}" if refused else ""
        return f"{size(used)} of {size(limit)} are used, which limit_bytes allows{also}."

    def cure(self, of: Evidence) -> str:
        return f"Raise it ({_to_set(of, 'limit_bytes=N')}), or hold less."


def _refused_by_epochs(of: Evidence) -> dict[str, int]:
    """By label: what limits refused in its epochs, but for what its own limit did. An earlier library does not tell."""
    by_label = {row["label"]: row["refusals"] for row in of.label_limits}
    return {row["label"]: row.get("refused", 0) - by_label.get(row["label"], 0) for row in of.labels}


class LabelLimit(Rule):
    name, is_urgent = "label-limit", True

    def _refusing(self, of: Evidence) -> list[dict[str, Any]]:
        """Labels at their limits, or with epochs at theirs; or that were, where there are no two looks."""
        old = {row["label"]: row["refusals"] for row in of.before.label_limits} if of.before else {}
        at_limit = [
            row
            for row in of.label_limits
            if row["refusals"] > old.get(row["label"], 0)
            or (row["refusals"] and row["used_bytes"] >= NEAR * row["limit_bytes"] > 0)
        ]
        old, now = _refused_by_epochs(of.before) if of.before else {}, _refused_by_epochs(of)
        return at_limit + [
            {"label": row["label"], "used_bytes": row["memory_bytes"], "refusals": now[row["label"]]}
            for row in of.labels
            if now[row["label"]] > old.get(row["label"], 0)
        ]

    def holds(self, of: Evidence) -> bool:
        return bool(self._refusing(of))

    def says(self, of: Evidence) -> str:
        rows = self._refusing(of)
        return f"Limits refused {counted(sum(row['refusals'] for row in rows), 'allocation')} in epochs."

    def rows(self, of: Evidence) -> list[Row]:
        def of_limit(one: dict[str, Any]) -> str:
            return f", of {size(one['limit_bytes'])}" if "limit_bytes" in one else ", by limits of its epochs"

        rows = self._refusing(of)[:ROWS_MOST]
        texts = (f"label {_label(one)}{of_limit(one)}: {counted(one['refusals'], 'refusal')}" for one in rows)
        return [(row["used_bytes"], text) for row, text in zip(rows, texts)]

    def cure(self, of: Evidence) -> str:
        limits = ":".join(f"{one['label']}=N" for one in of.label_limits if one["limit_bytes"])
        if not limits:
            return "Raise what the program opens them with, or close its epochs earlier."
        return f"Raise it ({_to_set(of, f'epoch_limits={limits}')}), or close its epochs earlier."


class Near(Rule):
    """A report that was written because a limit was near, which no rule above tells of."""

    name, is_urgent = "near", True

    def holds(self, of: Evidence) -> bool:
        return of.near is not None and of.near["of"] != "process" and not LabelLimit().holds(of)

    def says(self, of: Evidence) -> str:
        assert of.near
        whose = f"the label {plain_text(of.near['label'])}" if of.near["label"] else f"its {plain_text(of.near['of'])}"
        return f"{size(of.near['used_bytes'])} of {size(of.near['limit_bytes'])} were used, the limit of {whose}."


class Pressure(Rule):
    name, is_urgent = "pressure", True

    def holds(self, of: Evidence) -> bool:
        soft, container = of.figures["soft_pressure"], of.figures["container_pressure"]
        return bool(soft or (container and not Near().holds(of)))

    def says(self, of: Evidence) -> str:
        soft = of.figures["soft_pressure"]
        limit = f"its soft limit ({size(of.figures['soft_limit_bytes'])})" if soft else "the limit of its container"
        return f"It is close to {limit}: the library keeps nothing for reuse, and its caches are small."

    def cure(self, of: Evidence) -> str:
        if of.figures["soft_pressure"]:
            return f"Raise it ({_to_set(of, 'soft_limit_bytes=N')}), or hold less. The rest of this says what it holds."
        return "Raise the limit, or hold less. The rest of this says what it holds."


class Pins(Rule):
    name, term, has_sites = "pins", "waste", True

    def bytes(self, of: Evidence) -> int:
        return of.has("partial_slabs", "attached_slabs", "slab_tails")

    def says(self, of: Evidence) -> str:
        text = f"{self.much(of)} is free memory on pages that "
        sites = self._sites(of)
        if of.profile and sites:
            few, pinning = figures.few_of(sites), of.profile.pinning()
            text += f"{percent(pinning)} of the objects keep" if pinning < 0.5 else "objects keep"
            part = percent(sum(found.bytes for found in few) / sum(found.bytes for _, found in sites))
            return f"{text}: {counted(len(few), 'site')} {'keeps' if len(few) == 1 else 'keep'} {part} of it."
        classes = [row for row in of.classes if row["slab_bytes"]]
        if not classes:
            return f"{text}few objects keep."
        worst = max(classes, key=lambda row: row["slab_bytes"] - row["live"] * row["size"] - row["cached_bytes"])
        used = percent(worst["live"] * worst["size"] / worst["slab_bytes"])
        text += f"few objects keep, most of it in slabs for {worst['size']:,} bytes: objects use {used} of these"
        lone = worst.get("pages_kept_1")
        return f"{text}, and of {worst['pages']:,} pages {lone:,} have one object each." if lone else f"{text}."

    def rows(self, of: Evidence) -> list[Row]:
        return _sites(self._sites(of))

    def _sites(self, of: Evidence) -> Sites:
        """None where samples tell less than half of it."""
        sites = of.profile.wasted() if of.profile else []
        unknown = sum(found.bytes for site, found in sites if site == figures.UNSAMPLED)
        return sites if unknown <= sum(found.bytes for _, found in sites) / 2 else []

    def cure(self, of: Evidence) -> str:
        sites = [(site, found) for site, found in self._sites(of) if site != figures.UNSAMPLED]
        if not sites:
            return "An epoch for what dies together (docs/guide.md)."
        assert of.profile
        site, found = sites[0]
        others = 1 - of.profile.part_of_dead(site)
        if others >= 0.5:
            returned = size(min(found.bytes, self.bytes(of)) * others)
            return f"An epoch of its own for what {site} allocates would return about {returned}."
        return (
            "What died came from there, too, so an epoch for all of it would change nothing. An epoch for what lives "
            "long would return it (docs/guide.md)."
        )


class Grows(Rule):
    name, term, has_sites = "grows", "live", True

    def bytes(self, of: Evidence) -> int:
        return of.has("live_slots", "live_chunks", "live_large")

    def holds(self, of: Evidence) -> bool:
        return of.seconds > 0 and of.grown("live") >= max(GROWTH_LEAST, of.figures["live"] / 200)

    def says(self, of: Evidence) -> str:
        text = f"{self.much(of)} is live: the program holds it, and it grew by {size(of.grown('live'))}"
        if of.seconds < 1:
            text += f" in {of.seconds * 1000:.0f} ms"
        else:
            text += f" in {of.seconds:.1f} s, {size(of.grown('live') / of.seconds * 60)} a minute"
        return f"{text}. If this is no cache that fills, it is a leak."

    def rows(self, of: Evidence) -> list[Row]:
        assert of.before
        if of.profile and of.before.profile:
            return _sites(of.profile.grown(of.before.profile))
        old = {row["size"]: row["live"] for row in of.before.classes}
        more = [((row["live"] - old.get(row["size"], 0)) * row["size"], _objects(row["size"])) for row in of.classes]
        more.append((of.has("live_large") - of.before.has("live_large"), "large objects"))
        of_labels = {row["label"]: row["live_bytes"] for row in of.before.labels}
        more += [
            (row["live_bytes"] - of_labels.get(row["label"], 0), f"epochs of the label {_label(row)}, of all sizes")
            for row in of.labels
            if row["label"]
        ]
        return [(float(held), what) for held, what in sorted(more, reverse=True)[:ROWS_MOST] if held > 0]


class Live(Grows):
    name, is_ill = "live", False

    def holds(self, of: Evidence) -> bool:
        return Rule.holds(self, of) and not super().holds(of)

    def says(self, of: Evidence) -> str:
        text = f"{self.much(of)} is live: the program holds it"
        if of.seconds:
            grown = of.grown("live")
            text += f", {f'only {size(grown)} more' if grown > 0 else 'no more'} than it did {of.seconds:.1f} s before"
        return f"{text}. No malloc makes it less."

    def rows(self, of: Evidence) -> list[Row]:
        if of.profile and of.profile.live():
            return _sites(of.profile.live())
        most = sorted(((float(row["live"] * row["size"]), row["size"]) for row in of.classes), reverse=True)
        rows = [(held, _objects(slot)) for held, slot in most if of.part(held) >= MUCH]
        large = of.has("live_large")
        return sorted([*rows, *([(float(large), "large objects")] if large else [])], reverse=True)[:ROWS_MOST]


class Retained(Rule):
    """What was freed lately, and waits for reuse. The rule below is about what waits for ever."""

    name, term, is_ill = "retained", "retained", False

    def bytes(self, of: Evidence) -> int:
        return 0 if of.figures["purge_refusals"] else of.has("dirty_runs")

    def _delay(self, of: Evidence) -> float:
        return number(of.option("purge_delay_ms", "500")) / 1000

    def holds(self, of: Evidence) -> bool:
        return super().holds(of) and (of.option("purge", "") == "never") == isinstance(self, Never)

    def says(self, of: Evidence) -> str:
        delay = self._delay(of)
        text = f"{self.much(of)} is empty memory that waits for reuse, on purpose: it returns {span(delay)} after"
        return f"{text} its last use ({'' if of.options else 'by default of '}purge_delay_ms)."

    def cure(self, of: Evidence) -> str:
        return f"Wait, or {_to_set(of, 'purge=eager')}, or a shorter purge_delay_ms."


class Never(Retained):
    name, is_ill = "never-returns", True

    def says(self, of: Evidence) -> str:
        return f"{self.much(of)} is empty memory, which stays because the option purge is never."

    def cure(self, of: Evidence) -> str:
        return f"{_to_set(of, 'purge=adaptive')} (the default), or tslab_trim in the program."


class Refused(Rule):
    name, term = "refused", "retained"

    def bytes(self, of: Evidence) -> int:
        return of.has("dirty_runs") if of.figures["purge_refusals"] else 0

    def _locked(self, of: Evidence) -> int:
        return sum(mapping.locked for mapping in of.mapped(ours=True))

    def says(self, of: Evidence) -> str:
        times, locked = counted(of.figures["purge_refusals"], "time"), self._locked(of)
        text = f"{self.much(of)} is empty memory that the system did not take back: it refused {times}"
        return f"{text}; {size(locked)} of the library's memory are locked." if locked else f"{text}."

    def cure(self, of: Evidence) -> str:
        if self._locked(of):
            return "Do not lock memory that malloc gave (mlock, mlockall), or accept it."
        return "Do not lock memory (mlock), and let the sandbox allow madvise."


class Caches(Rule):
    name, term = "caches", "caches"

    def _accounts(self, of: Evidence) -> Counter[str]:
        names = ("magazines", "outboxes", "exchange", "claimed", "warm_chunks", "hot_runs")
        return Counter({name: of.has(name) for name in names if of.has(name)})

    def holds(self, of: Evidence) -> bool:
        return super().holds(of) and self.bytes(of) >= CACHES_LEAST

    def bytes(self, of: Evidence) -> int:
        return self._accounts(of).total()

    def says(self, of: Evidence) -> str:
        text = f"{self.much(of)} is free memory in the caches of {counted(of.figures['threads'], 'thread')}"
        idle = of.idle_threads
        return f"{text}, of which {idle:,} did not run in {of.seconds:.1f} s." if idle and of.seconds else f"{text}."

    def rows(self, of: Evidence) -> list[Row]:
        return [(float(held), name) for name, held in self._accounts(of).most_common(ROWS_MOST)]

    def cure(self, of: Evidence) -> str:
        fewer = "Fewer threads" if of.figures["threads"] > 1 else ""
        if number(of.option("cache_bytes", "0")):
            return fewer and f"{fewer}: cache_bytes is set, and threads that sleep take no notice of it."
        option = "TSLAB_CACHE_BYTES=N at its start: threads that sleep take no notice of it later."
        return f"{fewer}, or {option}" if fewer else option


def _label(row: dict[str, Any]) -> str:
    return "(others)" if row.get("labels", 1) > 1 else plain_text(row["label"]) or "(none)"


class Draining(Rule):
    """Free memory of chunks, with the side table of their objects."""

    name, term, has_sites = "draining", "waste", True
    state = "draining"

    def bytes(self, of: Evidence) -> int:
        return of.has("dead_in_chunks", "unfilled_chunks", "code_table")

    def _labels(self, of: Evidence) -> list[dict[str, Any]]:
        return sorted((row for row in of.labels if row[self.state]), key=lambda row: -row["memory_bytes"])

    def holds(self, of: Evidence) -> bool:
        """The state that more memory is in."""
        whole = dict.fromkeys(("draining", "open"), 0)
        for row in of.labels:
            whole["draining" if row["draining"] else "open"] += row["memory_bytes"]
        return super().holds(of) and bool(self._labels(of)) and max(whole, key=lambda state: whole[state]) == self.state

    def says(self, of: Evidence) -> str:
        first = self._labels(of)[0]
        text = f"{self.much(of)} is free memory of closed epochs that do not drain: some objects keep each of them."
        return f"{text} Of the label {_label(first)} there are {first['draining']:,}."

    def rows(self, of: Evidence) -> list[Row]:
        labels = self._labels(of)
        survivors = of.profile.survivors(labels[0]["label"]) if of.profile else []
        return _sites(survivors) or [
            (row["live_bytes"], f"live in {counted(row[self.state], 'epoch')} of the label {_label(row)}, the oldest "
             f"is {span(row['oldest_ms'] / 1000)} old") for row in labels[:ROWS_MOST]
        ]  # fmt: skip

    def cure(self, of: Evidence) -> str:
        return "Allocate what survives outside of the epoch (tslab_work_pause, docs/guide.md), or free it."


class Open(Draining):
    name, has_sites, state = "open-epochs", False, "open"

    def says(self, of: Evidence) -> str:
        first = self._labels(of)[0]
        text = f"{self.much(of)} is free memory of open epochs: a chunk serves again when all of it is free."
        return f"{text} Of the label {_label(first)} there are {first['open']:,}."

    def cure(self, of: Evidence) -> str:
        return "Close epochs when their work ends (tslab_epoch_close), or advance them (tslab_epoch_advance)."


class HugePages(Rule):
    name = "huge-pages"

    def bytes(self, of: Evidence) -> int:
        return max(0, min(of.since, sum(one.huge for one in of.mapped(ours=True))))

    def says(self, of: Evidence) -> str:
        huge = sum(one.huge for one in of.mapped(ours=True))
        text = f"{self.much(of)} came with huge pages, and nobody uses it: {size(huge)} of the library's memory are in"
        return f"{text} huge pages, of which the program touched parts."

    def cure(self, of: Evidence) -> str:
        return (
            "TSLAB_HUGE_PAGES=adaptive (the default)." if of.is_set("huge_pages=always") else "TSLAB_HUGE_PAGES=never."
        )


class Others(Rule):
    name, term = "others", "not malloc's"

    def holds(self, of: Evidence) -> bool:
        """Each program has its files, which other processes share or the system can read again."""
        own = self._own(of)
        return own >= OTHERS_LEAST and of.part(own) >= MUCH

    def _own(self, of: Evidence) -> int:
        if of.mappings is None:
            return self.bytes(of)
        return sum(one.rss for one in of.mapped(ours=False) if not one.is_file or one.locked)

    def bytes(self, of: Evidence) -> int:
        return sum(one.rss for one in of.mapped(ours=False)) if of.mappings is not None else max(0, of.rss - of.ours)

    def says(self, of: Evidence) -> str:
        text = f"{self.much(of)} is not malloc's: it is in mappings of the program, its libraries and its threads"
        grown = self.bytes(of) - self.bytes(of.before) if of.before else 0
        if of.before and grown >= max(GROWTH_LEAST, self.bytes(of) / 200):
            text += f", and it grew by {size(grown)} in {span(of.looked - of.before.looked)}"
        if of.mappings is None:
            text += ". /proc/PID/smaps lists them while the process runs"
        return f"{text}."

    def rows(self, of: Evidence) -> list[Row]:
        uses = mappings.by_use(of.mapped(ours=False), of.pool)
        return [(float(held), name) for name, held in uses.most_common(ROWS_MOST)]

    def cure(self, of: Evidence) -> str:
        rows = self.rows(of)
        if rows and rows[0][1].endswith(mappings.PYTHON):
            return "PYTHONMALLOC=malloc at its start: then malloc has what Python's own allocator has."
        return ""


RULES: tuple[Rule, ...] = (
    *(Limit(), LabelLimit(), Near(), Pressure()),
    *(Pins(), Grows(), Live(), Retained(), Never(), Refused(), Caches(), Draining(), Open()),
    *(HugePages(), Others()),
)


@dataclass(frozen=True)
class Finding:
    name: str
    bytes: int
    says: str
    cure: str
    rows: list[Row]
    rule: Rule


def is_well(found: list[Finding]) -> bool:
    return not any(finding.rule.is_ill for finding in found)


def diagnose(of: Evidence) -> list[Finding]:
    """What is so, the most urgent first, then by bytes."""
    found = sorted((rule for rule in RULES if rule.holds(of)), key=lambda rule: (not rule.is_urgent, -rule.bytes(of)))
    return [Finding(rule.name, rule.bytes(of), rule.says(of), rule.cure(of), rule.rows(of), rule) for rule in found]


def unexplained(of: Evidence) -> int:
    """What of the RSS no figure tells. It may be a little below 0: looks take time."""
    return of.rss - (of.ours - of.untouched) - Others().bytes(of) - HugePages().bytes(of)
