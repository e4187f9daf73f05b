"""The repository that git is measured on: source-like files that change a little in each of many commits."""

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tslab_lab.base import processes
from tslab_lab.base.shapes import Environment
from tslab_lab.real import spending

COMMITS = 400
_FILES = 120
_SETTINGS = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_TERMINAL_PROMPT": "0"}


def environment(plain: Environment) -> Environment:
    """Without the user's own settings."""
    return spending.plain(plain, _SETTINGS)


def _line(rng: random.Random) -> str:
    return " ".join(f"word{rng.randrange(2000)}" for _ in range(rng.randrange(1, 9)))


def _data(text: str) -> str:
    return f"data {len(text)}\n{text}\n"


def history() -> Iterator[str]:
    """The commits as `git fast-import` reads them: the same each time."""
    rng = random.Random(1)
    files = {f"part{i % 12}/file{i}.txt": [_line(rng) for _ in range(rng.randrange(40, 400))] for i in range(_FILES)}
    for number in range(1, COMMITS + 1):
        names = sorted(files) if number == 1 else rng.sample(sorted(files), 4)
        yield f"commit refs/heads/main\ncommitter A Name <name@example.org> {1_000_000_000 + number * 3600} +0000\n"
        yield _data(f"Commit {number}\n\n{_line(rng)}")
        for name in names:
            lines = files[name]
            for _ in range(rng.randrange(1, 12)):
                at = rng.randrange(len(lines))
                lines[at : at + rng.randrange(3)] = [_line(rng) for _ in range(rng.randrange(1, 3))]
            yield f"M 100644 inline {name}\n" + _data("\n".join(lines) + "\n")


def make(program: str, folder: Path) -> None:
    """A bare repository in `folder`."""
    stream = "".join(history()).encode()
    argv = [program, f"--git-dir={folder}"]
    for words, given in ((["init", "--quiet", "--bare"], None), (["fast-import", "--quiet"], stream)):
        done = subprocess.run(
            [*argv, *words], input=given, capture_output=True, env=environment(processes.environment()), check=False
        )
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip()
            raise processes.Failure(f"git {words[0]} cannot make {folder}:\n{said}")


def argvs(program: str, folder: Path, target: str, commits: int) -> Iterator[list[str]]:
    """What is measured: the history of the latest `commits` with its changes, a comparison of its ends, and a pack of
    all made anew as gc makes one, with one thread. It goes to `target`: the repository itself is never written to."""
    argv = [program, f"--git-dir={folder}", "-c", "core.fsync=none"]
    span = f"main~{commits}..main"
    yield [*argv, "log", "--patch", "--stat", span]
    yield [*argv, "diff", "--find-renames", "--word-diff=porcelain", *span.split("..")]
    anew = ["--no-reuse-delta", "--no-reuse-object"]
    yield [*argv, "pack-objects", "--quiet", "--threads=1", *anew, "--all", target]
