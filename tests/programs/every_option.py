"""Every library with every option of its table, at several values: a program of threads does its work, and so does Python on the
drop-ins. usage: every_option.py PROGRAM LIBRARY...

The options are the rows of the table, so a new one is among them."""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import options  # noqa: E402

PYTHON = ["/usr/bin/python3", "-S", "-c", "print(len([str(i) * 20 for i in range(3000)]))"]
NUMBERS = ["0", "1", "2", "512K", "64M"]
VALUES = {
    "LIMITS": ["a=1M:b=64K"],
    "SIGNAL": ["USR2", "WINCH"],
    "REPORT": ["1,%s/file-%%p", "2,%s/file-%%p"],
}
NO_MEMORY = 3  # the program's exit code
LONGEST_S = 60


def options_of_table():
    """Each option, and the values to try."""
    return {row.name: NUMBERS + [re.sub("[A-Z]+$", "8", word) for word in row.words()] + VALUES.get(row.kind, []) for row in options.options()}


def failure(command, environment, folder):
    """What went wrong, or None. Whoever gets no memory may say so."""
    run = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=LONGEST_S,
                         cwd=folder)  # fmt: skip
    said = run.stderr
    if "broken invariant" in said or re.search(r"tslab\[\d+ [^]]*\]: (?!TSLAB_|option|refused)", said):
        return f"exit {run.returncode}: {said}"
    # Memory that is as scarce as the option says is no fault of the library's.
    refused = run.returncode == NO_MEMORY or re.search("memory|MemoryError", said, re.IGNORECASE) is not None
    return None if run.returncode == 0 or refused else f"exit {run.returncode}: {said}"


def main():
    program, *libraries = map(os.path.abspath, sys.argv[1:])
    wrong, count = [], 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = {}
        for library in libraries:
            drop_in = "-malloc" in os.path.basename(library)
            for name, values in options_of_table().items():
                for value in values:
                    value = value % folder if "%s" in value else value
                    environment = {"PATH": os.environ["PATH"], f"TSLAB_{name.upper()}": value, "PYTHONMALLOC": "malloc"}
                    environment |= {"LD_PRELOAD": library} if drop_in else {}
                    for command in [[program, library]] + ([PYTHON] if drop_in else []):
                        runs[pool.submit(failure, command, environment, folder)] = f"{os.path.basename(library)}, {name}={value}, {command[0]}"
        for run in concurrent.futures.as_completed(runs):
            count += 1
            if run.result() is not None:
                wrong.append(f"{runs[run]}: {run.result()}")
    print("\n".join(wrong[:20]))
    print(f"{count} runs, {len(wrong)} of them wrong")
    return 1 if wrong else 0


sys.exit(main())
