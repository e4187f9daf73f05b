"""Work: four threads replace random objects of 16 to 2,048 bytes; every fourth is freed by the next thread."""

from pathlib import Path

from tslab_lab.base import compiling, places, processes
from tslab_lab.estimates import medians
from tslab_lab.workloads.compiled import SOURCES

FLAGS = ["-std=gnu17", "-O2", "-pthread", "-fno-builtin-malloc", "-fno-builtin-free"]
REMOTE_PERCENT = 25


def build():
    """The program; compiled when its source changed."""
    target = places.BUILT / "churn"
    compiling.build(target, [SOURCES / "churn.c"], FLAGS)
    return target


class Work:
    title, unit = "churn, 4 threads", "objects/s"

    def __init__(self, program, quick):
        self.probe = [str(Path(program)), "0"]
        self._argv = [str(Path(program)), "400" if quick else "2500", str(REMOTE_PERCENT)]

    def run(self, env, who):
        return processes.figures(self._argv, env, who)

    @staticmethod
    def remark(runs):
        share = medians.spread([100 * run["remote_share"] for run in runs])
        low, high = f"{share.low:.0f}", f"{share.high:.0f}"
        return f"churn: {low if low == high else low + '-' + high} % of the frees are by another thread."
