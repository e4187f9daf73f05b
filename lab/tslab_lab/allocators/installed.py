"""Which allocators are here: where each one's library is, which version that is, and how a program gets it."""

import datetime
import email.utils
import gzip
import hashlib
import platform
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tslab_lab.allocators.catalogue import ALLOCATORS, GROUPS, OURS, SYSTEM, Allocator
from tslab_lab.base import cache, machine, places, processes
from tslab_lab.base.shapes import Environment, Record, Words
from tslab_tools import drop_in

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
_LOADER = re.compile(r"ld(-linux)?\b.*\.so(\.\d+)?")


@dataclass(frozen=True)
class Library:
    """An allocator that is here. `path` is None for a C library's own: the system's, or that beside `loader`."""

    name: str
    title: str
    path: Path | None
    version: str
    source: str
    sha256: str | None = None
    environment: Environment = field(default_factory=dict)
    released: str = ""  # YYYY-MM-DD, as far as it is known: of a release, of a package, of a file that was named
    loader: Path | None = None

    def argv(self, argv: Words) -> list[str]:
        """What runs the program. Its children have the system's C library."""
        first = [str(self.loader), "--library-path", str(self.loader.parent)] if self.loader else []
        return first + [str(word) for word in argv]


def words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def found(names: Iterable[str], library: Path | None = None) -> tuple[dict[str, Library], dict[str, str]]:
    """Those that are here as dict name -> Library, and the others as dict name -> why not, and how to get it. `names`
    as a user writes them for --allocators. tslab itself must be here when it is named, and so must be every path."""
    here: dict[str, Library] = {}
    missing: dict[str, str] = {}
    for name, path in _wanted(names):
        if name in here or name in missing:
            if path:
                raise processes.Failure(f"Two allocators are called {name}: write one as NAME=PATH, with another name.")
            continue
        if path:
            path = drop_in.checked(path)
            if _LOADER.fullmatch(path.name):
                here[name] = _libc_beside(name, path)
                continue
            version = _version_in(path)
            here[name] = Library(name, name, path, version, "named by path", sha256_of(path), released=_day_of(path))
        elif name == OURS:
            here[name] = _ours(library)
        else:
            _look_for(ALLOCATORS[name], here, missing)
    if not here and not missing:
        raise processes.Failure(f"--allocators names none. There are: {', '.join([*ALLOCATORS, *GROUPS])}.")
    return here, missing


def is_built_here(library: Library) -> bool:
    """Whether it comes from this checkout."""
    return places.ROOT is not None and library.path is not None and library.path.is_relative_to(places.ROOT)


def environment(library: Library) -> Environment:
    """The environment for a program that shall run on this library."""
    if library.loader:
        raise processes.Failure(f"{library.name} is a C library: only bench and ab measure it, with workloads.")
    result = processes.environment(library.path) | library.environment
    result.pop(drop_in.VARIABLE, None)  # it is the lab's, not the allocator's, which would complain about it
    return result


def environment_of_loaded(library: Library, argv: Words, who: str) -> Environment:
    """The environment for a program that Library.argv starts, where there is a loader."""
    if f" {library.argv([])[2]}/libc.so" not in drop_in.output_of(library.argv(["--list", *argv[:1]])):
        raise processes.Failure(f"{who} does not run on the C library beside {library.loader}.")
    return processes.environment() | library.environment


def proven_environment(library: Library, argv: Words, who: str) -> Environment:
    """The same, after a run of `argv` has shown that its malloc comes from there. A program that is linked against an
    allocator is brought back to the C library's malloc where that is wanted."""
    result = environment(library)
    if library.path:
        processes.require_served_by(library.path, argv, who, result)
    else:
        preload = processes.system_preload(argv, who)
        if preload:
            result["LD_PRELOAD"] = preload
    return result


def as_facts(libraries: dict[str, Library]) -> dict[str, Record]:
    """What a file of results says of them."""
    return {
        name: {
            "title": library.title,
            "allocator": library.name,
            "library": places.shown(library.path) if library.path else None,
            "version": library.version,
            "source": library.source,
            "sha256": library.sha256,
            "released": library.released,
            "environment": library.environment,
        }
        for name, library in libraries.items()
    }


def built_path(allocator: Allocator) -> Path:
    """Where `lab peers install` puts the library that it builds."""
    return cache.root() / "peers" / f"{allocator.name}-{allocator.version}" / f"lib{allocator.name}.so"


