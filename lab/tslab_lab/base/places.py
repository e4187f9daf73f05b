"""Where the lab is, and where it may put what it builds."""

from pathlib import Path

from tslab_lab.base import cache
from tslab_tools import drop_in


def shown(path: Path | str) -> str:
    """A path without what is of this machine alone: from the checkout, or from home."""
    path = Path(path)
    for base, name in ((ROOT, ""), (Path.home(), "~")):
        if base and path.is_relative_to(base):
            return str(Path(name) / path.relative_to(base))
    return str(path)


ROOT = drop_in.CHECKOUT
# The programs that are measured. Two checkouts never share them.
BUILT = ROOT / "build/lab" if ROOT else cache.root() / "programs"
HEADERS = [ROOT / "include"] if ROOT else []  # installed ones are found without being told
