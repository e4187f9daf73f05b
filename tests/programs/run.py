#!/usr/bin/python3
"""Real programs on the drop-in: each does work of its own, and the result is that of the same work without the library.

    run.py LIBRARY ENTRY        runs one entry; exit code 0: passed, 1: failed, 77: cannot be run here
    run.py --list               tells the entries

An entry is a function of one of the modules below. A line of the library on stderr fails it, whatever the result.
"""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

WORK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "work")
PYTHON = "/usr/bin/python3"
PATIENCE = 100

entries = {}


def entry(function):
    """Makes a function an entry; its name is that of the test."""
    entries[function.__name__.replace("_", "-")] = function
    return function


class Failed(Exception):
    """What went wrong, in a sentence."""


class Skipped(Exception):
    """What is missing here."""


def need(program, package):
    """The path of a program; without it an entry of the quick set has failed, and says which package has it."""
    found = shutil.which(program)
    if found is None:
        raise Failed(f"{program} is not installed: it is in the package {package}")
    return found


def toolchain(program, *version):
    """The same for the long entries, which are skipped instead."""
    found = shutil.which(program)
    if found is None or subprocess.run([found, *version], capture_output=True, check=False).returncode != 0:
        raise Skipped(f"{program} is not installed")
    return found


class Runner:
    """Runs programs with the library and without, in a directory of its own that goes away at the end."""

    def __init__(self, library, directory):
        self.library = library
        self.directory = directory

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def environment(self, preload, extra=None):
        """A plain environment: no options of the library from outside, no settings of the user."""
        result = {name: value for name, value in os.environ.items() if not name.startswith(("TSLAB_", "LD_", "GIT_"))}
        result.update(LC_ALL="C.UTF-8", HOME=self.directory, TMPDIR=self.directory, **(extra or {}))
        if preload:
            result["LD_PRELOAD"] = self.library
        return result

    def run(self, command, preload=True, extra=None, expect=0, quiet=True, **options):
        """The standard output of a command that must end with the expected code and without a word of the library."""
        text = options.pop("input", None)
        options.setdefault("cwd", self.directory)
        options.setdefault("env", self.environment(preload, extra))
        with subprocess.Popen(command, stdin=subprocess.DEVNULL if text is None else subprocess.PIPE, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, **options) as process:
            try:
                stdout, stderr = process.communicate(text, timeout=PATIENCE)
            except subprocess.TimeoutExpired as hung:
                os.killpg(process.pid, signal.SIGKILL)
                raise Failed(f"{command} hung") from hung
        if process.returncode != expect:
            raise Failed(f"{command} ended with {process.returncode}:\n{stdout[-2000:]}{stderr[-4000:]}")
        if quiet:
            expect_silence(command, stderr)
        return stdout if quiet else (stdout, stderr)

    def same(self, command, extra=None, **options):
        """Runs a command with and without the library; both must print the same, and something. Returns it."""
        plain = self.run(command, preload=False, extra=extra, **options)
        result = self.run(command, preload=True, extra=extra, **options)
        if result != plain:
            raise Failed(f"{command} prints on the system's malloc:\n{plain[-2000:]}\nwith the library:\n{result[-2000:]}")
        if not result.strip():
            raise Failed(f"{command} prints nothing that could be compared")
        return result

    @contextlib.contextmanager
    def server(self, command, extra=None, stop=signal.SIGTERM):
        """A server on the library for the length of a with statement. It must live till then and end well."""
        log = self.path(f"{os.path.basename(command[0])}.stderr")
        with open(log, "wb") as stderr:
            process = subprocess.Popen(command, cwd=self.directory, env=self.environment(True, extra), stderr=stderr,
                                       stdout=stderr, stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            yield process
            if process.poll() is not None:
                raise Failed(f"{command[0]} has died with {process.returncode}: {read_end(log)}")
            expect_library(process.pid, self.library)
            process.send_signal(stop)
            code = process.wait(timeout=PATIENCE)
            if code != 0:
                raise Failed(f"{command[0]} ended with {code}: {read_end(log)}")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        expect_silence(command, read_end(log))


def read_end(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()[-20000:]


def expect_silence(command, stderr):
    """The library and the loader say nothing as long as all is well."""
    said = [line for line in stderr.splitlines() if line.startswith("tslab:") or "ld.so" in line]
    if said:
        raise Failed(f"{command} made the library speak:\n" + "\n".join(said))


def expect_library(pid, library):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        if os.path.realpath(library) not in maps.read():
            raise Failed(f"process {pid} runs without the library")


def expect(condition, sentence):
    if not condition:
        raise Failed(sentence)


def await_condition(condition, sentence, seconds=PATIENCE):
    """Waits until a function says yes; how long that takes is no matter, short of for ever."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise Failed(f"waited in vain: {sentence}")
        time.sleep(0.02)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def tslab_lines(stderr):
    return [line for line in stderr.splitlines() if re.match(r"tslab:", line)]


def main():
    # The modules import this one by its name: they and the main program must mean the same functions and exceptions.
    sys.modules["run"] = sys.modules["__main__"]
    import environment  # noqa: F401  pylint: disable=import-outside-toplevel,unused-import
    import long  # noqa: F401  pylint: disable=import-outside-toplevel,unused-import
    import profiles  # noqa: F401  pylint: disable=import-outside-toplevel,unused-import
    import programs  # noqa: F401  pylint: disable=import-outside-toplevel,unused-import
    import statistics_of_programs  # noqa: F401  pylint: disable=import-outside-toplevel,unused-import
    import scarce  # noqa: F401  pylint: disable=import-outside-toplevel,unused-import

    if sys.argv[1:] == ["--list"]:
        print("\n".join(entries))
        return 0
    if len(sys.argv) != 3 or sys.argv[2] not in entries:
        print(__doc__, file=sys.stderr)
        return 2
    library = os.path.abspath(sys.argv[1])
    if not os.path.exists(library):
        print(f"There is no {library}.", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="tslab-programs-", ignore_cleanup_errors=True) as directory:
        runner = Runner(library, directory)
        try:
            expect(os.path.realpath(library) in runner.run(["/bin/cat", "/proc/self/maps"]), "the library is not loaded")
            entries[sys.argv[2]](runner)
        except Skipped as reason:
            print(f"SKIP: {reason}")
            return 77
        except (Failed, subprocess.TimeoutExpired) as reason:
            print(f"FAILED: {reason}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main())
