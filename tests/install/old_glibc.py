"""Builds the libraries for an old glibc (tools/glibc_stubs.py), and checks that they need no later one. Then the tests of whole programs
run on the drop-in of that build, on the glibc that is here; for other processors two programs under qemu. The builds stay in DIRECTORY.

usage: old_glibc.py DIRECTORY ENVIRONMENT CMAKE CTEST
"""

import pathlib
import shutil
import subprocess
import sys

from ways import CONSUMER, SOURCE, interface_version, need, output_of, run_consumer, skip

DIRECTORY, ENVIRONMENT, CMAKE, CTEST = sys.argv[1:]
HERE = pathlib.Path(__file__).parent
# The oldest that there is for RISC-V is 2.27.
OTHERS = {"aarch64": "2.17", "riscv64": "2.27"}
KINDS = ("family", "glibc", "programs", "threads")
NOT_FETCHED = 3


def stubs(root, machine, version):
    directory = root / f"stubs-{machine}"
    command = [SOURCE / "tools/glibc_stubs.py", directory, "--machine", machine, "--version", version, "--environment", ENVIRONMENT]
    made = subprocess.run(command)
    if made.returncode == NOT_FETCHED:
        skip("PyPI cannot be reached")
    assert made.returncode == 0, made
    return directory


def build(root, machine, version, *options, targets):
    binary = root / machine
    flags = f"-DCMAKE_SHARED_LINKER_FLAGS=-L{stubs(root, machine, version)}"
    output_of(CMAKE, "-S", SOURCE, "-B", binary, "-G", "Ninja", "-DTSLAB_WERROR=ON", flags, *options)
    output_of(CMAKE, "--build", binary, "-j", "2", "--target", *targets)
    libraries = sorted(binary.glob("libtslab*.so"))
    print(output_of(sys.executable, "-B", HERE / "glibc.py", version, *libraries))
    return binary


def other_processor(root, machine, version):
    cc, emulator = f"{machine}-linux-gnu-gcc", f"qemu-{machine}"
    if not shutil.which(cc) or not shutil.which(emulator):
        print(f"not for {machine}: there is no {cc} or {emulator}")
        return
    cross = ["-DCMAKE_SYSTEM_NAME=Linux", f"-DCMAKE_SYSTEM_PROCESSOR={machine}", f"-DCMAKE_C_COMPILER={cc}", "-DTSLAB_TWINS=OFF"]
    binary = build(root, machine, version, *cross, targets=["all"])
    emulator = [emulator, "-L", f"/usr/{machine}-linux-gnu", "-E", f"LD_LIBRARY_PATH={binary}"]
    for name, arguments in (("main", ["malloc"]), ("static", [])):
        program = root / f"{name}-{machine}"
        options = [f"-I{SOURCE}/include", f"-L{binary}", "-Wl,--no-as-needed", "-ltslab-malloc", "-pthread"]
        output_of(cc, CONSUMER / f"{name}.c", *options, "-o", program)
        if name == "main":
            run_consumer(program, *arguments, needed=f"libtslab-malloc.so.{interface_version()}", emulator=emulator)
        else:
            output_of(*emulator, program, *arguments)


def main():
    need("cmake", "ninja", "objdump")
    root = pathlib.Path(DIRECTORY)
    libraries = ["tslab", "tslab-checked", "tslab-malloc", "tslab-malloc-checked"]
    targets = [*libraries, "faults-interpose", *(f"tests/{kind}/all" for kind in KINDS)]
    binary = build(root, "x86_64", "2.17", "-DTSLAB_TESTS=ON", targets=targets)
    chosen = ["-L", f"^({'|'.join(KINDS)})$", "-LE", "^(slow|long)$"]
    print(output_of(CTEST, "--test-dir", binary, "-j", "2", "--output-on-failure", "--no-tests=error", *chosen))
    for machine, version in OTHERS.items():
        other_processor(root, machine, version)


main()
