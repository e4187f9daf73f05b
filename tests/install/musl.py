"""Builds the library and the drop-in with musl instead of glibc, and runs programs on them: linked statically, linked dynamically,
and preloaded.

usage: musl.py CMAKE
"""

import sys

from ways import CONSUMER, SOURCE, empty_directory, expect, interface_version, need, output_of, run_consumer

(CMAKE,) = sys.argv[1:]
SONAME = f".so.{interface_version()}"


def main():
    need("musl-gcc")
    with empty_directory() as root:
        build, prefix = root / "build", root / "prefix"
        output_of(CMAKE, "-S", SOURCE, "-B", build, "-DCMAKE_C_COMPILER=musl-gcc", "-DTSLAB_TWINS=OFF", "-DTSLAB_WERROR=ON")
        output_of(CMAKE, "--build", build, "-j", "2")
        output_of(CMAKE, "--install", build, "--prefix", prefix)
        libraries = next(prefix.rglob("libtslab.a")).parent
        include = f"-I{prefix}/include"
        for name, sources, options, needed, arguments in (
            ("shared", ["main.c"], [libraries / "libtslab.so"], "libtslab", []),
            ("malloc", ["main.c"], [libraries / "libtslab-malloc.so"], "libtslab-malloc", ["malloc"]),
            ("static", ["main.c"], ["-static", libraries / "libtslab-malloc.a"], None, ["malloc"]),
        ):
            output_of("musl-gcc", include, *[CONSUMER / source for source in sources], *options, "-o", name)
            run_consumer(name, *arguments, needed=needed and needed + SONAME, LD_LIBRARY_PATH=str(libraries))
        for name, options in (("threads", [libraries / "libtslab-malloc.so"]), ("threads-static", ["-static", libraries / "libtslab-malloc.a"])):
            output_of("musl-gcc", "-O1", include, CONSUMER / "static.c", "-Wl,-u,malloc", *options, "-o", name)
            output_of(root / name, LD_LIBRARY_PATH=str(libraries))
        # Preloaded, in a program that knows nothing of it.
        (root / "plain.c").write_text("#include <stdlib.h>\nint main(void) { void *volatile p = malloc(10); free(p); return 0; }\n")
        output_of("musl-gcc", "plain.c", "-o", "plain")
        said = output_of(root / "plain", LD_PRELOAD=str(libraries / "libtslab-malloc.so"), TSLAB_STATS="1")
        expect("tslab statistics" in said, f"the preloaded library is not the malloc of a program: {said}")


main()
