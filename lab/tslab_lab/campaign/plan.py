"""What a campaign measures: a step for each page, in pieces that are commands of the lab, and how long each piece takes."""

from dataclasses import dataclass

from tslab_lab.allocators.catalogue import ALLOCATORS, OURS
from tslab_lab.allocators.variants import Variant
from tslab_lab.campaign import seconds
from tslab_lab.epoch_cost import cases as epoch_cases
from tslab_lab.workloads import catalogue, named

ROUNDS = 10
STRICT = ("--rounds", str(ROUNDS), "--strict", "--seconds", "7200")
ALL = ("--allocators", "all")
DEFERRED = ("--deferred", "build/deferred/libtslab-malloc.so")
CHECKED = "build/release/libtslab-malloc-checked.so"
SOAK = "soak"  # a target of make, not a command of the lab
PROGRAMS = ("redis", "python", "sqlite3", "lua", "perl", "cc1plus", "git", "nginx")
THREADS = (1, 2, 4, 8, 16)
REMOTE = (Variant("straight", {"TSLAB_REMOTE": 0}), Variant("outbox", {"TSLAB_REMOTE": 1}),
          Variant("adopted", {"TSLAB_REMOTE": 6}), Variant("mailbox", {"TSLAB_REMOTE": 10}))  # fmt: skip
BYPASS = (Variant("frees", {"TSLAB_BYPASS": 1}), Variant("allocations", {"TSLAB_BYPASS": 2}), Variant("both", {"TSLAB_BYPASS": 3}))


@dataclass(frozen=True)
class Piece:
    """`words`: of the command. `minutes`: how long it takes on two processors where nothing disturbs it. `builds`: variants
    that it needs; and the build that recycles only at close."""

    name: str
    words: tuple
    minutes: float
    builds: tuple = ()
    deferred: bool = False


@dataclass(frozen=True)
class Step:
    """`study`: what writes the page from the results of each piece; none: the command does, from all of them together."""

    name: str
    pieces: tuple
    study: str | None = None


def _file(case):
    """Its name for a file."""
    return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in case)


def _each(command, cases, options, sides, before=()):
    """A piece for each case."""
    return tuple(Piece(_file(case), (command, *before, case, *options), seconds.minutes(command, [case], sides, ROUNDS)) for case in cases)


def _pattern_groups():
    found = {}
    for case in named.select(["patterns"]):
        found.setdefault(_file(case.group), []).append(case.name)
    return found


def _sides(variants):
    return ",".join([OURS, *(f"{variant.name}={variant.folder / 'libtslab-malloc.so'}" for variant in variants)])


def _requests(name, words, columns, of_one):
    return Piece(name, ("requests", *words, *STRICT, "--no-figures"), seconds.minutes_of(of_one, columns, ROUNDS), deferred="--deferred" in words)


def full():
    every = len(ALLOCATORS)
    debian = ("--allocators", "tslab,debian")
    latency = [*catalogue.SETS["latency"], "churn-fixed:threads=4", "churn-fixed:threads=16"]
    checked = (*PROGRAMS, "app", "scopes", "mixed-remote", "burst-idle")
    question = ("--question", "what does the checked library cost?")
    return (
        Step("matrix", _each("bench", [*catalogue.SETS["standard"], *PROGRAMS], (*ALL, *STRICT), every)),
        Step("patterns", tuple(
            Piece(name, ("bench", *cases, *debian, *STRICT), seconds.minutes("bench", cases, 5, ROUNDS))
            for name, cases in _pattern_groups().items())),
        Step("latency", _each("latency", latency, ("--allocators", "all,tslab@magazines=0", *STRICT, "--no-figures"), every + 1)),
        Step("epochs", tuple(
            Piece(group, ("epochs", "--groups", group, *STRICT), seconds.minutes("epochs", [group], 1, ROUNDS))
            for group in epoch_cases.GROUPS)),
        Step("requests", (
            _requests("server", ("--scenarios", "server", *ALL, *DEFERRED), every + 6, seconds.SERVER),
            _requests("scattered", ("--scenarios", "scattered", *ALL), every + 1, seconds.SCATTERED))),
        Step("rss", (_rss("app", "app:operations=60000000", "all", every),)),
        Step("boundaries", (Piece("boundaries", ("boundaries", *ALL, *STRICT, "--no-figures"),
                                  seconds.minutes("bench", [case.name for case in named.select(["boundaries"])], every, ROUNDS)),)),
        Step("demo", (Piece("demo", ("demo", *STRICT), seconds.minutes("demo", ["demo"], 2, ROUNDS)),)),
        Step("checked", _each("ab", checked, (*STRICT, *question), 3, (OURS, CHECKED))),
        Step("soak", (Piece(SOAK, ("40",), 43),)),
        *studies(),
    )  # fmt: skip


