"""Work: a Python job with PYTHONMALLOC=malloc builds and drops object graphs."""

import json
from pathlib import Path

from tslab_lab import programs

PYTHON = "/usr/bin/python3"
JOB = Path(__file__).with_name("objects_job.py")


class Work:
    title, unit = "Python objects", "records/s"

    def __init__(self, quick):
        self.probe = [PYTHON, "-c", "pass"]
        self._argv = [PYTHON, "-B", str(JOB), "2" if quick else "12"]

    def run(self, env, who):
        return json.loads(programs.run(self._argv, env | {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}, who))

    @staticmethod
    def remark(runs):
        del runs
        return "Python: PYTHONMALLOC=malloc."
