"""Where tslab's drop-in library is: named by the user, built in the checkout, beside this package, or where the linker
looks."""

import argparse
import os
import shutil
import subprocess
from pathlib import Path

from tslab_tools import files
from tslab_tools.failure import Absent, Failure

NAME = "libtslab-malloc.so"
VARIABLE = "TSLAB_LIBRARY"
HERE = Path(__file__).resolve().parent


def _checkout() -> Path | None:
    """The checkout of tslab that this package runs from; None where it was installed."""
    root = HERE.parents[1]
    return root if (root / "CMakeLists.txt").is_file() and (root / "src/malloc").is_dir() else None


CHECKOUT = _checkout()
BUILT = CHECKOUT / "build/release" / NAME if CHECKOUT else None
HINT = (
    f" {'Run `make build` to build it' if CHECKOUT else 'Install tslab (docs/install.md)'}, or name one with --library."
)


def add_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--library",
        type=Path,
        metavar="PATH",
        help=f"tslab's drop-in library (default: {VARIABLE}, the checkout's release build, the installed one)",
    )


def checked(path: Path | str, hint: str = "") -> Path:
    """The absolute path of a library that can be preloaded. `hint` is added to the error when there is none."""
    path = Path(path)
    if not path.is_file():
        raise Absent(f"There is no library {path}.{hint}")
    path = Path(os.path.abspath(path))
    if set(str(path)) & set(" :$"):
        raise Failure(f"LD_PRELOAD cannot name {path}: the path must have no space, colon or dollar sign.")
    with files.opened(path) as file:
        if files.part(file, 0, 4) != b"\x7fELF":
            raise Failure(f"{path} is no shared library.")
    return path


def locate(named: Path | None = None) -> tuple[Path, str]:
    """The library, and who has said so. `named`: with --library."""
    path, source = nearest(named)
    return checked(path, HINT), source


def nearest(named: Path | None = None) -> tuple[Path | str, str]:
    if named:
        return named, "--library"
    if variable := os.environ.get(VARIABLE):
        return variable, VARIABLE
    if BUILT and BUILT.is_file():
        return BUILT, "the checkout's release build"
    if installed := _beside() or _known_to_the_linker():
        return installed, "installed"
    raise Absent(f"There is no library {BUILT or NAME}.{HINT}")


def _beside() -> Path | None:
    """What was installed with this package: PREFIX/share/tslab/tslab_tools has the libraries in PREFIX/lib or below it,
    and Python's package has them in the folder `tslab`."""
    prefix = HERE.parents[2]
    folders = [HERE.parent / "tslab"]
    if HERE.parent == prefix / "share/tslab":
        folders += [prefix / "lib64", prefix / "lib", *sorted(prefix.glob("lib/*-linux-*"))]
    libraries = (path for folder in folders for path in sorted(folder.glob(f"{NAME}*")))
    return next(libraries, None)


def _known_to_the_linker() -> Path | None:
    ldconfig = shutil.which("ldconfig") or shutil.which("ldconfig", path="/usr/sbin:/sbin")
    for line in output_of([ldconfig, "-p"]).splitlines() if ldconfig else ():
        name, _, path = line.strip().partition(" => ")
        if name.startswith(NAME) and os.path.isfile(path):
            return Path(path)
    return None


def output_of(argv: list[str]) -> str:
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""
