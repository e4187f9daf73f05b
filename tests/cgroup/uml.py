"""Runs a program in real control groups without touching those of this machine: in User-mode Linux, if it is installed
(Debian: user-mode-linux). Needs no rights. usage: uml.py PROGRAM"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

SKIPPED = 77
LONGEST_S = 300
VERSIONS = (2, 1)


def main():
    kernel = os.environ.get("TESTS_UML") or shutil.which("linux.uml")
    if kernel is None:
        print("skipped: there is no User-mode Linux (linux.uml of the package user-mode-linux, or TESTS_UML)")
        return SKIPPED
    init = os.path.join(os.path.dirname(os.path.abspath(__file__)), "uml_init.sh")
    with tempfile.TemporaryDirectory() as folder:
        # For the test to read: there, nothing can be written. It is longer than any of its groups is large.
        file = os.path.join(folder, "file")
        with open(file, "wb") as made:
            made.truncate(192 << 20)
        command = [kernel, "mem=384M", "rootfstype=hostfs", "rootflags=/", "ro", "con=null", "con0=null,fd:1", "panic=-1",
                   f"uml_dir={folder}", f"init={init}", "--", os.path.abspath(sys.argv[1]), file]  # fmt: skip
        run = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors="replace", env=os.environ | {"TMPDIR": folder}, start_new_session=True)  # fmt: skip
        try:
            said, _ = run.communicate(timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            said = "it hangs"
        finally:  # its processes are a session of their own
            with contextlib.suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)
    print(said)
    exits = dict(re.findall(r"^version (\d): exit (\d+)\r?$", said, re.MULTILINE))
    if "as init process" not in said:
        print("skipped: User-mode Linux does not start here")
        return SKIPPED
    wrong = [version for version in VERSIONS if exits.get(str(version)) != "0"]
    print("".join(f"version {version}: exit {exits.get(str(version))}, not 0\n" for version in wrong))
    return 1 if wrong else 0


sys.exit(main())
