"""Where our memory is when a workload ends: what the library's own statistics say in one run apart from the rounds, because
writing them takes time."""

from tslab_lab.allocators.catalogue import OURS
from tslab_lab.base import processes
from tslab_lab.base.shapes import Record
from tslab_lab.measure.case_runner import Runner
from tslab_lab.real.programs import AnyCase
from tslab_lab.results import accounting


def of_case(runner: Runner, case: AnyCase) -> Record | None:
    """None for a program, which may be several processes, for a library that does not tell, and where the case fails, as it
    does in the rounds, too."""
    argv = runner.own_argv(case)
    if argv is None:
        return None
    environment = runner.environments[case.name, OURS] | {"TSLAB_STATS": "2"}
    try:
        return accounting.found_in(processes.outputs(argv, environment, f"{case.name} on {OURS}, with statistics")[1])
    except processes.Failure:
        return None
