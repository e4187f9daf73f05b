"""What can be run: the workloads of catalogue.toml, which says what each entry means."""

import tomllib
from dataclasses import dataclass, field
from pathlib import Path

SOURCES = Path(__file__).with_name("c")
FILE = Path(__file__).with_name("catalogue.toml")
SETTLE = "settle_ms"  # every program takes it last: how long to wait before it looks at what RSS remains
VALUE_MOST = 2**32 - 2  # what a program takes

Values = dict[str, int]  # of parameters, by name, in the order of the command line


@dataclass(frozen=True)
class Workload:
    name: str
    group: str
    title: str
    program: str
    parameters: Values = field(hash=False)
    quick: Values = field(hash=False)


@dataclass(frozen=True)
class Case:
    """A workload with a value for each parameter."""

    name: str
    workload: Workload
    values: Values = field(hash=False)
    quick: Values = field(hash=False)
    group: str

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


def case(
    workload: Workload, given: Values, name: str | None = None, group: str = "", quick: Values | None = None
) -> Case:
    """`given`: the parameters that are not to be the default. What was asked for outright is not made quick."""
    values = workload.parameters | given
    differing = [f"{key}={value}" for key, value in values.items() if value != workload.parameters[key]]
    quick = {key: value for key, value in workload.quick.items() if key not in given} if quick is None else quick
    canonical = workload.name + (":" + ",".join(differing) if differing else "")
    return Case(name or canonical, workload, values, quick, group or workload.group)


def _workload(
    name: str, group: str, title: str, parameters: Values, program: str = "", quick: Values | None = None
) -> Workload:
    return Workload(name, group, title, program or name, parameters | {SETTLE: 0}, quick or {})


_DOCUMENT = tomllib.loads(FILE.read_text(encoding="utf-8"))
GROUPS: dict[str, str] = _DOCUMENT["groups"]
WORKLOADS = {name: _workload(name, **entry) for name, entry in _DOCUMENT["workloads"].items()}
SETS: dict[str, list[str]] = _DOCUMENT["sets"]
