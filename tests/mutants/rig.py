"""Runs tests of a build on a mutant: compiles what the mutant changes, links the tests' programs with it, runs them."""

import dataclasses
import functools
import json
import os
import pathlib
import re
import resource
import shlex
import signal
import subprocess
import tempfile
import threading
import time

import mutate

# Processor time after which a test counts as hanging, whatever else the machine does: many times what any of them takes.
CPU_SECONDS = 90  # a test that sleeps for ever takes none, and ends by its own limit of time

# What it may write to a file, its messages above all.
SAID_BYTES = 16 << 20

NOT_COMPILED = "does not compile"

# All tests end with the first failure; what a mutant wastes is bounded.
ENVIRONMENT = {"CMOCKA_TEST_ABORT": "1", "TSAN_OPTIONS": "halt_on_error=1 hard_rss_limit_mb=2000"}


class RigError(Exception):
    """The rig itself does not work: nothing about the mutant."""


def output_of(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RigError(f"'{shlex.join(map(str, command))}' failed: {(done.stderr or done.stdout).strip()}")
    return done.stdout


@dataclasses.dataclass(frozen=True)
class Test:
    """A test as CTest knows it."""

    name: str
    program: pathlib.Path
    before: tuple  # env, and what it sets
    arguments: tuple
    directory: str
    timeout: float


@dataclasses.dataclass(frozen=True)
class Compiled:
    """An object of an archive."""

    source: str
    output: str  # relative to the build
    command: tuple  # without what names source and output
    headers: frozenset


class Build:
    """A build directory: its tests, and how their programs come about."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        if not (self.directory / "build.ninja").exists():
            raise RigError(f"{directory} is no build: configure it first (`make mutants` does).")

    @functools.cached_property
    def tests(self):
        listed = json.loads(output_of("ctest", "--test-dir", self.directory, "--show-only=json-v1"))["tests"]
        tests = {}
        for entry in listed:
            command = entry.get("command", [])
            # The program comes after env and its assignments.
            at = next((i for i, word in enumerate(command) if i > 0 and "=" not in word), None)
            if at is not None:
                properties = {p["name"]: p["value"] for p in entry["properties"]}
                tests[entry["name"]] = Test(
                    entry["name"],
                    pathlib.Path(command[at]),
                    # What is noted for other tests is not to come from a mutant.
                    tuple(word for word in command[:at] if not word.startswith("FAULTS_SITES=")),
                    tuple(command[at + 1 :]),
                    properties["WORKING_DIRECTORY"],
                    properties.get("TIMEOUT", 60),
                )
        return tests

    def test(self, name):
        """By CTest's name of it; words after that are more arguments."""
        name, *more = name.split()
        if name not in self.tests:
            raise RigError(f"{self.directory} has no test {name}: tests/mutants/mutants.py names one that is gone.")
        test = self.tests[name]
        return dataclasses.replace(test, arguments=(*test.arguments, *more))

    def make(self, tests):
        """Brings the programs of these tests up to date."""
        programs = sorted({self.target(self.test(name).program) for name in tests})
        output_of("ninja", "-C", self.directory, *programs)

    @functools.cache
    def link_command(self, program):
        last = output_of("ninja", "-C", self.directory, "-t", "commands", program).strip().splitlines()[-1]
        return [word for word in shlex.split(last) if word not in (":", "&&")]

    def archives(self, program):
        """The build's own archives that the program is linked with."""
        return [w for w in self.link_command(self.target(program)) if w.endswith(".a") and not w.startswith("/")]

    def target(self, program):
        return os.path.relpath(program, self.directory)

    @functools.cache
    def compiled(self, archive):
        """What an archive is made of."""
        made = []
        for line in output_of("ninja", "-C", self.directory, "-t", "commands", archive).splitlines():
            words = shlex.split(line)
            if "-c" in words:
                source, output = words[words.index("-c") + 1], words[words.index("-o") + 1]
                for option in ("-c", "-o", "-MT", "-MF"):
                    at = words.index(option)
                    del words[at : at + 2]
                command = tuple(word for word in words if word not in ("-MD", "-Werror"))
                made.append(Compiled(source, output, command, self.dependencies(output)))
        return made

    @functools.cache
    def dependencies(self, output):
        listed = output_of("ninja", "-C", self.directory, "-t", "deps", output).splitlines()
        return frozenset(os.path.normpath(self.directory / line.strip()) for line in listed[1:] if line.strip())


class Workshop:
    """A mutant being tested: its sources in a directory of its own, and the objects and programs made of them."""

    def __init__(self, mutant, source_directory, directory):
        self.mutant = mutant
        self.sources = pathlib.Path(source_directory)
        self.directory = pathlib.Path(directory)
        self.overlay = self.directory / "src"
        self.lock = threading.Lock()  # several mutants are compared with one original at once
        header = (self.sources / mutate.ATOMIC_HEADER).read_text()
        for file, text in ((mutate.ATOMIC_HEADER, mutate.with_all_orders(header)), (mutant.file, mutant.text)):
            path = self.overlay / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    @functools.cache
    def objects(self, build, archive):
        """{the object it takes the place of: the changed object} in an archive, or None if one does not compile."""
        changed = str(self.sources / self.mutant.file)
        made = {}
        for old in build.compiled(archive):
            if changed in (old.source, *old.headers):
                new = self.directory / build.directory.name / old.output
                new.parent.mkdir(parents=True, exist_ok=True)
                mine = self.overlay / self.mutant.file if old.source == changed else old.source
                # The mutant's headers come first. Without debug information, equal code makes equal objects.
                first = next(i for i, word in enumerate(old.command) if word.startswith("-D"))
                options = [*old.command[:first], f"-I{self.overlay}", *old.command[first:], "-w", "-g0"]
                words = [*options, "-o", new, "-c", mine]
                if subprocess.run(words, cwd=build.directory, capture_output=True, check=False).returncode != 0:
                    return None
                made[old.output] = new
        return made

    @functools.cache
    def archive(self, build, archive):
        """The archive with the changed objects, and None if there are none because they do not compile. It has the name of
        the build's own, by which the linker's script for the schedulers knows the data of the engine."""
        objects = self.objects(build, archive)
        if objects is None:
            return None
        result = self.directory / build.directory.name / archive
        result.parent.mkdir(parents=True, exist_ok=True)
        members = [objects.get(old.output, old.output) for old in build.compiled(archive)]
        output_of("env", "-C", build.directory, "ar", "qcs", result, *members)
        return result

    def is_same_code(self, original, build, archives):
        """Whether the compiler makes the same of the mutant as of the original."""
        for archive in archives:
            with original.lock:
                pair = [shop.objects(build, archive) for shop in (self, original)]
            if None in pair or any(pair[0][name].read_bytes() != pair[1][name].read_bytes() for name in pair[0]):
                return False
        return True

    @functools.cache
    def program(self, build, program):
        """The program with the changed objects, or None if these do not compile."""
        result = self.directory / build.directory.name / "bin" / program.name
        result.parent.mkdir(parents=True, exist_ok=True)
        command = list(build.link_command(build.target(program)))
        command[command.index("-o") + 1] = result
        for archive in build.archives(program):
            changed = self.archive(build, archive)
            if changed is None:
                return None
            command[command.index(archive)] = changed
        output_of("env", "-C", build.directory, *command)
        return result

    def run(self, build, test):
        """Why the test failed, or None."""
        with self.lock:
            program = self.program(build, test.program)
        if program is None:
            return NOT_COMPILED
        return run_program([*test.before, program, *test.arguments], test)


def limit_resources():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (SAID_BYTES, SAID_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run_program(command, test):
    """Why a program failed, in one line, or None. It has a process group of its own, so that nothing is left of it."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(  # pylint: disable=consider-using-with
            command,
            cwd=test.directory,
            env=os.environ | ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            preexec_fn=limit_resources,
            start_new_session=True,
        )
        deadline = time.monotonic() + test.timeout
        while not (ended := has_ended(process)) and time.monotonic() < deadline:
            time.sleep(0.02)
        # The group cannot be another's: its number is not free before its leader is waited for.
        os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
        said.seek(0)
        lines = said.read().decode(errors="replace").splitlines()
    if -code == signal.SIGTERM:
        raise RigError(f"somebody ended {test.name} by SIGTERM; run again, it goes on from here.")
    if not ended or -code in (signal.SIGXCPU, signal.SIGKILL):
        return "hangs"
    return None if code == 0 else reason(lines, code)


def has_ended(process):
    """Whether it is waiting to be waited for."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None


# What says most about a failure, best first.
TELLING = (
    r"with \d+ preemptions: (.*)",
    r"WARNING: ThreadSanitizer: (.*?)(?: \(pid.*)?$",
    r"(tslab(?:\[.*?\])?: broken invariant: .*)",
    r"(tslab(?:\[.*?\])?: .*)",
    r"(.*Assertion .* failed)",
    r"([^/ ]+\.c:\d+: .*)",
    r"\[  ERROR   \] --- (.*)",
    r"\[  FAILED  \] (.*)",
)


def reason(lines, code):
    for pattern in TELLING:
        for line in lines:
            match = re.search(pattern, line)
            if match:
                return match.group(1)[:160]
    return f"signal {-code}" if code < 0 else f"exit code {code}"
