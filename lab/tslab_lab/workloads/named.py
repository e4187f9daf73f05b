"""From what a user names to what is run: workloads with parameters, the named cases, sets of either, and globs."""

import fnmatch
from collections.abc import Iterable, Iterator

from tslab_lab.base import processes
from tslab_lab.workloads import catalogue, held
from tslab_lab.workloads.catalogue import SETTLE, VALUE_MOST, WORKLOADS, Case, Values, Workload, case
from tslab_tools import cli

# The cases with a name of their own. A name that is a workload's, too, is that workload with its defaults.
NAMED = {found.name: found for found in held.CASES}


FLEETBENCH = 6  # files of distributions


def _unknown(name: str) -> processes.Failure:
    near = cli.nearest(name, [*WORKLOADS, *NAMED, *SETS]) or "."
    return processes.Failure(f"There is no workload '{name}'{near} The workloads are: {', '.join(WORKLOADS)}.")


def _value(workload: Workload, text: str) -> tuple[str, int]:
    """(parameter, number) of a text like threads=8."""
    key, equals, digits = text.partition("=")
    key = key.strip()
    known = ", ".join(f"{name}={default}" for name, default in workload.parameters.items())
    if key not in workload.parameters:
        raise processes.Failure(f"{workload.name} has no parameter '{key}'. It has: {known}.")
    digits = digits.strip().replace("_", "")
    if not equals or not (digits.isascii() and digits.isdigit()) or int(digits) > VALUE_MOST:
        example = f"{key}={workload.parameters[key]}"
        raise processes.Failure(f"{workload.name} wants a whole number for {key}, as in {example}.")
    return key, int(digits)


def parse(text: str) -> Case:
    """The case that a text like mixed-remote:threads=8,remote=50 names."""
    name, colon, rest = text.strip().partition(":")
    if not colon and name in NAMED:
        return NAMED[name]
    if name not in WORKLOADS:
        if name in NAMED:
            its_own = NAMED[name].workload.name
            raise processes.Failure(f"{name} is a case with parameters of its own. Name its workload: {its_own}:{rest}")
        raise _unknown(name)
    workload = WORKLOADS[name]
    given: Values = {}
    for part in rest.split(",") if colon else ():
        key, value = _value(workload, part)
        if key in given:
            raise processes.Failure(f"{name}: {key} is given twice.")
        given[key] = value
    return case(workload, given)


def select(texts: Iterable[str]) -> list[Case]:
    """The cases that a user's words name: sets, globs among all names, workloads with or without parameters. Each once,
    in the order given."""
    found: dict[str, Case] = {}
    for text in texts:
        for one in _selected(text.strip()):
            found.setdefault(one.name, one)
    return list(found.values())


def _named_like(text: str) -> list[str]:
    return [name for name in dict.fromkeys([*WORKLOADS, *NAMED]) if fnmatch.fnmatchcase(name, text)]


def is_workload(text: str) -> bool:
    """Whether it names one, with or without parameters."""
    name = text.partition(":")[0]
    return name in WORKLOADS or name in NAMED


def has(text: str) -> bool:
    """Whether a glob names any."""
    return bool(_named_like(text))


def _selected(text: str) -> list[Case]:
    if text in SETS:
        return SETS[text]
    if ":" in text or not set(text) & set("*?["):
        return [parse(text)]
    names = _named_like(text)
    if not names:
        raise processes.Failure(f"No workload has a name like '{text}'. The workloads are: {', '.join(WORKLOADS)}.")
    return [parse(name) for name in names]


def listing() -> Iterator[tuple[str, str]]:
    """(name, what it does and with which parameters) of every workload; the one that all have is left out."""
    for workload in WORKLOADS.values():
        parameters = ", ".join(f"{name}={value}" for name, value in workload.parameters.items() if name != SETTLE)
        yield workload.name, f"{workload.title} ({parameters})"


def sets() -> Iterator[tuple[str, str]]:
    """(name, what is in it) of every set."""
    for name, chosen in SETS.items():
        yield name, ", ".join(one.name for one in chosen)


SETS: dict[str, list[Case]] = {
    **{name: [parse(member) for member in members] for name, members in catalogue.SETS.items()},
    "boundaries": [found for found in held.CASES if found.group in held.STEPPING],
    "patterns": list(held.CASES),
    "fleetbench": [parse(f"fleet:profile={number}") for number in range(FLEETBENCH)],
}
