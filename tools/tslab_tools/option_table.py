"""The options of the library, as `tslab run` takes them. tools/options.py writes this file."""

# ruff: noqa: E501
# fmt: off

from typing import NamedTuple


class Option(NamedTuple):
    name: str
    form: str
    values: str
    help: str
    changeable: bool  # while the program runs


OPTIONS = (
    Option("limit_bytes", "BYTES", "0 to 1024T bytes", "the memory that the program may use: an allocation beyond it fails; 0: no limit", True),
    Option("soft_limit_bytes", "BYTES", "0 to 1024T bytes", "above it, the library keeps no free memory for reuse, and its caches are small; 0: no limit", True),
    Option("epoch_limits", "LABEL=BYTES:LABEL=BYTES", "LABEL=BYTES:LABEL=BYTES, up to 16 labels of 1 to 31 bytes, 16K to 1024T each, 255 bytes in all", "the memory that all epochs with a label may use together", True),
    Option("epoch_policy", "WORD", "never, per-request, batch-N, interval-MS, manual", "when the epoch of a thread's units of work ends, and whether it has one", True),
    Option("purge", "WORD", "adaptive, eager, never", "when free memory goes back to the system", True),
    Option("purge_delay_ms", "MS", "0 to 3600000 ms", "how long free memory waits for reuse before its pages go back to the system", True),
    Option("retain_bytes", "BYTES", "0 to 1T bytes", "free memory that may wait for reuse in any case; more may where the program took as much lately", True),
    Option("retain_limit_bytes", "BYTES", "0 to 1T bytes", "the most free memory that may wait for reuse, whatever the program does", True),
    Option("keeper", "N", "0 to 2", "a thread of the library gives memory back while the program is idle: 0 never, 1 when a program on the drop-in has two threads or more (the only thread gives back while it sleeps), 2 always", False),
    Option("cache_bytes", "BYTES", "0 to 1T bytes", "limit on all thread caches together; 0: 128 MiB, or an eighth of the memory in use if that is more", True),
    Option("huge_pages", "WORD", "adaptive, always, never", "which memory may have huge pages; adaptive: where a large program grows", False),
    Option("stats", "FORM[,FILE]", "FORM[,FILE], FORM 0 to 2, FILE up to 255 bytes", "statistics at exit (0: none, 1: a summary, 2: JSON), on stderr or in FILE, where %p is the process, %e the program, %n a count", True),
    Option("stats_signal", "SIGNAL", "USR1 USR2 URG IO WINCH, or 34-64", "signal that triggers a report; 0: none", False),
    Option("profile", "BYTES[,FILE]", "BYTES[,FILE], BYTES 0 to 1T, FILE up to 255 bytes", "heap profiler: mean bytes between samples, such as 512K, and the file that gets the profile at exit and with each report; 0: off", True),
    Option("export", "N", "0 to 1", "1: processes of the same user can read live statistics (tslab top)", False),
    Option("blackbox", "DIR", "DIR, up to 255 bytes", "directory that gets a file near a memory limit, which says what has the memory (tslab doctor FILE)", False),
)
