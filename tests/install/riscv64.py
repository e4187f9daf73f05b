"""Compiles the amalgamation for 64-bit RISC-V by Debian's cross compiler, and runs programs with it under qemu.

usage: riscv64.py
"""

from ways import CONSUMER, SOURCE, empty_directory, need, output_of, version

CC = "riscv64-linux-gnu-gcc"
QEMU = "qemu-riscv64"


def main():
    need(CC, QEMU)
    with empty_directory() as root:
        output_of(SOURCE / "tools/amalgamate.py", root / "tslab")
        for name, options in (("release", []), ("checked", ["-DTSLAB_CHECKED=1"])):
            output_of(CC, "-O1", "-Wall", "-Wextra", "-Werror", *options, "-DTSLAB_MALLOC", "-c", "tslab/tslab.c", "-o", f"{name}.o")
            for program, arguments in (("main", ["malloc"]), ("static", [])):
                output_of(CC, "-static", "-I.", CONSUMER / f"{program}.c", f"{name}.o", "-pthread", "-o", f"{program}-{name}")
                said = output_of(QEMU, root / f"{program}-{name}", *arguments).strip()
                assert said == (version() if program == "main" else ""), said


main()
