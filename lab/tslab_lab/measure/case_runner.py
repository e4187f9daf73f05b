"""Runs one case on one allocator, be it a workload of ours or a real program."""

from tslab_lab.allocators import installed
from tslab_lab.base import processes
from tslab_lab.real import programs
from tslab_lab.workloads import compiled, named

PROBE = "pair:operations=1,size=16"  # shows which malloc a workload gets


def is_program(case):
    return isinstance(case, programs.Program)


def select(words):
    """The cases that a user's words name, each once: sets, names, globs, workloads with parameters."""
    found = {}
    for word in words:
        chosen = programs.select(word)
        if not chosen or (set(word) & set("*?[") and named.has(word)):
            chosen = [*named.select([word]), *chosen]
        for case in chosen:
            found.setdefault(case.name, case)
    return list(found.values())


class Runner:
    """All that a measurement runs on all its allocators. `littered`: on heaps that are not fresh. `latency`: with the times of all operations, or of
    requests that come at a fixed rate. `causes`: also with what each operation did."""

    def __init__(self, cases, libraries, quick, latency=False, littered=False, causes=False):
        self.cases, self.quick, self._latency = cases, quick, latency
        ours = [case for case in cases if not is_program(case)]
        probe = named.parse(PROBE)
        self._directory = compiled.build([*ours, probe], latency, causes) if ours else None
        for case in cases:
            if is_program(case):
                case.prepare_paced() if latency else case.prepare()
        self.environments = {}
        self._without_epochs = {name for name, library in libraries.items() if not installed.has_epochs(library)}
        for name, library in libraries.items():
            shared = installed.proven_environment(library, self._argv(probe, False), "a workload") if ours else None
            for case in cases:
                own = installed.proven_environment(library, case.probe(), case.name) if is_program(case) else shared
                self.environments[case.name, name] = compiled.littered(own) if littered else own

    def _argv(self, case, quick):
        return case.argv(self._directory, quick)

    def tiny_argv(self, case, factor):
        """So many times the least work; None for a program, whose amount of work is its own."""
        if is_program(case):
            return None
        first = next(iter(case.values))
        values = case.parameters(True) | {first: factor * case.workload.tiny}
        return [str(self._directory / case.program), *map(str, values.values())]

    def own_argv(self, case):
        """What runs the case; None for a program, which may be several processes."""
        return None if is_program(case) else self._argv(case, self.quick)

    def run(self, case, allocator):
        """The figures of one run, as the workload prints them."""
        environment, who = self.environments[case.name, allocator], f"{case.name} on {allocator}"
        if is_program(case):
            return (case.measure_paced if self._latency else case.measure)(environment, self.quick, who)
        if case.workload.needs and allocator in self._without_epochs:
            raise processes.Failure("it has no epochs.")
        return processes.figures(self._argv(case, self.quick), environment, who)

    def facts(self, case):
        """What a file of results says of the case."""
        parameters = {} if is_program(case) else case.parameters(self.quick)
        return {"group": case.group, "title": case.title, "parameters": parameters}
