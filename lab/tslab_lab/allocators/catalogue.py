"""The allocators that are compared: what they are called, and where each one comes from."""

from dataclasses import dataclass, field

from tslab_lab.base.shapes import Environment

OURS, SYSTEM = "tslab", "glibc"


@dataclass(frozen=True)
class Crate:
    """A package of crates.io that carries the sources of an allocator, or a wheel of PyPI that carries the library. The checksum
    is the one that the registry tells."""

    name: str
    version: str
    sha256: str
    kind: str = "crate"  # or "wheel"


@dataclass(frozen=True)
class Allocator:
    name: str
    title: str
    package: str = ""  # Debian's, and the library in it
    file: str = ""
    crate: Crate | None = None  # or where its sources are, and the version of the allocator itself
    version: str = ""
    released: str = ""  # YYYY-MM-DD, of the sources where they tell, else of the crate
    environment: Environment = field(default_factory=dict)  # what else its own documentation says to set


_MIMALLOC = Crate("libmimalloc-sys", "0.1.49", "6a45a52f43e1c16f667ccfe4dd8c85b7f7c204fd5e3bf46c5b0db9a5c3c0b8e9")
_MIMALLOC3 = Crate(
    "cmeel-mimalloc", "3.4.3", "627d9e379503fd8a1001bed618f7434477c221f017cf31d4caca65d464731ff0", "wheel"
)
_PPROF = Crate("mimalloc-pprof", "1.1.1", "b4e88e22386bc722411a4d7d0ddd53d66137e9fdb3aa9877e7b1cbac2472faa4")
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
        Allocator("mimalloc2", "mimalloc v2", crate=_MIMALLOC, version="2.3.2", released="2026-04-29"),
        Allocator("mimalloc3", "mimalloc v3", crate=_MIMALLOC3, version="3.4.3", released="2026-07-28"),
        Allocator(
            "mimalloc-pprof",
            "mimalloc-pprof, with its profiler built in",
            crate=_PPROF,
            version="1.1.1",
            released="2026-10-25",
        ),
        Allocator("snmalloc", "snmalloc", crate=_SNMALLOC, version="0.7.6", released="2026-10-02"),
        Allocator("rpmalloc", "rpmalloc", crate=_RPMALLOC, version="1.4.3+b097fd0", released="2022-04-04"),
        Allocator("jemalloc5", "jemalloc (current)", crate=_JEMALLOC, version="5.3.1", released="2026-04-13"),
        # It has no releases: the day on which the crate took its sources.
        Allocator(
            "google",
            "Google's tcmalloc",
            crate=_TCMALLOC,
            version="2025-06-16",
            released="2025-06-16",
            environment=_RSEQ,
        ),
    )
}
GROUPS = {
    "all": list(ALLOCATORS),
    "newest": [name for name in ALLOCATORS if name not in ("jemalloc", "mimalloc")],  # of each, as far as it can be had
    "debian": [name for name, allocator in ALLOCATORS.items() if allocator.package or name == SYSTEM],
}
