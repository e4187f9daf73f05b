"""Builds of tslab that decide a question in another way, for comparisons in the lab alone: a copy of the sources with a patch
of lab/variants."""

import filecmp
import shutil
import subprocess
import tempfile
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from tslab_lab.allocators import installed
from tslab_lab.allocators.catalogue import OURS
from tslab_lab.base import places, processes
from tslab_lab.base.shapes import Environment, Words
from tslab_tools import drop_in

COUNTER = "golden-locked"  # prints what operations cost in locked instructions and locks; a test's program
PATCHES = places.ROOT / "lab/variants" if places.ROOT else None
LEFT_OUT = shutil.ignore_patterns("build", "docs", "lab", ".*", "__pycache__", "node_modules", "target")


@dataclass(frozen=True)
class Variant:
    """`patch`: its name in lab/variants; none: the sources as they are. `number`: which of the ways that the patch has.
    `environment`: of the programs that run on it."""

    name: str
    patch: str = ""
    number: int | None = None
    environment: Environment = field(default_factory=dict, hash=False)

    @property
    def folder(self) -> Path:
        """Variants that are built alike share a build."""
        return places.BUILT / "variants" / f"{self.patch or 'default'}{'' if self.number is None else self.number}"

    @property
    def library(self) -> Path:
        return self.folder / drop_in.NAME

    @property
    def definition(self) -> str:
        return f"TSLAB_{self.patch.upper()}={self.number}" if self.number is not None else ""


DEFERRED = Variant("deferred", "deferred")
REMOTE = tuple(
    Variant(name, "remote", number)
    for name, number in (("straight", 0), ("outbox", 1), ("adopted", 6), ("mailbox", 10))
)
BYPASS = tuple(Variant(name, "bypass", number) for name, number in (("frees", 1), ("allocations", 2), ("both", 3)))


Cost = tuple[float, float]  # of an operation: locked read-modify-writes, and locks that threads may wait for


def build(variants: Collection[Variant], counted: bool) -> None:
    """Brings the builds of all variants up to date, each in a folder of its own. `counted`: the program that counts,
    too, which needs what the tests need."""
    root = places.ROOT
    if not root:
        raise processes.Failure("Variants are built from the sources, and this lab was installed without them.")
    sources = {patch: patched(patch) if patch else root for patch in {variant.patch for variant in variants}}
    for variant in {variant.folder: variant for variant in variants}.values():
        settings = {"CMAKE_BUILD_TYPE": "Release", "TSLAB_INSTALL": "OFF"}
        settings |= dict.fromkeys(
            ("TSLAB_TESTS", "TSLAB_TWINS"), "ON" if counted else "OFF"
        )  # the list of tests wants both
        settings["CMAKE_C_FLAGS"] = f"-D{variant.definition}" if variant.definition else ""
        options = [f"-D{key}={value}" for key, value in settings.items()]
        command(["cmake", "-S", sources[variant.patch], "-B", variant.folder, "-G", "Ninja", *options])
        command(["cmake", "--build", variant.folder, "--target", "tslab-malloc", *([COUNTER] if counted else [])])


def patched(name: str) -> Path:
    """The folder of the sources with this patch, and with the files that belong to it. What has not changed there keeps its
    time, so that it is not compiled again."""
    assert places.ROOT is not None and PATCHES is not None  # they are there in a checkout alone
    kept = places.BUILT / "variants/sources" / name
    with tempfile.TemporaryDirectory(prefix="tslab-variants-") as directory:
        fresh = Path(directory) / name
        shutil.copytree(places.ROOT, fresh, symlinks=True, ignore=LEFT_OUT)
        if (PATCHES / name).is_dir():
            shutil.copytree(PATCHES / name, fresh, dirs_exist_ok=True)
        command(["patch", "-d", fresh, "-p1", "-s", "-f", "--no-backup-if-mismatch", "-i", PATCHES / f"{name}.patch"])
        _bring(fresh, kept)
    return kept


def _bring(fresh: Path, kept: Path) -> None:
    """Makes one folder's files those of the other."""
    wanted = {path.relative_to(fresh) for path in fresh.rglob("*") if not path.is_dir()}
    for path in [path for path in kept.rglob("*") if not path.is_dir() and path.relative_to(kept) not in wanted]:
        path.unlink()
    for path in wanted:
        if not (kept / path).is_file() or not filecmp.cmp(fresh / path, kept / path, shallow=False):
            (kept / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(fresh / path, kept / path, follow_symlinks=False)


def libraries(variants: Iterable[Variant]) -> dict[str, installed.Library]:
    """dict name -> Library, of what was built."""
    found = {}
    for variant in variants:
        here, _ = installed.found([OURS], variant.library)
        source = (
            f"lab/variants/{variant.patch}.patch {variant.definition}".strip()
            if variant.patch
            else "built as users get it"
        )
        found[variant.name] = replace(
            here[OURS], name=variant.name, title=variant.name, source=source, environment=variant.environment
        )
    return found


def counts(variant: Variant) -> dict[str, Cost]:
    """By operation."""
    program = variant.folder / "tests/golden" / COUNTER
    env = {name: value for name, value in processes.environment().items() if not name.startswith("TSLAB_")}
    return counts_in(processes.run([program], env | variant.environment, f"{COUNTER} of {variant.name}"))


def counts_in(text: str) -> dict[str, Cost]:
    found = {}
    for line in text.splitlines():
        name, times, locked, _, *locks = line.split("\t")
        shared = sum(int(count) for rank, count in (lock.split() for lock in locks) if rank != "gate")
        found[name] = int(locked) / int(times), shared / int(times)
    return found


def command(argv: Words, cwd: Path | None = None) -> None:
    """Of a build."""
    words = [str(word) for word in argv]
    try:
        done = subprocess.run(words, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise processes.Failure(f"There is no {words[0]}. `make build` installs it.") from None
    if done.returncode != 0:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-20:])
        raise processes.Failure(f"'{' '.join(words)}' failed:\n{last}")
