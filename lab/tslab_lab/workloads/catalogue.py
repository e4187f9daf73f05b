"""What can be run: the workloads of catalogue.toml, which says what each entry means, read and checked."""

import tomllib
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from tslab_lab.base import processes

SOURCES = Path(__file__).with_name("c")
FILE = Path(__file__).with_name("catalogue.toml")
SETTLE = "settle_ms"  # every program takes it last: how long to wait before it looks at what RSS remains
VALUE_MOST = 2**32 - 2  # what a program takes
_TINY = 20_000

Values = dict[str, int]  # of parameters, by name, in the order of the command line


@dataclass(frozen=True)
class Workload:
    """`tiny`: the least work that shows anything."""

    name: str
    group: str
    title: str
    program: str
    parameters: Values = field(hash=False)
    quick: Values = field(hash=False)
    tiny: int = _TINY
    needs: str = ""  # "epochs": who has none takes no part


@dataclass(frozen=True)
class Case:
    """A workload with a value for each parameter. What comes after the group is for the cases that tslab is held to:
    see held.py."""

    name: str
    workload: Workload
    values: Values = field(hash=False)
    quick: Values = field(hash=False)
    group: str
    limit: float | None = None  # of the time per operation, in those of the best peer
    live_limit: float | None = None  # of the peak RSS beyond the bare process, in what is live
    largest: int = 0  # the size that steps over internal limits
    held: bool = False  # to the limits of peak RSS

    @property
    def program(self) -> str:
        return self.workload.program

    @property
    def title(self) -> str:
        return self.workload.title

    def parameters(self, quick: bool) -> Values:
        """What a run is given."""
        return self.values | self.quick if quick else self.values

    def argv(self, directory: Path, quick: bool) -> list[str]:
        return [str(directory / self.program), *map(str, self.parameters(quick).values())]


def case(workload: Workload, given: Values, name: str | None = None, **more: Any) -> Case:
    """`given`: the parameters that are not to be the default. What was asked for outright is not made quick."""
    values = workload.parameters | given
    differing = [f"{key}={value}" for key, value in values.items() if value != workload.parameters[key]]
    quick = {key: value for key, value in workload.quick.items() if key not in given}
    canonical = workload.name + (":" + ",".join(differing) if differing else "")
    settings: dict[str, Any] = {"name": name or canonical, "group": workload.group, "quick": quick} | more
    return Case(workload=workload, values=values, **settings)


class _Entry:
    """A table of the file, and what is wrong with it."""

    def __init__(self, where: object, found: object) -> None:
        self._where = where
        if not isinstance(found, dict):
            self.wrong("it is no table")
        self._left: dict[str, Any] = found

    def wrong(self, what: str) -> NoReturn:
        raise processes.Failure(f"{self._where}: {what}.")

    def take(self, key: str, fits: Callable[[Any], object], wanted: str, default: Any = None) -> Any:
        """The value of a key, which is then done with. `fits`: whether a value is `wanted`, in words."""
        value = self._left.pop(key, default)
        if value is None:
            self.wrong(f"{key} is missing: it must be {wanted}")
        if not fits(value):
            self.wrong(f"{key} must be {wanted}, and is {value!r}")
        return value

    def end(self) -> None:
        if self._left:
            self.wrong(f"nobody knows what {', '.join(self._left)} means")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_amount(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= VALUE_MOST


def _are_amounts(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_amount, value.values()))


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, list) and value != [] and all(map(_is_text, value))


def _workload(name: str, entry: _Entry, groups: Collection[str]) -> Workload:
    text, amounts = "a text", f"whole numbers by name, each from 0 to {VALUE_MOST:,}"
    group = entry.take("group", lambda value: value in groups, f"one of {', '.join(groups)}")
    title = entry.take("title", _is_text, text)
    program = entry.take("program", _is_text, text, default=name)
    if not (SOURCES / f"{program}.c").is_file():
        entry.wrong(f"there is no {SOURCES / program}.c")
    parameters = entry.take("parameters", lambda value: _are_amounts(value) and value, amounts)
    if SETTLE in parameters:
        entry.wrong(f"{SETTLE} is a parameter of every workload, and not to be named")
    quick = entry.take("quick", _are_amounts, amounts, default={})
    unknown = [key for key in quick if key not in parameters]
    if unknown:
        entry.wrong(f"quick has {', '.join(unknown)}, which is none of the parameters {', '.join(parameters)}")
    tiny = entry.take("tiny", lambda value: _is_amount(value) and value > 0, "a number from 1 on", default=_TINY)
    needs = entry.take("needs", lambda value: value in ("", "epochs"), "epochs", default="")
    entry.end()
    return Workload(name, group, title, program, parameters | {SETTLE: 0}, quick, tiny, needs)


def read(file: Path) -> tuple[dict[str, str], dict[str, Workload], dict[str, list[str]]]:
    """(groups, workloads, sets) of a catalogue, each a dict by name. What is wrong with it is said with its place."""
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise processes.Failure(f"{file} is no TOML: {error}.") from None
    whole = _Entry(file, document)
    tables = {
        key: whole.take(key, lambda value: isinstance(value, dict), "a table")
        for key in ("groups", "workloads", "sets")
    }
    whole.end()
    for name, text in tables["groups"].items():
        if not _is_text(text):
            raise processes.Failure(f"{file}: group {name} must be a text, and is {text!r}.")
    workloads = {
        name: _workload(name, _Entry(f"{file}: workload {name}", found), tables["groups"])
        for name, found in tables["workloads"].items()
    }
    for name, members in tables["sets"].items():
        if not _is_list_of_texts(members) or any(member not in workloads for member in members):
            raise processes.Failure(f"{file}: set {name} must be a list of workloads, and is {members!r}.")
    return tables["groups"], workloads, tables["sets"]


GROUPS, WORKLOADS, SETS = read(FILE)
