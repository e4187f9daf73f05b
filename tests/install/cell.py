"""One cell of the matrix: builds the library and the drop-in by a compiler, for a C library and a processor, and runs programs on
them: linked statically, linked dynamically, and preloaded. Programs of a processor that this machine has not run under qemu.

usage: cell.py CMAKE gcc|clang glibc|musl x86_64|aarch64 [DIRECTORY]

What musl has for 64-bit ARM is fetched from Debian into DIRECTORY, or, without one, for this run.
"""

import os
import pathlib
import platform
import re
import sys

from ways import CONSUMER, SOURCE, empty_directory, expect, interface_version, need, output_of, run_consumer

CMAKE, COMPILER, LIBC, MACHINE = sys.argv[1:5]
KEPT = pathlib.Path(sys.argv[5]).resolve() if sys.argv[5:] else None
SONAME = f".so.{interface_version()}"
IS_NATIVE = platform.machine() == MACHINE
SPECS = pathlib.Path(f"/usr/lib/{platform.machine()}-linux-musl/musl-gcc.specs")
# As gcc does it by its specs: where musl lies, what a program begins and ends with, and which loader it has.
CLANG = """#!/bin/sh
set -f
machine="clang --target={machine}-linux-gnu {flags} -nostdlibinc -isystem {include} -Qunused-arguments"
case " $* " in
    *" -c "* | *" -E "* | *" -S "*) exec $machine "$@" ;;
    *" -shared "*) exec $machine -nostdlib {lib}/crti.o "$@" -L{lib} -lc -lgcc -lgcc_eh {lib}/crtn.o ;;
    *" -static "*) exec $machine -nostdlib -no-pie {lib}/crt1.o {lib}/crti.o "$@" -L{lib} -lc -lgcc -lgcc_eh {lib}/crtn.o ;;
    *) exec $machine -nostdlib -pie -Wl,-dynamic-linker,{loader} {lib}/Scrt1.o {lib}/crti.o "$@" -L{lib} -lc -lgcc -lgcc_eh {lib}/crtn.o ;;
esac
"""


def program(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


def musl(root):
    """A compiler for musl, and the root of its loader."""
    need(COMPILER, "musl-gcc")
    directory = pathlib.Path("/")
    if not IS_NATIVE:
        directory = KEPT or root / "musl"
        output_of(SOURCE / "tools/arm64-packages.sh", directory, "musl", "musl-dev")
        shared = directory / f"usr/lib/{MACHINE}-linux-musl/libc.so"
        if not shared.exists():
            shared.symlink_to(directory / f"lib/{MACHINE}-linux-musl/libc.so")
    lib, include = (directory / f"usr/{part}/{MACHINE}-linux-musl" for part in ("lib", "include"))
    loader = f"/lib/ld-musl-{MACHINE}.so.1"
    flags = "-mno-outline-atomics" if MACHINE == "aarch64" else ""  # gcc's own functions for those want glibc
    if COMPILER == "clang":
        return program(root / "cc", CLANG.format(machine=MACHINE, flags=flags, include=include, lib=lib, loader=loader)), directory
    gcc = "gcc" if IS_NATIVE else f"{MACHINE}-linux-gnu-gcc"
    need(gcc)
    text = SPECS.read_text().replace(f"/usr/lib/{SPECS.parent.name}", str(lib)).replace(f"/usr/include/{SPECS.parent.name}", str(include))
    (root / "specs").write_text(re.sub(r"/lib/ld-musl-\S+", loader, text))
    return program(root / "cc", f'#!/bin/sh\nexec {gcc} {flags} "$@" -specs {root}/specs\n'), directory


def glibc(root):
    if IS_NATIVE:
        need(COMPILER)
        return COMPILER, pathlib.Path("/")
    need(f"{MACHINE}-linux-gnu-gcc", COMPILER)  # clang takes what gcc has for that processor
    call = f"{MACHINE}-linux-gnu-gcc" if COMPILER == "gcc" else f"clang --target={MACHINE}-linux-gnu"
    return program(root / "cc", f'#!/bin/sh\nexec {call} "$@"\n'), pathlib.Path(f"/usr/{MACHINE}-linux-gnu")


def main():
    with empty_directory() as root:
        cc, above = {"glibc": glibc, "musl": musl}[LIBC](root)
        emulator = []
        if not IS_NATIVE:
            need(f"qemu-{MACHINE}")
            emulator = [f"qemu-{MACHINE}", "-L", above]

        def run(name, **environment):
            """The emulator takes the variables of the program by itself: LD_PRELOAD is not for it."""
            words = [word for setting in environment.items() for word in ("-E", "=".join(setting))] if emulator else []
            return output_of(*emulator, *words, root / name, **({} if emulator else environment))

        build, prefix = root / "build", root / "prefix"
        cross = [] if IS_NATIVE else ["-DCMAKE_SYSTEM_NAME=Linux", f"-DCMAKE_SYSTEM_PROCESSOR={MACHINE}", f"-DCMAKE_OBJCOPY=/usr/bin/{MACHINE}-linux-gnu-objcopy", "-DCMAKE_C_FLAGS=-DTSLAB_MOVES=0"]
        output_of(CMAKE, "-S", SOURCE, "-B", build, f"-DCMAKE_C_COMPILER={cc}", "-DTSLAB_TWINS=OFF", "-DTSLAB_WERROR=ON", *cross)
        output_of(CMAKE, "--build", build, "-j", str(os.cpu_count()))
        output_of(CMAKE, "--install", build, "--prefix", prefix)
        libraries = next(prefix.rglob("libtslab.a")).parent
        include, threads = f"-I{prefix}/include", "-pthread"
        for name, options, needed, arguments in (
            ("shared", [libraries / "libtslab.so"], "libtslab", []),
            ("malloc", [libraries / "libtslab-malloc.so"], "libtslab-malloc", ["malloc"]),
            ("static", ["-static", libraries / "libtslab-malloc.a"], None, ["malloc"]),
        ):
            output_of(cc, include, CONSUMER / "main.c", *options, threads, "-o", name)
            path = ["-E", f"LD_LIBRARY_PATH={libraries}"] if emulator else []
            environment = {} if emulator else {"LD_LIBRARY_PATH": str(libraries)}
            run_consumer(name, *arguments, needed=needed and needed + SONAME, emulator=[*emulator, *path], **environment)
        for name, options in (("threads", [libraries / "libtslab-malloc.so"]), ("threads-static", ["-static", libraries / "libtslab-malloc.a"])):
            output_of(cc, "-O1", include, CONSUMER / "static.c", "-Wl,-u,malloc", *options, threads, "-o", name)
            run(name, LD_LIBRARY_PATH=str(libraries))
        # Preloaded, in a program that knows nothing of it.
        (root / "plain.c").write_text("#include <stdlib.h>\nint main(void) { void *volatile p = malloc(10); free(p); return 0; }\n")
        output_of(cc, "plain.c", "-o", "plain")
        said = run("plain", LD_PRELOAD=str(libraries / "libtslab-malloc.so"), TSLAB_STATS="1")
        expect("tslab statistics" in said, f"the preloaded library is not the malloc of a program: {said}")


main()
