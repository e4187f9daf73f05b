"""Runs one case on one allocator, be it a workload of ours or a real program."""

from collections.abc import Iterable, Mapping, Sequence

from tslab_lab.allocators import installed
from tslab_lab.base import processes
from tslab_lab.base.shapes import Environment, Figures, Record
from tslab_lab.real import programs
from tslab_lab.real.programs import AnyCase
from tslab_lab.workloads import compiled, named
from tslab_lab.workloads.catalogue import Case

PROBE = "pair:operations=1,size=16"  # shows which malloc a workload gets


def select(words: Iterable[str]) -> list[AnyCase]:
    """The cases that a user's words name, each once: sets, names, globs, workloads with parameters."""
    found: dict[str, AnyCase] = {}
    for word in words:
        chosen: list[AnyCase] = [*programs.select(word)]
        if not chosen or (set(word) & set("*?[") and named.has(word)):
            chosen = [*named.select([word]), *chosen]
        for case in chosen:
            found.setdefault(case.name, case)
    return list(found.values())


class Runner:
    """All that a measurement runs on all its allocators. `littered`: on heaps that are not fresh. `latency`: with the times of all operations, or of
    requests that come at a fixed rate."""

    def __init__(
        self,
        cases: Sequence[AnyCase],
        libraries: Mapping[str, installed.Library],
        quick: bool,
        latency: bool = False,
        littered: bool = False,
    ) -> None:
        self.cases, self.quick, self._latency, self._libraries = cases, quick, latency, libraries
        ours = [case for case in cases if isinstance(case, Case)]
        probe = named.parse(PROBE)
        self._directory = compiled.build([*ours, probe], latency) if ours else None
        for case in cases:
            if isinstance(case, programs.Program):
                case.prepare_paced() if latency else case.prepare()
        self.environments: dict[tuple[str, str], Environment] = {}  # by case and library
        for name, library in libraries.items():
            prove = installed.environment_of_loaded if library.loader else installed.proven_environment
            shared = prove(library, self._argv(probe, False), "a workload") if ours else {}
            for case in cases:
                if library.loader and not isinstance(case, Case):
                    raise processes.Failure(f"{case.name}: {name} is a C library, which runs workloads alone.")
                own = shared if isinstance(case, Case) else prove(library, case.probe(), case.name)
                self.environments[case.name, name] = compiled.littered(own) if littered else own

    def _argv(self, case: Case, quick: bool) -> list[str]:
        assert self._directory is not None  # there are workloads
        return case.argv(self._directory, quick)

    def run(self, case: AnyCase, allocator: str, **more: str) -> Figures:
        """The figures of one run, as the workload prints them. `more`: of the environment."""
        environment, who = self.environments[case.name, allocator] | more, f"{case.name} on {allocator}"
        if isinstance(case, programs.Program):
            return (case.measure_paced if self._latency else case.measure)(environment, self.quick, who)
        return processes.figures(self._libraries[allocator].argv(self._argv(case, self.quick)), environment, who)

    def facts(self, case: AnyCase) -> Record:
        """What a file of results says of the case."""
        parameters = case.parameters(self.quick) if isinstance(case, Case) else {}
        return {"group": case.group, "title": case.title, "parameters": parameters}
