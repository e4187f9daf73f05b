"""The survivors of many requests that were alive together: the workload `scattered`, also with an epoch for each request."""

from tslab_lab.base.shapes import Figures
from tslab_lab.workloads import catalogue, compiled
from tslab_lab.workloads.catalogue import SETTLE, Values

WORK: Values = {"requests": 500, "objects": 4000, "every": 500, SETTLE: 2000}
LEAST: Values = {"requests": 1, "objects": 8, "every": 8, SETTLE: 0}


def argv(values: Values, epochs: bool) -> list[str]:
    """Of the program, which is compiled."""
    case = catalogue.case(catalogue.WORKLOADS["scattered"], values | {"epochs": int(epochs)})
    return case.argv(compiled.build([case]), False)


def record_of(told: Figures, values: Values) -> Figures:
    """What a run says, as a file of results keeps it. The program's own table is no part of what is compared."""
    more = {"requests": values["requests"], "objects": told["operations"], "later_kib": told["rss_kib"]}
    more |= {"bytes": told["live_kib"] * 1024, "survivor_bytes": told["survivors_kib"] * 1024}
    return told | more | {"peak_kib": told["peak_kib"] - told["base_kib"] + told["start_kib"]}
