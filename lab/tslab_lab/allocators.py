"""The allocators that are compared: what they are called, where each one's library is, and which version that is."""

import hashlib
import os
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from tslab_lab import cache
from tslab_lab import machine
from tslab_lab import places
from tslab_lab import programs

OURS, SYSTEM = "tslab", "glibc"
DROP_IN = "libtslab-malloc.so"
LIBRARY_VARIABLE = "TSLAB_LIBRARY"
_HINT = " Run `make build` to build it, or name one with --library."
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")


@dataclass(frozen=True)
class Crate:
    """A package of crates.io that carries the sources of an allocator. The checksum is the one that crates.io tells."""

    name: str
    version: str
    sha256: str


@dataclass(frozen=True)
class Allocator:
    name: str
    title: str
    package: str = ""  # Debian's, and the library in it
    file: str = ""
    crate: Crate | None = None  # or where its sources are, and the version of the allocator itself
    version: str = ""
    environment: dict = field(default_factory=dict)  # what else its own documentation says to set


@dataclass(frozen=True)
class Library:
    """An allocator that is here. `path` is None for the C library's own."""

    name: str
    title: str
    path: Path | None
    version: str
    source: str
    sha256: str | None = None
    environment: dict = field(default_factory=dict)


_MIMALLOC = Crate("libmimalloc-sys", "0.1.49", "6a45a52f43e1c16f667ccfe4dd8c85b7f7c204fd5e3bf46c5b0db9a5c3c0b8e9")
_SNMALLOC = Crate("snmalloc-sys", "0.7.6", "f09c93c55f9a2b8dab75738a83c771231c5f408af65b8657433fe5bc93cc76cb")
_RPMALLOC = Crate("rpmalloc-sys", "0.2.3+b097fd0", "8d4b7d5e225a53887ee57fcec492eaf114b8e290f7072d035adc6ddd6810b67b")
_JEMALLOC = Crate(
    "tikv-jemalloc-sys",
    "0.7.1+5.3.1-0-g81034ce1f1373e37dc865038e1bc8eeecf559ce8",
    "1a2825c78386b4ae0314074867860ba9577875de945f05992c38815cbec327f0",
)
_TCMALLOC = Crate("libtcmalloc-sys", "0.1.14", "33e204268a3b09862788a2894346c768b95b2cb29cba42c5e2bb9ea7f48fa317")

