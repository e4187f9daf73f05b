"""Compiles the sources without a build system: all of src, or the amalgamation, by a C compiler without flags.

usage: by_hand.py amalgamation CC            one compiler, the library and the drop-in
       by_hand.py sources CC...              all of src by each compiler; both C17 and C23
       by_hand.py amalgamations CC...        the drop-in by other compilers than the first; checked, static, and as a shared library
"""

import pathlib
import shutil
import sys

from ways import CONSUMER, SOURCE, empty_directory, expect, output_of, run_consumer

GOLDEN = SOURCE / "tests/golden"
STRICT = ["-Wall", "-Wextra", "-Werror"]


def names_of(*lists):
    return {line for name in lists for line in (GOLDEN / name).read_text().split("\n") if line and not line.startswith("#")}


def check_names(library, *lists):
    """The functions of the interface, and no name of the engine that could clash with one of the program."""
    rows = [line.split() for line in output_of("nm", "--extern-only", "--defined-only", "--format=posix", library).splitlines()]
    found = {row[0] for row in rows if len(row) > 1} - {"_.stapsdt.base"}  # hidden, of the probes; each object with some has it
    wanted = names_of(*lists)
    expect(found == wanted, f"{library}: too many: {sorted(found - wanted)}, too few: {sorted(wanted - found)}")


def check_library(cc, *options):
    output_of(cc, *options, *STRICT, "-c", "tslab.c", "-o", "tslab.o")
    check_names("tslab.o", "symbols-tslab.txt")
    output_of(cc, *options, "-I.", CONSUMER / "main.c", "tslab.o", "-o", "with-tslab")
    run_consumer("with-tslab")


def check_dropin(cc, *options):
    output_of(cc, *options, *STRICT, "-DTSLAB_MALLOC", "-c", "tslab.c", "-o", "malloc.o")
    check_names("malloc.o", "symbols-tslab.txt", "symbols-malloc.txt", "symbols-jemalloc.txt")
    output_of(cc, *options, "-I.", CONSUMER / "main.c", "malloc.o", "-o", "with-malloc")
    run_consumer("with-malloc", "malloc")
    output_of(cc, *options, "-I.", CONSUMER / "static.c", "malloc.o", "-pthread", "-o", "threads")
    output_of("./threads")


def make_amalgamation():
    """In a directory tslab/, which is how the header is included where it is installed, and beside the source."""
    output_of(SOURCE / "tools/amalgamate.py", ".")
    if not pathlib.Path("tslab").exists():
        pathlib.Path("tslab").mkdir()
        pathlib.Path("tslab/tslab.h").symlink_to("../tslab.h")


def check_sources(compilers):
    sources = sorted(SOURCE.glob("src/*/*.c"))
    paths = [f"-I{SOURCE}/include", f"-I{SOURCE}/src"]
    for cc in compilers:
        output_of(cc, "-O1", *sources, *paths, CONSUMER / "main.c", "-o", "program")
        run_consumer("program", "malloc")
        for standard in ("c17", "c2x"):
            output_of(cc, f"-std={standard}", *STRICT, "-fsyntax-only", *sources, *paths)


def check_poor_headers(cc):
    """What is optional is not missed, nor what came after glibc 2.17 and Linux 3.10."""
    compile_only = [cc, "-fsyntax-only", *STRICT, "-DTSLAB_MALLOC", "tslab.c"]
    later = pathlib.Path("later/sys/random.h")
    later.parent.mkdir(parents=True)
    later.write_text("#error glibc has it since 2.25\n")
    output_of(*compile_only, "-D_GNU_SOURCE", "-Ilater", "-include", pathlib.Path(__file__).with_name("old_headers.h"))
    if shutil.which("dpkg") is None:
        return
    for line in output_of("dpkg", "-L", "libc6-dev", "linux-libc-dev").splitlines():
        if line.startswith("/usr/include/") and pathlib.Path(line).is_file():
            pathlib.Path(f"bare{line}").parent.mkdir(parents=True, exist_ok=True)
            pathlib.Path(f"bare{line}").symlink_to(line)
    include = pathlib.Path("bare/usr/include")
    places = [output_of(cc, "-print-file-name=include").strip(), include, include / output_of(cc, "-print-multiarch").strip()]
    output_of(*compile_only, "-nostdinc", *[f"-isystem{place}" for place in places])


def check_shared(cc):
    """As a shared library that is preloaded."""
    output_of(cc, "-O2", "-fPIC", "-shared", "-DTSLAB_MALLOC", "tslab.c", "-o", "libmine.so")
    said = output_of("/usr/bin/python3", "-c", "print(1)", LD_PRELOAD=str(pathlib.Path("libmine.so").resolve()), TSLAB_STATS="1")
    expect("tslab statistics" in said, f"the shared library is not the malloc of a program: {said}")


def main():
    what, *compilers = sys.argv[1:]
    compilers = [cc for cc in compilers if shutil.which(cc)]
    with empty_directory():
        if what == "sources":
            check_sources(compilers)
            return
        make_amalgamation()
        if what == "amalgamation":
            check_library(compilers[0], "-O1")
            check_library(compilers[0], "-O2", "-fPIC")
            check_dropin(compilers[0], "-O0")
            check_poor_headers(compilers[0])
            return
        for cc in compilers[1:]:
            check_dropin(cc, "-O3", "-std=gnu2x")
        check_dropin(compilers[0], "-O1", "-static", "-DTSLAB_CHECKED=2")
        for cc in compilers:
            check_dropin(cc, "-O0")
        check_shared(compilers[0])


main()
