"""`lab variants`: a question of the engine's design, measured anew: builds that answer it in other ways, side by side."""

import argparse
from dataclasses import dataclass, replace

from tslab_lab.allocators import installed, variants
from tslab_lab.allocators.catalogue import OURS
from tslab_lab.allocators.variants import Variant
from tslab_lab.display import layout
from tslab_lab.measure import measurement
from tslab_lab.report import variant_tables
from tslab_lab.results.storage import Results
from tslab_lab.workloads import named

NAME = "variants"
HELP = "builds of tslab that decide a question of its design in other ways"
DESCRIPTION = (
    "Builds tslab in several ways, below build/lab/variants, each from a copy of the sources with a patch of "
    "lab/variants, runs them interleaved, and prints tables in Markdown: time "
    f"against {OURS} as it is, round by round, as the median with its 95 % interval; locked instructions and locks "
    "for each operation; and percentiles of single operations, where the question is about these. QUESTION is one of: "
    "remote (docs/decisions/remote-frees.md), bypass (docs/decisions/magazines.md)."
)


@dataclass(frozen=True)
class Question:
    """`workloads`: what is run. `counted`: how the operations begin whose locks are shown. `timed`: workloads whose
    single operations are timed."""

    variants: tuple[Variant, ...]
    workloads: tuple[str, ...]
    counted: tuple[str, ...]
    timed: tuple[str, ...] = ()


SIZES = ((16, 48), (16, 2048), (16, 32768))
SHARED = [
    f"mixed-remote:threads={threads},remote={share},min={least},max={most}"
    for least, most in SIZES
    for threads in (2, 4, 8, 16, 32)
    for share in (0, 50, 90)
]
HANDED = [f"{name}:min={least},max={most}" for least, most in SIZES[:2] for name in ("producer-consumer", "free-only")]

QUESTIONS = {
    "remote": Question(
        variants=(
            Variant("straight", "remote", 0),
            Variant("outbox", "remote", 1),
            Variant(OURS),  # outbox and exchange
            Variant("adopted", "remote", 6),
            Variant("mailbox", "remote", 10),
        ),
        workloads=(*SHARED, *HANDED, "cache-scratch:size=48", "larson"),
        counted=("two replace", "producer of"),
    ),
    "bypass": Question(
        variants=(
            Variant(OURS),
            Variant("frees", "bypass", 1),
            Variant("allocations", "bypass", 2),
            Variant("both", "bypass", 3),
            Variant("magazines=0", environment={"TSLAB_MAGAZINES": "0"}),
        ),
        workloads=(
            "bulk:min=64,max=64",
            "bulk:min=64,max=64,order=2",
            "bulk",
            "bulk:order=2",
            "replace",
            "churn-fixed",
            "phase-shift",
            "producer-consumer",
            "free-only",
        ),
        counted=("malloc and free in", "replace among", "bulk of", "producer of"),
        timed=("churn-fixed",),
    ),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("question", metavar="QUESTION", choices=QUESTIONS, help=" or ".join(QUESTIONS))
    add("workloads", nargs="*", metavar="WORKLOAD", help="what to run, as for bench (default: what it is about)")
    add("--variants", type=installed.words, metavar="A,B,...", help=f"some of them (default: all); {OURS} always")
    add("--no-counts", action="store_true", help="count no locks: that needs the packages of the tests")
    measurement.add_options(parser, seconds=7200, allocators=())
    measurement.add_page(parser)


def run(arguments: argparse.Namespace) -> int:
    question = chosen(QUESTIONS[arguments.question], arguments)
    measurement.require_writable(arguments)
    cases = named.select(question.workloads)
    print(f"Building {', '.join(variant.name for variant in question.variants)} ...", flush=True)
    variants.build(question.variants, not arguments.no_counts)
    libraries = variants.libraries(question.variants)
    found, interrupted = measurement.run(NAME, arguments, cases, libraries)
    parts = [how_to_read(found), *variant_tables.times(found, cases, OURS, arguments.quick)]
    if not arguments.no_counts:
        counted = {variant.name: variants.counts(variant) for variant in question.variants}
        parts += variant_tables.counts(counted, question.counted)
    if question.timed and not interrupted:
        again = argparse.Namespace(**vars(arguments) | {"output": found.path.parent / "latency"})
        timed, interrupted = measurement.run(NAME, again, named.select(question.timed), libraries, latency=True)
        parts += variant_tables.percentiles(timed)
    notes = [*measurement.remarks(found), *(f"{name}: {text}" for name, text in measurement.setting(found))]
    page = "\n\n".join([*parts, "\n".join(f"- {note}" for note in notes)]) + "\n"
    print(page)
    if arguments.markdown:
        arguments.markdown.write_text(page, encoding="utf-8")
    return measurement.end(found, interrupted)


def chosen(question: Question, arguments: argparse.Namespace) -> Question:
    """The question as far as the user asks it."""
    names = [variant.name for variant in question.variants]
    wanted = arguments.variants or names
    unknown = [name for name in wanted if name not in names]
    if unknown:
        arguments.error(f"--variants: there is no {', '.join(unknown)}; there are {', '.join(names)}")
    kept = tuple(variant for variant in question.variants if variant.name in (*wanted, OURS))
    return replace(question, variants=kept, workloads=tuple(arguments.workloads) or question.workloads)


def how_to_read(found: Results) -> str:
    return (
        f"{layout.medians_of(found.rounds)}, interleaved in random order. {OURS} in nanoseconds for each "
        f"operation; the others as ratios to {OURS}, round by round, with 95 % bootstrap intervals: less is better."
    )
