"""What ends a command with a sentence instead of a traceback."""

import contextlib
import os
from collections.abc import Iterator


class Failure(Exception):
    """A sentence for the user."""

    status: int | None = None  # the exit code, where it is not the command's usual one


class Absent(Failure):
    """There is no such program, or no such library."""


@contextlib.contextmanager
def told(what: str, path: str | os.PathLike[str]) -> Iterator[None]:
    """Says what was done with a file when it failed, as "read"."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as problem:
        raise Failure(f"cannot {what} {path}: {problem.strerror}") from problem
