"""From what a user names to what is run: workloads with parameters, the named cases, sets of either, and globs."""

import difflib
import fnmatch
import os
from concurrent.futures import ThreadPoolExecutor

from tslab_lab import compiling, places, programs, workload_patterns
from tslab_lab.workload_catalogue import GROUPS, SETTLE, WORKLOADS, Case, Workload, case

__all__ = ["GROUPS", "NAMED", "SETS", "WORKLOADS", "Case", "Workload"]
__all__ += ["build", "listing", "parse", "select", "sets"]

SOURCES = places.PACKAGE / "workloads"
FLAGS = ["-std=gnu17", "-O2", "-Wall", "-Wextra", "-Wshadow", "-pthread"]
FLAGS += [f"-fno-builtin-{name}" for name in ("malloc", "free", "calloc", "realloc")]
LATENCY_FLAGS = ["-DLATENCY=1"]
LATENCY_LIBRARIES = ("-lm",)
VALUE_MOST = 2**32 - 2  # what a program takes

# The cases with a name of their own. A name that is a workload's, too, is that workload with its defaults.
NAMED = {found.name: found for found in workload_patterns.CASES}

_QUICK = ("replace", "bulk", "mixed-remote", "producer-consumer", "app", "churn-fixed", "churn-adversarial", "larson")
_QUICK += ("scopes", "phase-shift", "scattered", "strings", "calloc")
_STANDARD = (*_QUICK, "free-only", "threads", "fork", "burst-idle", "idle-threads", "pinning", "oscillate", "pow2")
_STANDARD += ("large", "cache-thrash", "cache-scratch")
_LATENCY = ("churn-fixed", "churn-adversarial", "app", "mixed-remote", "producer-consumer", "larson", "scopes")
_LATENCY += ("oscillate", "strings", "calloc", "large", "burst-idle")


def _nearest(word, known):
    near = difflib.get_close_matches(word, known, n=3, cutoff=0.5)
    return f" Did you mean {' or '.join(near)}?" if near else ""


def _unknown(name):
    there_is = ", ".join(WORKLOADS)
    near = _nearest(name, [*WORKLOADS, *NAMED, *SETS])
    return programs.Failure(f"There is no workload '{name}'.{near} The workloads are: {there_is}.")


def _value(workload, text):
    """(parameter, number) of a text like threads=8."""
    key, equals, digits = text.partition("=")
    key = key.strip()
    known = ", ".join(f"{name}={default}" for name, default in workload.parameters.items())
    if key not in workload.parameters:
        near = _nearest(key, workload.parameters)
        raise programs.Failure(f"{workload.name} has no parameter '{key}'.{near} It has: {known}.")
    digits = digits.strip().replace("_", "")
    if not equals or not (digits.isascii() and digits.isdigit()) or int(digits) > VALUE_MOST:
        example = f"{key}={workload.parameters[key]}"
        raise programs.Failure(f"{workload.name} wants a whole number for {key}, as in {example}.")
    return key, int(digits)


def parse(text):
    """The case that a text like mixed-remote:threads=8,remote=50 names."""
    name, colon, rest = text.strip().partition(":")
    if not colon and name in NAMED:
        return NAMED[name]
    if name not in WORKLOADS:
        if name in NAMED:
            workload = NAMED[name].workload.name
            raise programs.Failure(f"{name} is a case with parameters of its own. Name its workload: {workload}:{rest}")
        raise _unknown(name)
    workload = WORKLOADS[name]
    given = {}
    for part in rest.split(",") if colon else ():
        key, value = _value(workload, part)
        if key in given:
            raise programs.Failure(f"{name}: {key} is given twice.")
        given[key] = value
    return case(workload, given)


def select(texts):
    """The cases that a user's words name: sets, globs among all names, workloads with or without parameters. Each once,
    in the order given."""
    found = {}
    for text in texts:
        for one in _selected(text.strip()):
            found.setdefault(one.name, one)
    return list(found.values())


def _named_like(text):
    return [name for name in dict.fromkeys([*WORKLOADS, *NAMED]) if fnmatch.fnmatchcase(name, text)]


def has(text):
    """Whether a glob names any."""
    return bool(_named_like(text))


def _selected(text):
    if text in SETS:
        return SETS[text]
    if ":" in text or not set(text) & set("*?["):
        return [parse(text)]
    names = _named_like(text)
    if not names:
        raise programs.Failure(f"No workload has a name like '{text}'. The workloads are: {', '.join(WORKLOADS)}.")
    return [parse(name) for name in names]


def listing():
    """(name, what it does and with which parameters) of every workload; the one that all have is left out."""
    for workload in WORKLOADS.values():
        parameters = ", ".join(f"{name}={value}" for name, value in workload.parameters.items() if name != SETTLE)
        yield workload.name, f"{workload.title} ({parameters})"


def sets():
    """(name, what is in it) of every set."""
    for name, chosen in SETS.items():
        yield name, ", ".join(one.name for one in chosen)


def build(cases, latency=False):
    """Compiles what the cases need. Returns the directory that argv() is to be given. `latency`: with every operation
    timed, which costs more than many an operation: nothing else is to be read from such a run."""
    directory = places.BUILT / ("workloads-latency" if latency else "workloads")
    flags, libraries = (FLAGS + LATENCY_FLAGS, LATENCY_LIBRARIES) if latency else (FLAGS, ())

    def compile_one(program):
        compiling.build(directory / program, [SOURCES / f"{program}.c"], flags, libraries)

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(compile_one, sorted({one.program for one in cases})))  # list: a failure is raised here
    return directory


SETS = {
    "standard": [parse(name) for name in _STANDARD],
    "quick": [parse(name) for name in _QUICK],
    "latency": [parse(name) for name in _LATENCY],
    "boundaries": [found for found in workload_patterns.CASES if found.group in workload_patterns.STEPPING],
    "patterns": list(workload_patterns.CASES),
}
