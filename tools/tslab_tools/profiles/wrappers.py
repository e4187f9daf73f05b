"""The place of a stack: the innermost function that does not allocate for others.

A function that does is known by its home (the runtime of C and C++, the standard libraries of C++ and Rust), by its
name, or by the profile itself: it has many callers, they have it allocate different sizes, and it calls nothing else
that allocates."""

import functools
import math
import re
from collections import Counter, defaultdict

from tslab_tools.profiles.symbols import Place, Symbols, describe

_RUNTIME = re.compile(r"(lib(c|m|stdc\+\+|c\+\+|c\+\+abi|gcc_s|pthread)[-.]so|ld[-.]|libc\.musl-).*")
_STANDARD = re.compile(
    r"(std|__gnu_cxx|__cxxabiv1|alloc|core|hashbrown)::|_ZN?K?(St|S[abs]|9__gnu_cxx)"
    r"|<([&*\[(]|mut |const |dyn )*(std|alloc|core|hashbrown)::"  # Rust's: methods of their types, and theirs of others
    r"|<(str|char|bool|[iuf]\d+|[iu]size|\[.*\])>::|<([A-Z]|str|\[.*\]|[iuf]\d+) as (std|alloc|core)::"
    r"|__rustc?(_|::)|__rdl_"
)
_WORDS = re.compile(r"(?i:alloc)(?!a(?![a-z]))|(?i:memalign|(str|mem|wcs)n?_?dup|operator new)")  # alloca is none
_OPERATORS = re.compile(r"operator(\(\)|<=>|<<=?|>>=?|->\*?|[<>]=?)")
_BRACKETS = re.compile("([<>])")
LEARNED_MOST = 100  # functions that a profile shows to be wrappers
CALLERS, CALLERS_OF_MANY, MANY, SIZES = 5, 3, 16, 3
SHARE, MOST = 0.9, 0.8


def _without_templates(name: str) -> str:
    """Without what stands in pairs of <>, in one pass."""
    kept: list[str] = []
    open_at: list[int] = []
    for part in _BRACKETS.split(name):
        if part == ">" and open_at:
            del kept[open_at.pop() :]
        else:
            if part == "<":
                open_at.append(len(kept))
            kept.append(part)
    return "".join(kept)


def plain(name: str) -> str:
    """A function's name without its result, its arguments and those of its template."""
    name = _OPERATORS.sub("operator", name.replace("(anonymous namespace)", "{anonymous}"))
    name = _without_templates(name).partition("(")[0].strip()
    return name if "operator " in name else name.rpartition(" ")[2]


def _is_runtime(place: Place) -> bool:
    return place.function == "_start" or bool(_RUNTIME.match(place.module.rpartition("/")[2]))


@functools.cache
def _is_library(place: Place) -> bool:
    """By its home."""
    name = place.function
    return _is_runtime(place) or bool(_STANDARD.match(name if name.startswith("<") else plain(name)))


@functools.cache
def _has_word(function: str) -> bool:
    """By its name."""
    return bool(_WORDS.search(plain(function)))


class Wrappers:
    """Those of one written profile. `skip`: names of more of them; the empty one: there are none."""

    def __init__(self, names: Symbols, skip: str | None = None) -> None:
        self.names = names
        self.skip = re.compile(skip) if skip else None
        self.learned: dict[tuple[str, str], int] = {}  # function and module; how many callers it has
        self.none = skip == ""
        self.at = {number: self._from(self.names.trace(number), 0) for number in names.written.stacks}
        if not self.none:
            self._learn()

    def _is_wrapper(self, place: Place) -> bool:
        return (
            _is_library(place)
            or _has_word(place.function)
            or place.key in self.learned
            or (self.skip is not None and bool(self.skip.search(place.function)))
        )

    def _from(self, trace: list[Place], at: int) -> int:
        """The index of the innermost place, from `at`, that is no wrapper."""
        while not self.none and at < len(trace):
            inside = at + 1 < len(trace) and trace[at].is_nameless and _has_word(trace[at + 1].function)
            if not inside and not self._is_wrapper(trace[at]):
                break
            at += 1
        return at

    def _learn(self) -> None:
        anywhere: Counter[tuple[str, str]] = Counter()
        for number in self.at:
            anywhere.update({place.key for place in self.names.trace(number)})
        innermost: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
        for number, at in self.at.items():
            for place in self.names.trace(number)[at : at + 1]:
                innermost[place.key].add(number)
        while len(self.learned) < LEARNED_MOST:
            callers = {
                found: self._callers(numbers)
                for found, numbers in innermost.items()
                if len(numbers) > SHARE * anywhere[found]
            }
            likely = [
                found
                for found, sizes in callers.items()
                if self._serves_many(sizes, len(innermost[found])) or self._is_below_most(found, len(innermost[found]))
            ]
            if not likely:
                return
            found = max(likely, key=lambda each: len(callers[each]))
            self.learned[found] = len(callers[found])
            for number in innermost.pop(found):
                trace = self.names.trace(number)
                self.at[number] = self._from(trace, self.at[number])
                for place in trace[self.at[number] : self.at[number] + 1]:
                    innermost[place.key].add(number)

    def _callers(self, numbers: set[int]) -> dict[tuple[str, str], int]:
        """The callers of what allocates in these stacks, each with the logarithm of its mean size."""
        sums: defaultdict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
        for number in numbers:
            stack, caller = self.names.written.stacks[number], self.names.trace(number)[self.at[number] + 1 :]
            if caller and stack.objects and stack.bytes:
                sums[caller[0].key][0] += stack.objects
                sums[caller[0].key][1] += stack.bytes
        return {caller: round(4 * math.log2(size / objects)) for caller, (objects, size) in sums.items()}

    @staticmethod
    def _serves_many(callers: dict[tuple[str, str], int], stacks: int) -> bool:
        least = CALLERS_OF_MANY if stacks >= MANY else CALLERS
        return len(callers) >= least and len(set(callers.values())) >= max(SIZES, len(callers) / 2)

    def _is_below_most(self, found: tuple[str, str], stacks: int) -> bool:
        """A function without a name that nearly all stacks end in, as malloc itself in a stripped program that has it
        linked in."""
        return len(self.at) >= CALLERS and stacks > MOST * len(self.at) and Place(found[0], "", 0, found[1]).is_nameless

    def site(self, number: int, depth: int = 1) -> str:
        """The place of a stack as text, with its callers: `depth` places. A place without a name is followed by its
        nearest caller with one."""
        trace, at = self.names.trace(number), self.at.get(number, 0)
        chain = trace[at:] or trace
        shown = chain[:depth]
        if depth == 1 and shown and shown[0].is_nameless:
            shown = shown + [place for place in chain if not (place.is_nameless or _is_runtime(place))][:1]
        return " < ".join(map(describe, shown)) or describe(None)

    def dropped(self) -> set[str]:
        """The functions that are below places, and nowhere else."""
        traces = [(self.names.trace(number), at) for number, at in self.at.items()]
        below = {place.function for trace, at in traces if at < len(trace) for place in trace[:at]}
        return below - {place.function for trace, at in traces if at < len(trace) for place in trace[at:]}

    def skipped(self) -> list[str]:
        """The functions that were skipped, those of most stacks first, without those that are known by their homes."""
        stacks: Counter[str] = Counter()
        for number, at in self.at.items():
            trace = self.names.trace(number)
            if at < len(trace):
                stacks.update({plain(place.function) for place in trace[:at] if not _is_library(place)})
        return [name for name, _ in stacks.most_common()]
