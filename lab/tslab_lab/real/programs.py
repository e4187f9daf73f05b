"""Real programs as workloads. All are measured by their processor time, user and system: those that run to their end
with their children's, servers while they serve. What they answer is the same on every allocator, and is compared."""

import fnmatch
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tslab_lab.base import processes
from tslab_lab.base.shapes import Environment, Figures
from tslab_lab.real import cpp, git, inputs, nginx, paced, postgres, redis, spending
from tslab_lab.workloads.catalogue import Case

SET = "programs"
_SYSTEM_PLACES = "/usr/sbin:/sbin"  # not in every user's PATH


def find(command: str) -> str | None:
    return shutil.which(command, path=f"{os.environ.get('PATH', os.defpath)}:{_SYSTEM_PLACES}")


def _found(command: str) -> str:
    """One that is here, as missing() has said."""
    path = find(command)
    assert path is not None, command
    return path


@dataclass(frozen=True)
class Program:
    """One that users know. `needs`: pairs of a command and Debian's package that it is in; the first is what is
    measured. `amounts`: of work, whatever its unit: in full, and quick."""

    name: str
    title: str
    needs: tuple[tuple[str, str], ...]
    amounts: tuple[int, ...] = ()
    group: str = SET

    @property
    def path(self) -> str:
        return _found(self.needs[0][0])

    def missing(self) -> str | None:
        """A sentence on why it cannot run here, or None."""
        for command, package in self.needs:
            if not find(command):
                return f"{command} is not installed. To install it: apt-get install {package}"
        return None

    def amount(self, quick: bool) -> int:
        return self.amounts[1 if quick else 0]

    def prepare(self) -> None:
        """Makes what a run needs, once."""
        spending.prepare()

    def probe(self) -> list[str]:
        """A command that shows, by the word of the dynamic linker, which allocator the program gets."""
        return [self.path, "--version"]

    def measure(self, environment: Environment, quick: bool, who: str) -> Figures:
        """The figures of one run."""
        raise NotImplementedError

    def prepare_paced(self) -> None:
        """The same, for a load of a fixed rate."""
        raise processes.Failure(f"the operations of {self.name} cannot be timed: name workloads, or servers")

    def measure_paced(self, environment: Environment, quick: bool, who: str) -> Figures:
        """The same under a load of a fixed rate, with the times of all requests as `latency`."""
        raise NotImplementedError


def _figures(operations: int, answers: Iterable[str], runs: Sequence[spending.Spent], **more: Any) -> Figures:
    """Of one program or several, one after another."""
    figures: Figures = {
        "operations": operations,
        "seconds": sum(run["seconds"] for run in runs),
        "hash": spending.hash_of(*answers),
        "peak_kib": max(run["peak_kib"] for run in runs),
        "system_seconds": sum(run["system_seconds"] for run in runs),
        "faults": sum(run["faults"] for run in runs),
    }
    return figures | more


@dataclass(frozen=True)
class Script(Program):
    """An interpreter and its job. In `words`, {script} and {amount} stand for what they say; `variables`: pairs."""

    script: Path | None = None
    words: tuple[str, ...] = ("{script}", "{amount}")
    variables: tuple[tuple[str, str], ...] = ()
    harmless: tuple[str, ...] = ("--version",)  # for the probe

    def probe(self) -> list[str]:
        return [self.path, *self.harmless]

    def run(self, environment: Environment, quick: bool, who: str) -> tuple[str, spending.Spent]:
        argv = [self.path, *(word.format(script=self.script, amount=self.amount(quick)) for word in self.words)]
        return spending.run(argv, spending.plain(environment, dict(self.variables)), who)

    def measure(self, environment: Environment, quick: bool, who: str) -> Figures:
        output, spent = self.run(environment, quick, who)
        return _figures(self.amount(quick), [output], [spent])


