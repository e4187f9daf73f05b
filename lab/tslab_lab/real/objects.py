"""Work: a Python job with PYTHONMALLOC=malloc builds and drops object graphs."""

from pathlib import Path

from tslab_lab.base import processes

PYTHON = "/usr/bin/python3"
JOB = Path(__file__).with_name("jobs") / "objects.py"


class Work:
    title, unit = "Python objects", "records/s"

    def __init__(self, quick):
        self.probe = [PYTHON, "-c", "pass"]
        self._argv = [PYTHON, "-B", str(JOB), "2" if quick else "12"]

    def run(self, env, who):
        return processes.figures(self._argv, env | {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}, who)

    @staticmethod
    def remark(runs):
        del runs
        return "Python: PYTHONMALLOC=malloc."
