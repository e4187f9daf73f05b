"""Where the lab is, and where it may put what it builds."""

from pathlib import Path

from tslab_lab.base import cache


def shown(path):
    """A path without what is of this machine alone: from the checkout, or from home."""
    path = Path(path)
    for base, name in ((ROOT, ""), (Path.home(), "~")):
        if base and path.is_relative_to(base):
            return str(Path(name) / path.relative_to(base))
    return str(path)


def _checkout():
    """The checkout of tslab that this package runs from; None where it was installed."""
    root = Path(__file__).resolve().parents[3]
    return root if (root / "CMakeLists.txt").is_file() and (root / "src/malloc").is_dir() else None


ROOT = _checkout()
# The programs that are measured. Two checkouts never share them.
BUILT = ROOT / "build/lab" if ROOT else cache.root() / "programs"
LIBRARY = ROOT / "build/release/libtslab-malloc.so" if ROOT else None
HEADERS = [f"-I{ROOT / 'include'}"] if ROOT else []  # installed ones are found without being told
