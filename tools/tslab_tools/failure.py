"""What ends a command with a sentence instead of a traceback."""


class Failure(Exception):
    """A sentence for the user."""
