"""What a campaign measures: a step for each page, and some for docs/origins.md, in pieces that are commands of the lab, each
with the minutes it takes."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tslab_lab.allocators.catalogue import OURS, SYSTEM
from tslab_lab.allocators.variants import BYPASS, DEFERRED, REMOTE, Variant
from tslab_lab.epoch_cost import ways
from tslab_lab.workloads import catalogue, named

ROUNDS = 6  # the least that have intervals to rely on
ALL = ("--allocators", "newest")
CHECKED = "build/release/libtslab-malloc-checked.so"
SOAK = "soak"  # a target of make, not a command of the lab
PROGRAMS = ("redis", "redis-save", "python", "sqlite3", "lua", "perl", "cc1plus", "clang", "db_bench", "start", "git", "postgres",
            "nginx")  # fmt: skip
CHECKED_PROGRAMS = ("redis", "python", "sqlite3", "lua", "perl", "cc1plus", "git", "nginx")
SERVERS = ("redis", "nginx", "postgres")
LITTERED = ("app", "mixed-remote", "scattered", "strings", "redis", "sqlite3")
PROFILED = ("redis", "lua", "scopes")
# Profiles by samples, one for each 512 KiB on average, beside the same without.
PROFILERS = (
    f"{OURS},{OURS}@profile=512K,jemalloc,jemalloc@MALLOC_CONF=prof:true,mimalloc-pprof,mimalloc-pprof@MIMALLOC_PROF=1"
)
THREADS = (1, 2, 4, 8, 16)
ORDER = ("matrix", "demo", "epochs", "requests", "fleetbench", "littered", "profile", "rss", "boundaries", "latency",
         "neighbours", "patterns")  # fmt: skip
FLEETBENCH = "fleetbench"  # its pieces want the files
BOTH = f"{OURS},{OURS}@magazines=0"


Words = tuple[str, ...]


@dataclass(frozen=True)
class Piece:
    """`words`: of the command. `minutes`: how long it takes, about; the index of the raw results knows better where it was measured.
    `builds`: variants that it needs."""

    name: str
    words: Words
    minutes: float = 2.5
    builds: tuple[Variant, ...] = ()

    @property
    def rounds(self) -> int:
        """That it asks for."""
        return int(self.words[self.words.index("--rounds") + 1]) if "--rounds" in self.words else 1


@dataclass(frozen=True)
class Step:
    """`page`: whether the command writes one from the results of all pieces together; else only the raw results are kept."""

    name: str
    pieces: tuple[Piece, ...]
    page: bool = True


def _file(case: str) -> str:
    """Its name for a file."""
    return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in case)


STRICT = ("--rounds", str(ROUNDS), "--strict")
LONG = (*STRICT, "--seconds", "7200")  # of a command that would begin no round after some time


def _each(command: str, cases: Iterable[str], options: Words, before: Words = ()) -> tuple[Piece, ...]:
    """A piece for each case."""
    return tuple(Piece(_file(case), (command, *before, case, *options)) for case in cases)


def _pattern_groups() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for case in named.select(["patterns"]):
        found.setdefault(_file(case.group), []).append(case.name)
    return found


def _sides(variants: Iterable[Variant]) -> str:
    return ",".join([OURS, *(f"{variant.name}={variant.library}" for variant in variants)])


def _requests(name: str, words: Words, minutes: float) -> Piece:
    return Piece(name, ("requests", *words, *LONG), minutes, (DEFERRED,) if "--deferred" in words else ())


def _rss(name: str, workload: str, allocators: str) -> Piece:
    return Piece(name, ("rss", "--allocators", allocators, *STRICT, workload))


def full() -> tuple[Step, ...]:
    """What README states first. All of it fits one session on one machine."""
    steps = {step.name: step for step in (*comparisons(), *yardsticks())}
    return tuple(steps.pop(name) for name in ORDER) + tuple(steps.values())


def long() -> tuple[Step, ...]:
    """What is measured seldom: the soak is a session of its own, and docs/origins.md says of which day its figures are."""
    return (*costs(), *studies(), Step("soak", (Piece(SOAK, ("40",), 43.0),)))


def comparisons() -> tuple[Step, ...]:
    """With other allocators."""
    debian = ("--allocators", f"{OURS},debian")
    timed = [*catalogue.SETS["latency"], "churn-fixed:threads=16"]
    patterns = (Piece(name, ("bench", *cases, *debian, *LONG), 4.0) for name, cases in _pattern_groups().items())
    sides = ("--allocators", f"{ALL[1]},{OURS}@magazines=0")
    return (
        Step("matrix", _each("bench", [*catalogue.SETS["standard"], *PROGRAMS], (*ALL, *LONG))),
        Step("neighbours", _each("bench", catalogue.SETS["neighbours"], (*ALL, *LONG))),
        Step("patterns", tuple(patterns)),
        Step("latency", _each("latency", timed, (*sides, *LONG)) + _each("latency", SERVERS, (*debian, *LONG))),
        Step("epochs", tuple(Piece(group, ("epochs", "--groups", group, *LONG)) for group in ways.GROUPS)),
        Step(
            "requests",
            (
                _requests("server", ("--scenarios", "server", *debian, "--deferred"), 8.0),
                _requests("scattered", ("--scenarios", "scattered", *ALL), 6.0),
            ),
        ),
        Step("rss", (_rss("app", "app:operations=60000000", ALL[1]),)),
        Step("boundaries", (Piece("boundaries", ("boundaries", *ALL, *LONG), 6.0),)),
        Step("demo", (Piece("demo", ("demo", *LONG)),)),
    )


def yardsticks() -> tuple[Step, ...]:
    """Of others: production's distributions, heaps that are not fresh, profilers."""
    littered = ("--littered", "--allocators", f"{OURS},{SYSTEM},jemalloc5,mimalloc3,google", *LONG)
    return (
        Step(FLEETBENCH, _each("bench", [case.name for case in named.SETS[FLEETBENCH]], (*ALL, *LONG))),
        Step("littered", _each("bench", LITTERED, littered)),
        Step("profile", _each("bench", PROFILED, ("--allocators", PROFILERS, *LONG))),
    )


