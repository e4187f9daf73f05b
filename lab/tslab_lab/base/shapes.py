"""The shapes of what goes from one folder to the next. Data that json reads is trusted to have the fields that docs/lab.md tells; results
of older labs have fewer."""

from collections.abc import Sequence
from typing import Any

Environment = dict[str, str]  # of a program
Words = Sequence[object]  # of a command: each becomes a text
Figures = dict[str, Any]  # of a run: what the workload printed, and what was found out beside; which, is its affair
Run = dict[str, Any]  # the line of a run: its case, allocator and round, and its figures
Record = dict[str, Any]  # another line of a file of results, or a part of one
Columns = dict[str, list[Any]]  # of a series of samples: by name, each as long as the others, None where none was taken
Point = tuple[int, int]  # milliseconds since the start, and KiB
