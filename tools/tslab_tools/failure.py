"""What ends a command with a sentence instead of a traceback."""


class Failure(Exception):
    """A sentence for the user."""

    status: int | None = None  # the exit code, where it is not the command's usual one


class Absent(Failure):
    """There is no such program, or no such library."""