# glibc takes the one registration for restartable sequences that a thread may have. Google's tcmalloc needs it for its
# caches per processor, and silently goes without them otherwise.
_RSEQ = {"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}

ALLOCATORS = {
    allocator.name: allocator
    for allocator in (
        Allocator(OURS, "tslab"),
        Allocator(SYSTEM, "glibc's malloc"),
        Allocator("jemalloc", "jemalloc (Debian's)", "libjemalloc2", "libjemalloc.so.2"),
        Allocator("tcmalloc", "gperftools' tcmalloc (Debian's)", "libtcmalloc-minimal4", "libtcmalloc_minimal.so.4"),
        Allocator("mimalloc", "mimalloc (Debian's)", "libmimalloc2.0", "libmimalloc.so.2"),
        Allocator("mimalloc2", "mimalloc v2", crate=_MIMALLOC, version="2.3.2"),
        Allocator("mimalloc3", "mimalloc v3", crate=_MIMALLOC, version="3.3.2"),
        Allocator("snmalloc", "snmalloc", crate=_SNMALLOC, version="0.7.6"),
        Allocator("rpmalloc", "rpmalloc", crate=_RPMALLOC, version="1.4.3+b097fd0"),
        Allocator("jemalloc5", "jemalloc (current)", crate=_JEMALLOC, version="5.3.1"),
        # It has no releases: the day on which the crate took its sources.
        Allocator("google", "Google's tcmalloc", crate=_TCMALLOC, version="2025-06-16", environment=_RSEQ),
    )
}
GROUPS = {
    "all": list(ALLOCATORS),
    "debian": [name for name, allocator in ALLOCATORS.items() if allocator.package or name == SYSTEM],
}


def add_option(parser):
    """The options that every sub-command has which measures: found(arguments.allocators, arguments.library)."""
    known = ", ".join(ALLOCATORS)
    parser.add_argument(
        "--allocators",
        type=words,
        default=["all"],
        metavar="A,B,...",
        help=f"some of: {known}; 'all' that are here (default); 'debian' for {', '.join(GROUPS['debian'])}; "
        "or any library to preload, as PATH or NAME=PATH",
    )
    add_library_option(parser)


def add_library_option(parser):
    parser.add_argument(
        "--library",
        type=Path,
        metavar="PATH",
        help=f"tslab's drop-in library (default: {LIBRARY_VARIABLE}, the checkout's release build, the installed one)",
    )


def words(text):
    return [word.strip() for word in text.split(",") if word.strip()]


def found(names, library=None):
    """Those that are here as dict name -> Library, and the others as dict name -> why not, and how to get it. `names`
    as a user writes them for --allocators. tslab itself must be here when it is named, and so must be every path."""
    here, missing = {}, {}
    for name, path in _wanted(names):
        if name in here or name in missing:
            if path:
                raise programs.Failure(f"Two allocators are called {name}: write one as NAME=PATH, with another name.")
            continue
        if path:
            path = checked(path)
            here[name] = Library(name, name, path, _version_in(path), "named by path", sha256_of(path))
        elif name == OURS:
            here[name] = _ours(library)
        else:
            _look_for(ALLOCATORS[name], here, missing)
    if not here and not missing:
        raise programs.Failure(f"--allocators names none. There are: {', '.join([*ALLOCATORS, *GROUPS])}.")
    return here, missing


def environment(library):
    """The environment for a program that shall run on this library."""
    result = programs.environment(library.path) | library.environment
    result.pop(LIBRARY_VARIABLE, None)  # it is the lab's, not the allocator's, which would complain about it
    return result


def proven_environment(library, argv, who):
    """The same, after a run of `argv` has shown that its malloc comes from there. A program that is linked against an
    allocator is brought back to the C library's malloc where that is wanted."""
    result = environment(library)
    if library.path:
        programs.require_served_by(library.path, argv, who, result)
    else:
        preload, _ = programs.system_preload(argv, who)
        if preload:
            result["LD_PRELOAD"] = preload
    return result


def as_facts(libraries):
    """What a file of results says of them."""
    return {
        name: {
            "title": library.title,
            "library": str(library.path) if library.path else None,
            "version": library.version,
            "source": library.source,
            "sha256": library.sha256,
            "environment": library.environment,
        }
        for name, library in libraries.items()
    }


def built_path(allocator):
    """Where `tslab peers install` puts the library that it builds."""
    return cache.root() / "peers" / f"{allocator.name}-{allocator.version}" / f"lib{allocator.name}.so"


def checked(path, hint=""):
    """The absolute path of a library that can be preloaded. `hint` is added to the error when there is none."""
    path = Path(path)
    if not path.is_file():
        raise programs.Failure(f"There is no library {path}.{hint}")
    path = Path(os.path.abspath(path))
    if set(str(path)) & set(" :$"):
        raise programs.Failure(f"LD_PRELOAD cannot name {path}: the path must have no space, colon or dollar sign.")
    with path.open("rb") as file:
        if file.read(4) != b"\x7fELF":
            raise programs.Failure(f"{path} is no shared library.")
    return path


def sha256_of(path):
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def name_of(path):
    """What a library is called by its file: libtslab-malloc.so.0 is tslab."""
    return Path(path).name.partition(".so")[0].removeprefix("lib").removesuffix("-malloc")


def _wanted(names):
    """Pairs of a name and a path, or None for one of the catalogue. A word with a slash is a path."""
    for word in names:
        name, equals, path = word.partition("=")
        if equals:
            if not path or not _NAME.fullmatch(name):
                raise programs.Failure(f"--allocators: '{word}' is neither a name nor NAME=PATH.")
            yield _free_name(name, path), Path(path)
        elif "/" in word:
            name = name_of(word)
            if not _NAME.fullmatch(name):
                raise programs.Failure(f"--allocators: the file {word} gives no name. Write it as NAME={word}")
            yield _free_name(name, word), Path(word)
        elif word in GROUPS:
            yield from ((name, None) for name in GROUPS[word])
        elif word in ALLOCATORS:
            yield word, None
        else:
            known = ", ".join([*ALLOCATORS, *GROUPS])
            raise programs.Failure(f"There is no allocator '{word}'. There are: {known}; or NAME=PATH for any library.")


def _free_name(name, path):
    if name in ALLOCATORS or name in GROUPS:
        raise programs.Failure(f"--allocators: {name} means another one here. Give {path} a name: NAME={path}")
    return name


def _ours(library):
    path, source = _our_path(library)
    path = checked(path, _HINT)
    return Library(OURS, ALLOCATORS[OURS].title, path, _version_in(path), source, sha256_of(path))


def _our_path(library):
    if library:
        return library, "--library"
    if named := os.environ.get(LIBRARY_VARIABLE):
        return named, LIBRARY_VARIABLE
    if places.LIBRARY and places.LIBRARY.is_file():
        return places.LIBRARY, "the checkout's release build"
    if installed := _installed():
        return installed, "installed"
    raise programs.Failure(f"There is no library {places.LIBRARY or DROP_IN}.{_HINT}")


def _installed():
    """Where the dynamic linker finds tslab's drop-in."""
    ldconfig = shutil.which("ldconfig") or shutil.which("ldconfig", path="/usr/sbin:/sbin")
    for line in _output([ldconfig, "-p"]).splitlines() if ldconfig else ():
        name, _, path = line.strip().partition(" => ")
        if name.startswith(DROP_IN) and os.path.isfile(path):
            return path
    return None


def _look_for(allocator, here, missing):
    """Puts an allocator that is not ours into one of the two."""
    name = allocator.name
    if name == SYSTEM:
        here[name] = Library(name, allocator.title, None, _libc_version(), "the system")
        return
    if allocator.package:
        path, source = _debian_path(allocator.file), f"Debian's {allocator.package}"
        how = f"Debian's package is not installed. To install it: apt-get install {allocator.package}"
    else:
        crate = allocator.crate
        path, source = built_path(allocator), f"crate {crate.name} {crate.version.partition('+')[0]}"
        how = f"It is not built yet. To build it: tslab peers install {name}"
    if not path or not path.is_file():
        missing[name] = how
        return
    try:
        path = checked(path)
    except programs.Failure as failure:
        missing[name] = str(failure)
        return
    version = allocator.version or _package_version(allocator.package) or _version_in(path)
    here[name] = Library(name, allocator.title, path, version, source, sha256_of(path), allocator.environment)


def _libc_version():
    return machine.libc_name().removeprefix("glibc ")


def _debian_path(file):
    for directory in (f"/usr/lib/{platform.machine()}-linux-gnu", "/usr/lib64", "/usr/lib"):
        path = Path(directory) / file
        if path.is_file():
            return path
    return None


def _package_version(package):
    return _output(["dpkg-query", "-W", "-f", "${Version}", package]).strip()


def _version_in(path):
    """The version that the name of the file ends with, once links are followed."""
    return Path(path).resolve().name.partition(".so.")[2] or "unknown"


def _output(argv):
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""