class Objects(Script):
    """Python's job rests for a second before it ends, and says what memory it has then."""

    @property
    def path(self) -> str:
        return "/usr/bin/python3"

    def missing(self) -> str | None:
        return None if os.path.exists(self.path) else f"There is no {self.path}. To install it: apt-get install python3"

    def measure(self, environment: Environment, quick: bool, who: str) -> Figures:
        output, spent = self.run(environment, quick, who)
        told = json.loads(output)
        # It has compared all its objects with what they were made to be; how many those were is its answer.
        answers = [str(told["operations"]), told["hash"]]
        spent["peak_kib"] = max(
            spent["peak_kib"], told["rss_kib"]
        )  # the kernel's peak may lag by many pages per processor
        return _figures(told["operations"], answers, [spent], rss_kib=told["rss_kib"])


class Compiler(Program):
    """The compiler proper, without the preprocessor, the assembler and the linker."""

    _FRONT = "g++"
    _PREPROCESS = ("-std=c++17", "-E", "-P")
    _COMPILE: tuple[str, ...] = ("-quiet", "-std=c++17", "-O1", "-frandom-seed=1", "-fpreprocessed")

    @property
    def path(self) -> str:
        return _told_by(_found("g++"), "-print-prog-name=cc1plus").strip()

    def missing(self) -> str | None:
        why = super().missing()
        if not why and not os.path.isabs(self.path):
            why = "g++ has no compiler proper (cc1plus). To install it: apt-get install g++"
        return why

    def prepare(self) -> None:
        super().prepare()
        self._inputs()

    def _inputs(self) -> Path:
        sources = {amount: cpp.source(amount) for amount in self.amounts}
        compiler = _found(self._FRONT)
        recipe = "\0".join([_told_by(compiler, "--version"), *self._PREPROCESS, *sources.values()])

        def make(folder: Path) -> None:
            for amount, source in sources.items():
                plain = folder / f"{amount}.cpp"
                plain.write_text(source)
                argv = [compiler, *self._PREPROCESS, plain, "-o", folder / f"{amount}.ii"]
                processes.run(argv, processes.environment(), f"{self._FRONT} as preprocessor")

        return inputs.made(self.name, recipe.encode(), make)

    def measure(self, environment: Environment, quick: bool, who: str) -> Figures:
        source = self._inputs() / f"{self.amount(quick)}.ii"
        argv = [self.path, *self._COMPILE, source, "-o", "-"]
        output, spent = spending.run(argv, spending.plain(environment, {}), who)
        return _figures(self.amount(quick), [output], [spent])


class Clang(Compiler):
    """The same sources; the driver is the compiler proper, too."""

    _FRONT = "clang++"
    _COMPILE = ("-x", "c++-cpp-output", "-std=c++17", "-O1", "-w", "-S")

    @property
    def path(self) -> str:
        return os.path.realpath(_found("clang++"))

    def missing(self) -> str | None:
        return Program.missing(self)


class RocksDb(Program):
    """db_bench, its own load: random keys written, then read, and all of them in order. Between the two all is compacted: how
    many files there are otherwise depends on what malloc_usable_size says."""

    _WORDS: tuple[str, ...] = ("--benchmarks=fillrandom,compact,readrandom,readseq", "--seed=1", "--disable_wal=1")
    _WORDS += ("--compression_type=none",)
    _WORDS += ("--write_buffer_size=4194304", "--max_background_jobs=1", "--histogram=0", "--cache_size=4194304")

    def measure(self, environment: Environment, quick: bool, who: str) -> Figures:
        with tempfile.TemporaryDirectory(prefix="tslab-") as directory:
            argv = [self.path, *self._WORDS, f"--num={self.amount(quick)}", f"--db={directory}"]
            output, spent = spending.run(argv, spending.plain(environment, {}), who)
        answers = re.findall(r"\((\d+) of (\d+) found\)", output)
        if not answers:
            raise processes.Failure(f"{who} gave no figures to read:\n{output.strip()[-300:]}")
        return _figures(3 * self.amount(quick), [str(answers)], [spent])


class Start(Program):
    """From the start of a process that does next to nothing to its end, again and again."""

    def measure(self, environment: Environment, quick: bool, who: str) -> Figures:
        argv = [self.path, "--version"]
        output, spent = spending.run(argv, spending.plain(environment, {}), who, times=self.amount(quick))
        return _figures(self.amount(quick), [output], [spent])


