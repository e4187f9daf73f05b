"""Inputs of real programs, made once and kept in the cache folder."""

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from tslab_lab.base import cache, processes


def made(name: str, recipe: bytes, make: Callable[[Path], None]) -> Path:
    """The folder with the inputs called `name`. `make(folder)` fills it where there is none yet for this recipe: the
    bytes that decide what comes out. One that is interrupted leaves nothing that looks complete."""
    parent = cache.folder("inputs")
    folder = parent / f"{name}-{hashlib.sha256(recipe).hexdigest()[:16]}"
    if not folder.is_dir():
        with tempfile.TemporaryDirectory(prefix=f"{name}-making-", dir=parent) as directory:
            fresh = Path(directory) / "fresh"
            fresh.mkdir()
            make(fresh)
            try:
                os.rename(fresh, folder)
            except OSError as error:
                if not folder.is_dir():  # else somebody else was first
                    raise processes.Failure(
                        f"Cannot keep the inputs of {name} in {parent}: {error.strerror}."
                    ) from None
    return folder
