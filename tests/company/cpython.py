"""Runs CPython's own tests of threads, processes and forks on the drop-in and on the system's malloc: the same fail.

usage: cpython.py LIBRARY
"""

import os
import re
import subprocess
import sys

(LIBRARY,) = sys.argv[1:]
PYTHON = "/usr/bin/python3"
TESTS = ("test_threading", "test_subprocess", "test_os", "test_fork1")
UNTESTABLE = 77
PATIENCE_SECONDS = 1200


def failures(test, **variables):
    """The cases of a test that fail, and whether it comes to an end."""
    environment = os.environ | {"PYTHONMALLOC": "malloc"} | variables
    done = subprocess.run(
        [PYTHON, "-m", "test", "-v", "--timeout", "300", test],
        env=environment, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    ran = re.search(r"^Ran (\d+) tests? in", done.stdout + done.stderr, re.MULTILINE)
    failed = set(re.findall(r"^(?:FAIL|ERROR): (.*)$", done.stdout + done.stderr, re.MULTILINE))
    return failed, ran is not None


def main():
    if subprocess.run([PYTHON, "-c", "import test.test_threading"], capture_output=True).returncode != 0:
        print("Python's own tests (libpython3.N-testsuite) are not installed")
        return UNTESTABLE
    wrong = []
    for test in TESTS:
        system, ended = failures(test)
        if not ended:
            print(f"{test} does not run here")
            continue
        ours, ended = failures(test, LD_PRELOAD=LIBRARY)
        more = sorted(ours - system)
        if more:  # what fails by chance fails with the system's malloc, too, sooner or later
            again, _ = failures(test, LD_PRELOAD=LIBRARY)
            more = sorted(set(more) & again)
        print(f"{test}: {len(system)} fail without the library, {len(ours)} with it", flush=True)
        if more or not ended:
            wrong.append(f"{test}: {', '.join(more) or 'it does not end'}")
    print("\n".join(wrong))
    return 1 if wrong else 0


sys.exit(main())
