"""Installs into a temporary place and builds and runs a program with what is there, through pkg-config and find_package.

usage: install.py CMAKE BINARY_DIR CC
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

CMAKE, BINARY_DIR, CC = sys.argv[1:]
CONSUMER = pathlib.Path(__file__).with_name("consumer")
PREFIX = "/opt/somewhere"


def output_of(*command, **environment):
    print("+", *command, flush=True)
    result = subprocess.run(command, env=dict(os.environ, **environment), stdout=subprocess.PIPE, text=True)
    if result.returncode != 0:
        sys.exit(f"{result.stdout}{command[0]} failed with {result.returncode}.")
    return result.stdout


def check_program(program, libraries, version, needed, *arguments):
    """Runs the program and checks that it needs exactly the shared library `needed`, or none of ours."""
    dynamic = output_of("objdump", "-p", str(program))
    found = re.findall(r"NEEDED\s+(libtslab\S*)", dynamic)
    if found != ([needed] if needed else []):
        sys.exit(f"{program} needs {found}, not {needed}.")
    said = output_of(str(program), *arguments, LD_LIBRARY_PATH=str(libraries)).strip()
    if said != version:
        sys.exit(f"{program} says that tslab is {said!r}; pkg-config says {version!r}.")


def check_pkg_config(build, libraries):
    environment = {"PKG_CONFIG_PATH": str(libraries / "pkgconfig")}
    version = output_of("pkg-config", "--modversion", "tslab", **environment).strip()
    for name, module, options, needed, arguments in [
        ("shared", "tslab", [], "libtslab.so.0.1", []),
        ("static", "tslab", ["--static"], None, []),
        ("malloc", "tslab-malloc", [], "libtslab-malloc.so.0.1", ["malloc"]),
        ("checked", "tslab-checked", [], "libtslab-checked.so.0.1", []),
        ("checked-static", "tslab-checked", ["--static"], None, []),
        ("malloc-checked", "tslab-malloc-checked", [], "libtslab-malloc-checked.so.0.1", ["malloc"]),
    ]:
        flags = output_of("pkg-config", "--cflags", "--libs", *options, module, **environment).split()
        compiler_options = ["-static"] if "--static" in options else []
        program = build / name
        output_of(CC, *compiler_options, "-o", str(program), str(CONSUMER / "main.c"), *flags)
        check_program(program, libraries, version, needed, *arguments)
    return version


def check_find_package(build, prefix, libraries, version):
    output_of(CMAKE, "-S", str(CONSUMER), "-B", str(build), f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_C_COMPILER={CC}")
    output_of(CMAKE, "--build", str(build))
    check_program(build / "with-tslab", libraries, version, "libtslab.so.0.1")
    check_program(build / "with-static", libraries, version, None)
    check_program(build / "with-malloc", libraries, version, "libtslab-malloc.so.0.1", "malloc")
    check_program(build / "with-checked", libraries, version, "libtslab-checked.so.0.1")
    check_program(build / "with-checked-static", libraries, version, None)
    check_program(build / "with-malloc-checked", libraries, version, "libtslab-malloc-checked.so.0.1", "malloc")


def main():
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        output_of(CMAKE, "--install", BINARY_DIR, "--prefix", PREFIX, DESTDIR=str(root / "destdir"))
        prefix = root / f"destdir{PREFIX}"
        libraries = next(prefix.rglob("libtslab.a")).parent
        (root / "by-pkg-config").mkdir()
        version = check_pkg_config(root / "by-pkg-config", libraries)
        check_find_package(root / "by-cmake", prefix, libraries, version)


main()