class Git(Program):
    """Three commands on a repository that they only read."""

    def prepare(self) -> None:
        super().prepare()
        self._inputs()

    def _inputs(self) -> Path:
        recipe = Path(git.__file__).read_bytes() + _told_by(self.path, "--version").encode()
        return inputs.made(self.name, recipe, lambda folder: git.make(self.path, folder))

    def measure(self, environment: Environment, quick: bool, who: str) -> Figures:
        repository, answers, runs = self._inputs(), list[str](), list[spending.Spent]()
        with tempfile.TemporaryDirectory(prefix="tslab-") as directory:
            for argv in git.argvs(self.path, repository, f"{directory}/pack", self.amount(quick)):
                output, spent = spending.run(argv, git.environment(environment), who)
                answers.append(output)
                runs.append(spent)
        return _figures(self.amount(quick), answers, runs)


class _Served(redis.Work):
    """Its client's clock tells how long the client waited, which on a busy machine says little of the server."""

    def _measure(self, connection: redis.Connection, path: str, server: subprocess.Popen[bytes]) -> Figures:
        before = spending.processor_seconds(server.pid)
        found = super()._measure(connection, path, server)
        return found | {"seconds": spending.processor_seconds(server.pid) - before}


class _Saving(_Served, redis.SavingWork):
    pass


class _Paced(_Served):
    def _load(self, connection: redis.Connection, path: str) -> Figures:
        del connection
        count, took, line = paced.redis(path, self._quick)
        return {"operations": count, "seconds": took, "requests_per_second": count / took, "latency": [line]}


class Redis(Program):
    _work: type[redis.Work] = _Served

    def measure(self, environment: Environment, quick: bool, who: str) -> Figures:
        return self._checked(self._work(quick).run(environment, who))

    def prepare_paced(self) -> None:
        paced.prepare()

    def measure_paced(self, environment: Environment, quick: bool, who: str) -> Figures:
        return self._checked(_Paced(quick).run(environment, who))

    @staticmethod
    def _checked(found: Figures) -> Figures:
        """It has compared what the server answers with what these keys were set to."""
        answers = [redis.canary(number) for number in range(redis.CANARIES)]
        return {"hash": spending.hash_of(*answers)} | found


class RedisSave(Redis):
    _work = _Saving

    def prepare_paced(self) -> None:
        Program.prepare_paced(self)


class Nginx(Program):
    def probe(self) -> list[str]:
        return [self.path, "-v"]

    def measure(self, environment: Environment, quick: bool, who: str) -> Figures:
        return nginx.run(self.path, _found("wrk"), self.amount(quick), environment, who)

    def prepare_paced(self) -> None:
        if not find("h2load"):
            raise processes.Failure("h2load is not installed. To install it: apt-get install nghttp2-client")

    def measure_paced(self, environment: Environment, quick: bool, who: str) -> Figures:
        return nginx.run_paced(self.path, quick, environment, who)


class Postgres(Program):
    """Memory is the PSS of all its processes."""

    @property
    def path(self) -> str:
        return str(postgres.folder() / "postgres")

    def missing(self) -> str | None:
        try:
            postgres.folder()
        except processes.Failure:
            return "postgresql is not installed. To install it: apt-get install postgresql"
        return None

    def measure(self, environment: Environment, quick: bool, who: str, paced_load: bool = False) -> Figures:
        found = postgres.run(environment, who, quick, paced_load)
        answers = spending.hash_of(str(postgres.ROWS))  # it has compared its sums with what they must be
        spent = {"seconds": found.pop("processor_seconds"), "hash": answers}
        return found | spent

    def prepare_paced(self) -> None:
        """pgbench has all of it."""

    def measure_paced(self, environment: Environment, quick: bool, who: str) -> Figures:
        return self.measure(environment, quick, who, paced_load=True)


@functools.cache
def _told_by(program: str, option: str) -> str:
    plain: dict[str, Any] = {
        "env": processes.environment(),
        "stdin": subprocess.DEVNULL,
        "capture_output": True,
        "text": True,
    }
    return str(subprocess.run([program, option], check=False, **plain).stdout)