def studies():
    """Of the earlier work: each page has its figures beside ours."""
    fixed = [f"churn-fixed:threads={count}" for count in THREADS]
    both = ("--allocators", "tslab,tslab@magazines=0")
    local = ("churn-adversarial", "churn-fixed:locality=100")
    return (
        Step("study-requests", (
            _requests("study", ("--preset", "study", "--allocators", "glibc,tslab", *DEFERRED), 3, seconds.STUDY),
            _requests("batch", ("--scenarios", "server", "--requests", "100000", "--rate", "4000", "--workers", "16", "--policies",
                                "never,batch-256", "--allocators", "glibc,tslab"), 3, seconds.BATCH)), study="requests"),
        Step("study-caches", (
            *_each("latency", fixed, (*both, *STRICT, "--no-figures"), 2),
            Piece("traffic", ("bench", *local, *both, *STRICT), seconds.minutes("bench", local, 2, ROUNDS)),
            Piece("bypass", ("latency", *local, "--allocators", _sides(BYPASS), *STRICT, "--no-figures"),
                  seconds.minutes("latency", local, 4, ROUNDS), BYPASS)), study="caches"),
        Step("study-mailbox", tuple(_mailbox()), study="mailbox"),
        Step("study-memory", (
            _rss("app", "app:operations=60000000,live=400", "tslab,glibc,tcmalloc,mimalloc", 4),
            _rss("budget", "large", "tslab,tslab@retain_bytes=0,tslab@retain_bytes=64M,tslab@purge=never", 4),
            _rss("decay", "burst-idle:idle_ms=1000", "tslab,tslab@purge_delay_ms=0,tslab@purge_delay_ms=5000,tslab@purge=eager,tslab@purge=never", 5),
            _rss("exit", "burst-idle:threads=4,min=256,max=4096", "tslab,tslab@purge=never,glibc,tcmalloc,mimalloc", 5)), study="memory"),
    )  # fmt: skip


def _mailbox():
    for least, most in ((16, 48), (16, 2048)):
        for threads in (4, 32):
            cases = [f"mixed-remote:threads={threads},remote={share},min={least},max={most}" for share in (0, 50, 90)]
            words = ("bench", *cases, "--allocators", _sides(REMOTE), *STRICT)
            yield Piece(f"{threads}-threads-{most}", words, seconds.minutes("bench", cases, 1 + len(REMOTE), ROUNDS), REMOTE)


def _rss(name, workload, allocators, sides):
    words = ("rss", "--allocators", allocators, "--rounds", str(ROUNDS), "--strict", workload)
    return Piece(name, words, seconds.minutes("rss", [workload], sides, ROUNDS))


def smoke():
    """Next to nothing of it: shows that it runs."""
    two = ("--allocators", "glibc,tslab")
    short = ("latency", "--rounds", "2", "--no-figures", "--allocators", "tslab,tslab@magazines=0")
    return (
        Step("matrix", tuple(Piece(_file(case), ("bench", case, *two, "--rounds", "2"), 0.2)
                             for case in ("pair:operations=20000", "replace:operations=20000,live=100"))),
        Step("latency", (Piece("pair", ("latency", "pair:operations=20000", *two, "--rounds", "1", "--no-figures"), 0.2),)),
        Step("epochs", tuple(Piece(group, ("epochs", "--quick", "--rounds", "1", "--groups", group, *two), 0.2) for group in ("request", "steps"))),
        Step("rss", (Piece("pair", ("rss", *two, "--rounds", "1", "pair:operations=3000000"), 0.2),)),
        Step("checked", (Piece("pair", ("ab", "glibc", "tslab", "pair:operations=20000", "--rounds", "5"), 0.2),)),
        Step("study-caches", (
            *(Piece(_file(f"churn-fixed:threads={count}"), (*short, f"churn-fixed:threads={count},operations=20000"), 0.2) for count in (1, 2)),
            Piece("traffic", ("bench", "churn-adversarial:operations=50000", "--allocators", "tslab,tslab@magazines=0", "--rounds", "2"), 0.2),
        ), study="caches"),
        Step("study-memory", (Piece("app", ("rss", *two, "--rounds", "2", "app:operations=2000000,live=400"), 0.2),), study="memory"),
    )  # fmt: skip


PLANS = {"full": full, "smoke": smoke}