def costs() -> tuple[Step, ...]:
    """Of the checked library."""
    cases = (*CHECKED_PROGRAMS, "app", "scopes", "mixed-remote", "burst-idle")
    options = (*LONG, "--question", "what does the checked library cost?")
    return (Step("checked", _each("ab", cases, options, before=(OURS, CHECKED))),)


def studies() -> tuple[Step, ...]:
    """What earlier allocators measured, measured here: docs/origins.md has the figures, and no command writes it."""
    local = ("churn-adversarial", "churn-fixed:locality=100")
    both, two = ("--allocators", BOTH), ("--allocators", f"{SYSTEM},{OURS}")
    many = ("--requests", "100000", "--rate", "4000", "--workers", "16", "--policies", "never,batch-256")
    requests = (
        _requests("study", ("--preset", "study", *two, "--deferred"), 2.5),
        _requests("batch", ("--scenarios", "server", *many, *two), 12.0),
    )
    caches = (
        *_each("latency", [f"churn-fixed:threads={count}" for count in THREADS], (*both, *LONG)),
        Piece("traffic", ("bench", *local, *both, *LONG)),
        Piece("bypass", ("latency", *local, "--allocators", _sides(BYPASS), *LONG), builds=BYPASS),
    )
    options = ("purge_delay_ms=0", "purge_delay_ms=5000", "purge=eager", "purge=never")
    purges = ",".join([OURS, *(f"{OURS}@{option}" for option in options)])
    memory = (
        _rss("app", "app:operations=60000000,live=400", f"{OURS},{SYSTEM},tcmalloc,mimalloc"),
        _rss("budget", "large", f"{OURS},{OURS}@retain_bytes=0,{OURS}@retain_bytes=64M,{OURS}@purge=never"),
        _rss("decay", "burst-idle:idle_ms=1000", purges),
        _rss("exit", "burst-idle:threads=4,min=256,max=4096", f"{OURS},{OURS}@purge=never,{SYSTEM},tcmalloc,mimalloc"),
    )
    return (
        Step("study-requests", requests, page=False),
        Step("study-caches", caches, page=False),
        Step("study-mailbox", tuple(_mailbox()), page=False),
        Step("study-memory", memory, page=False),
    )


def _mailbox() -> Iterator[Piece]:
    for least, most in ((16, 48), (16, 2048)):
        for threads in (4, 32):
            cases = [f"mixed-remote:threads={threads},remote={share},min={least},max={most}" for share in (0, 50, 90)]
            words = ("bench", *cases, "--allocators", _sides(REMOTE), *LONG)
            yield Piece(f"{threads}-threads-{most}", words, 6.0, REMOTE)


def smoke() -> tuple[Step, ...]:
    """Next to nothing of it: shows that it runs."""
    two = ("--allocators", f"{SYSTEM},{OURS}")

    def pieces(**words: str) -> tuple[Piece, ...]:
        return tuple(Piece(name.replace("_", "-"), tuple(text.split()), 0.2) for name, text in words.items())

    pair, once = "pair:operations=20000", " ".join((*two, "--rounds", "1"))
    twice = " ".join((*two, "--rounds", "2"))
    return (
        Step("matrix", pieces(pair=f"bench {pair} {twice}", replace=f"bench replace:operations=20000,live=100 {twice}")),
        Step("latency", pieces(pair=f"latency {pair} {once}")),
        Step("epochs", pieces(request=f"epochs --quick --groups request {once}", steps=f"epochs --quick --groups steps {once}")),
        Step("rss", pieces(pair=f"rss {once} pair:operations=3000000")),
        Step("checked", pieces(pair=f"ab {SYSTEM} {OURS} {pair} --rounds 5")),
        Step("study-memory", pieces(app=f"rss {twice} app:operations=2000000,live=400"), page=False),
    )  # fmt: skip


PLANS = {"full": full, "long": long, "smoke": smoke}