AnyCase = Case | Program  # what a measurement runs


def _catalogue() -> Iterator[Program]:
    jobs = spending.JOBS
    needs: tuple[tuple[str, str], ...] = (("redis-server", "redis-server"), ("redis-benchmark", "redis-tools"))
    yield Redis(
        "redis", "redis-server under redis-benchmark: strings, counters, lists, sets, hashes, sorted sets", needs
    )
    yield RedisSave("redis-save", "redis-server saves by a forked child while a tenth of its keys are written", needs)
    plain = (("PYTHONMALLOC", "malloc"), ("PYTHONHASHSEED", "0"))
    title = "Python builds and drops object graphs, all on malloc"
    words: tuple[str, ...] = ("-B", "{script}", "{amount}")
    needs = (("python3", "python3"),)
    yield Objects("python", title, needs, (6, 3), script=jobs / "objects.py", words=words, variables=plain)
    title = "SQLite in memory: inserts, indexes, groups, updates, deletes"
    words = (
        "-batch",
        "-bail",
        "-init",
        "/dev/null",
        ":memory:",
        "create table amount as select {amount} as n",
        '.read "{script}"',
    )
    yield Script(
        "sqlite3", title, (("sqlite3", "sqlite3"),), (100_000, 25_000), script=jobs / "orders.sql", words=words
    )
    title, words = "Lua builds strings and tables", ("-E", "{script}", "{amount}")
    yield Script(
        "lua", title, (("lua5.4", "lua5.4"),), (50, 15), script=jobs / "tables.lua", words=words, harmless=("-v",)
    )
    title = "Perl: hashes, lists, regular expressions, strings"
    seed = (("PERL_HASH_SEED", "0"),)
    yield Script("perl", title, (("perl", "perl"),), (60, 20), script=jobs / "words.pl", variables=seed)
    yield Compiler("cc1plus", "gcc's C++ compiler proper on many templates", (("g++", "g++"),), (4, 1))
    yield Clang("clang", "clang on the same templates, to assembly", (("clang++", "clang"),), (4, 1))
    title = "RocksDB's db_bench: random writes, random reads, all in order"
    yield RocksDb("db_bench", title, (("db_bench", "rocksdb-tools"),), (300_000, 20_000))
    yield Start("start", "a cold start: env --version, from exec to exit", (("env", "coreutils"),), (300, 50))
    title = "git's log with patches, diff, and a pack made anew, with one thread"
    yield Git("git", title, (("git", "git"),), (git.COMMITS - 1, git.COMMITS // 4))
    yield Postgres(
        "postgres", "PostgreSQL under pgbench: lookups, sorts, aggregates, JSON", (("pgbench", "postgresql"),)
    )
    title, needs = (
        "nginx under wrk: files, compressed, put together, proxied",
        (("nginx", "nginx-light"), ("wrk", "wrk")),
    )
    yield Nginx("nginx", title, needs, (1, 1))


PROGRAMS = {program.name: program for program in _catalogue()}
_said: set[str] = set()


def _say(program: Program, why: str | None) -> None:
    if program.name not in _said:
        _said.add(program.name)
        print(f"lab: {program.name} is left out: {why}", file=sys.stderr)


def select(word: str) -> list[Program]:
    """The programs that a user's word names: one, a glob, or the set of all. Those that cannot run here are left out,
    and said; when none remains, that is an error. A word that names none at all gives an empty list."""
    if word == SET:
        named = list(PROGRAMS.values())
    else:
        named = [program for name, program in PROGRAMS.items() if fnmatch.fnmatchcase(name, word)]
    why = {program.name: program.missing() for program in named}
    here = [program for program in named if not why[program.name]]
    if named and not here:
        raise processes.Failure("\n".join(f"{name} cannot run here: {reason}" for name, reason in why.items()))
    for program in named:
        if program not in here:
            _say(program, why[program.name])
    return here


def listing() -> Iterator[tuple[str, str]]:
    """Pairs of a name and what it is, or why it cannot run here."""
    for name, program in PROGRAMS.items():
        why = program.missing()
        yield name, f"cannot run here: {why}" if why else program.title
