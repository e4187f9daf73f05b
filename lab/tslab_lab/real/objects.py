"""A Python job that builds and drops object graphs, by PYTHONMALLOC=malloc all of them from malloc."""

from pathlib import Path

PYTHON = "/usr/bin/python3"
JOB = Path(__file__).with_name("jobs") / "objects.py"