def sha256_of(path: Path | str) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def name_of(path: Path | str) -> str:
    """What a library is called by its file: libtslab-malloc.so.0 is tslab."""
    return Path(path).name.partition(".so")[0].removeprefix("lib").removesuffix("-malloc")


def _wanted(names: Iterable[str]) -> Iterator[tuple[str, Path | None]]:
    """Pairs of a name and a path, or None for one of the catalogue. A word with a slash is a path."""
    for word in names:
        name, equals, path = word.partition("=")
        if equals:
            if not path or not _NAME.fullmatch(name):
                raise processes.Failure(f"--allocators: '{word}' is neither a name nor NAME=PATH.")
            yield _free_name(name, path), Path(path)
        elif "/" in word:
            name = name_of(word)
            if not _NAME.fullmatch(name):
                raise processes.Failure(f"--allocators: the file {word} gives no name. Write it as NAME={word}")
            yield _free_name(name, word), Path(word)
        elif word in GROUPS:
            yield from ((name, None) for name in GROUPS[word])
        elif word in ALLOCATORS:
            yield word, None
        else:
            known = ", ".join([*ALLOCATORS, *GROUPS])
            raise processes.Failure(
                f"There is no allocator '{word}'. There are: {known}; or NAME=PATH for any library."
            )


def _free_name(name: str, path: str) -> str:
    if name in ALLOCATORS or name in GROUPS:
        raise processes.Failure(f"--allocators: {name} means another one here. Give {path} a name: NAME={path}")
    return name


def _ours(library: Path | None) -> Library:
    path, source = drop_in.locate(library)
    return Library(
        OURS, ALLOCATORS[OURS].title, path, _version_in(path), source, sha256_of(path), released=_day_of(path)
    )


def _libc_beside(name: str, loader: Path) -> Library:
    version = re.search(r"version (\d+\.\d+)", drop_in.output_of([str(loader), "--version"]))
    if not version:
        raise processes.Failure(f"{loader} is no loader of glibc.")
    return Library(name, name, None, version[1], "named by its loader", sha256_of(loader), {}, _day_of(loader), loader)


def _look_for(allocator: Allocator, here: dict[str, Library], missing: dict[str, str]) -> None:
    """Puts an allocator that is not ours into one of the two."""
    name = allocator.name
    if name == SYSTEM:
        version = _libc_version()
        here[name] = Library(name, allocator.title, None, version, "the system")
        return
    path: Path | None
    if crate := allocator.crate:
        path, source = built_path(allocator), f"{crate.kind} {crate.name} {crate.version.partition('+')[0]}"
        how = f"It is not built yet. To build it: lab peers install {name}"
    else:
        path, source = _debian_path(allocator.file), f"Debian's {allocator.package}"
        how = f"Debian's package is not installed. To install it: apt-get install {allocator.package}"
    if not path or not path.is_file():
        missing[name] = how
        return
    try:
        path = drop_in.checked(path)
    except processes.Failure as failure:
        missing[name] = str(failure)
        return
    version = allocator.version or _package_version(allocator.package) or _version_in(path)
    released = allocator.released or _packaged(allocator.package)
    here[name] = Library(name, allocator.title, path, version, source, sha256_of(path), allocator.environment, released)


def _day_of(path: Path) -> str:
    return datetime.date.fromtimestamp(Path(path).stat().st_mtime).isoformat()


def _packaged(package: str) -> str:
    """The day of a package of Debian's."""
    for path in Path("/usr/share/doc").glob(f"{package}/changelog.Debian*.gz") if package else ():
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith(" -- "):
                    return email.utils.parsedate_to_datetime(line.partition(">")[2].strip()).date().isoformat()
    return ""


def _libc_version() -> str:
    return machine.libc_name().removeprefix("glibc ")


def _debian_path(file: str) -> Path | None:
    for directory in (f"/usr/lib/{platform.machine()}-linux-gnu", "/usr/lib64", "/usr/lib"):
        path = Path(directory) / file
        if path.is_file():
            return path
    return None


def _package_version(package: str) -> str:
    return drop_in.output_of(["dpkg-query", "-W", "-f", "${Version}", package]).strip()


def _version_in(path: Path) -> str:
    """The version that the name of the file ends with, once links are followed."""
    return Path(path).resolve().name.partition(".so.")[2] or "unknown"
