"""The folder where the lab keeps what it made once and uses again: outside of the checkout, the user's own."""

import os
from pathlib import Path

from tslab_lab.base import processes


def root() -> Path:
    """A relative XDG_CACHE_HOME is none, as its specification says: it would be another folder in each directory."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(named) if os.path.isabs(named) else Path.home() / ".cache") / "tslab"


def folder(name: str) -> Path:
    """The folder for one kind of things, made where it is missing."""
    path = root() / name
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise processes.Failure(
            f"The cache folder {path} cannot be made ({error.strerror}). Name another in XDG_CACHE_HOME."
        ) from None
    return path
