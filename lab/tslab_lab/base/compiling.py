"""Compiles the C programs that are measured: each once, and again when anything changed that it is made of."""

import hashlib
import os
import shlex
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from tslab_lab.base import places, processes

COMMON = Path(__file__).with_name("c")  # headers that programs of several folders share


def compiler() -> list[str]:
    return shlex.split(os.environ.get("CC", "")) or ["cc"]


def _hash(argv: Iterable[str], inputs: Iterable[Path | str]) -> str:
    found = hashlib.sha256("\0".join(map(str, argv)).encode())
    for path in sorted(map(str, inputs)):
        found.update(Path(path).read_bytes())
    return found.hexdigest()


def build(
    target: Path,
    sources: Sequence[Path],
    flags: Iterable[str],
    libraries: Iterable[str] = (),
    inputs: Iterable[Path | str] = (),
    hint: str = "",
) -> None:
    """Makes `target` of `sources`. `inputs`: whatever else it depends on but headers. `hint` is added to the error when it
    does not compile. A build that fails or is interrupted leaves the old program or none."""
    argv = [*compiler(), f"-I{COMMON}", *(f"-I{folder}" for folder in places.HEADERS), *flags, *map(str, sources)]
    folders = {COMMON, *(Path(source).parent for source in sources), *(folder / "tslab" for folder in places.HEADERS)}
    every = {*sources, *inputs, *(header for folder in folders for header in folder.glob("*.h"))}
    key = _hash([*argv, *libraries], every)
    stamp = target.with_name(target.name + ".made-of")
    if target.exists() and stamp.exists() and stamp.read_text() == key:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(f"{target.name}.{os.getpid()}")
    try:
        argv += ["-o", str(fresh), *libraries]
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise processes.Failure(f"{sources[0]} does not compile with {argv[0]}:\n{done.stderr.strip()}{hint}")
        fresh.replace(target)
        stamp.write_text(key)
    except FileNotFoundError:
        how = "apt-get install gcc libc6-dev"
        raise processes.Failure(f"There is no C compiler '{argv[0]}'. Install one: {how}; or name one in CC.") from None
    finally:
        fresh.unlink(missing_ok=True)
