"""What `lab epochs` measures: ways to serve a request and others, each a program with its arguments on an allocator, in groups."""

import shlex
import subprocess
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from tslab_lab.allocators.catalogue import OURS, SYSTEM
from tslab_lab.base import compiling, places

SOURCES = Path(__file__).with_name("c")
BUILT = places.BUILT / "epochs"
# Aligned, so that no loop and no function has more luck with its place than another.
FLAGS = ["-std=gnu17", "-D_GNU_SOURCE", "-O2", "-g", "-falign-functions=64", "-falign-loops=64"]
FLAGS += ["-fno-builtin-malloc", "-fno-builtin-free"]
POOLS = ("apr", "apr, own", "apr, static")
ARCHIVE = "libtslab.a"  # beside the drop-in

GROUPS = {
    "request": "225 objects of 16 to 448 bytes (always the same sizes, 53 KB), made inside of an epoch that is opened, "
    "entered, left and closed for them. release: tslab_epoch_malloc in an epoch that releases, no frees; vouched: "
    "plain malloc in an epoch that releases, no frees; drain: plain malloc in an epoch that drains, each object's "
    "first byte written, 225 frees. The peers: a pool of APR (apr_pool_create, apr_palloc, apr_pool_destroy), without "
    "frees, from the global allocator or, as a server's threads do, from one of its own without a lock; and malloc, "
    "first byte written, and free, without epochs. static: the program is linked with libtslab.a or libapr-1.a; all "
    "others call a shared library, through their table of jumps, as programs mostly do.",
    "sizes": "Objects of 16 to 448 bytes, as many as come to a size, the first byte of each written, all freed in the order in "
    "which they were made. malloc: without an epoch; drain: in an epoch that drains, opened, entered, left and closed for "
    "each request; survivor: the same, and one object of each request is freed when 100 others have come. On tslab.",
    "steps": "What does not depend on objects: open+close; enter+leave; and all four, as around a request.",
    "crowd": "1,000 requests are under way at once and allocate in turns; each has 225 objects of 16 to 448 bytes, "
    "all written. RSS: what the process weighs more than before, against the bytes that were asked for; left: when all "
    "objects are freed, and the epochs closed without reclaim. epochs: each request has one of its own, plain malloc "
    "inside; the others: plain malloc.",
    "reclaim": "Close, with reclaim, of an epoch of 512 MiB: objects of 16 to 2,048 bytes, all written. release: the "
    "epoch releases, and nothing was freed. drain: it drains, and everything was freed before, in random order. MiB: "
    "what the epoch weighed at most, and when it was closed; left: when close had returned. The time of the close is "
    "shared out over all pages that the epoch had.",
    "many": "turnover: a million epochs, 64 of them at a time, come and go with 4 objects each, half of them with two "
    "that are freed after the close: growth of the RSS after the first hundredth. open: 10,000 epochs open at once, "
    "without objects.",
    "tenants": "Requests of 225 objects of 16 to 448 bytes for three tenants in turns at random, each of which keeps one object "
    "of each request until 1,000 others have come. domains: an epoch for each tenant, entered around the request. thread.arena: "
    "an arena of jemalloc for each, chosen by thread.arena: with the thread's cache, with a flush of it at each switch, and "
    "without it. "
    "misplaced: kept objects that lie in another tenant's memory; off: the live bytes that the allocator tells of each tenant, "
    "against those kept; left: of 64 MiB more of one tenant, when all that it has is freed and it is closed with reclaim, or its "
    "arena purged.",
}


@dataclass(frozen=True)
class Way:
    """`amounts`: of work, in full and quick."""

    name: str
    group: str
    program: str
    word: str
    amounts: tuple[int, int]
    allocator: str

    def argv(self, quick: bool) -> list[str]:
        return [str(BUILT / self.program), self.word, str(self.amounts[quick])]


def every(allocators: Collection[str]) -> Iterator[Way]:
    """All that can be measured on these, in the tables' order."""

    def timed(name: str, word: str, allocator: str, group: str = "request", program: str = "request") -> Way:
        return Way(name, group, program, word, (400, 20), allocator)

    for word in ("release", "vouched", "drain"):
        yield timed(word, word, OURS)
    yield timed("release, static", "release", SYSTEM, program="request-static")
    for name, word, program in zip(POOLS, ("shared", "own", "shared"), ("pool", "pool", "pool-static")):
        yield timed(name, word, SYSTEM, program=program)
    for allocator in allocators:
        yield timed(f"{allocator}+free", "malloc", allocator)
    for size, kb in (("5 KB", 5), ("50 KB", 50), ("500 KB", 500), ("5 MB", 5000)):
        for word in ("malloc", "drain", "survivor"):
            yield timed(f"{size}, {word}", f"{word}-{kb}", OURS, "sizes", "sizes")
    for name, word in (("open+close", "empty"), ("enter+leave", "enter"), ("all four", "bracket")):
        yield timed(name, word, OURS, "steps")
    yield Way("epochs", "crowd", "crowd", "epochs", (1000, 100), OURS)
    for allocator in allocators:
        yield Way(allocator, "crowd", "crowd", "malloc", (1000, 100), allocator)
    for word in ("release", "drain"):
        yield Way(f"close, {word}", "reclaim", "reclaim", word, (512, 16), OURS)
    yield Way("turnover", "many", "many", "turnover", (1_000_000, 20_000), OURS)
    yield Way("open", "many", "many", "open", (10_000, 1_000), OURS)
    tenants = [("domains", "domain", OURS), ("tslab", "malloc", OURS)]
    if "jemalloc" in allocators:
        ways = (
            ("thread.arena", "lax"),
            ("thread.arena, flush", "arena"),
            ("thread.arena, no cache", "bare"),
            ("jemalloc", "malloc"),
        )
        tenants += [(name, word, "jemalloc") for name, word in ways]
    for name, word, allocator in tenants:
        yield Way(name, "tenants", "tenants", word, (200_000, 2_000), allocator)


def _apr(*words: str) -> list[str] | None:
    """What pkg-config says of APR; None: it is not installed."""
    try:
        done = subprocess.run(["pkg-config", *words, "apr-1"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return shlex.split(done.stdout) if done.returncode == 0 else None


def version_of_apr() -> str:
    return f"APR {found[0]}" if (found := _apr("--modversion")) else ""


def build(library: Path | None) -> set[str]:
    """Compiles the programs. Returns the names of those that can be: without APR the pools take no part, and without the archive
    beside the library nothing is linked with it."""
    programs: dict[str, tuple[str, list[str], list[str]]] = {
        name: (f"{name}.c", [], []) for name in ("request", "sizes", "crowd", "reclaim", "many", "tenants")
    }
    archive = library and library.absolute().parent / ARCHIVE
    if archive and archive.is_file():
        programs["request-static"] = (
            "request.c",
            [],
            ["-pthread", "-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive"],
        )
    options, shared, static = _apr("--cflags"), _apr("--libs"), _apr("--static", "--libs")
    if options is not None and shared is not None and static is not None:
        programs["pool"] = "pool.c", options, shared
        programs["pool-static"] = "pool.c", options, ["-l:libapr-1.a" if word == "-lapr-1" else word for word in static]
    for name, (source, more, libraries) in programs.items():
        archives = [word for word in libraries if word.endswith(".a") and word.startswith("/")]
        compiling.build(BUILT / name, [SOURCES / source], [*FLAGS, *more], libraries, archives)
    return set(programs)
