"""Installs into a temporary place, and builds and runs the examples with what is there, as their README says.

usage: examples.py CMAKE BINARY_DIR EXAMPLES CC CXX
"""

import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

CMAKE, BINARY_DIR, EXAMPLES, CC, CXX = sys.argv[1:]


def run(*command, **environment):
    print("+", *command, flush=True)
    result = subprocess.run(command, env=dict(os.environ, **environment), stdout=subprocess.PIPE, text=True)
    if result.returncode != 0:
        sys.exit(f"{result.stdout}{command[0]} failed with {result.returncode}.")
    return result.stdout


def check_find_package(prefix, build):
    run(CMAKE, "-S", EXAMPLES, "-B", str(build), f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_C_COMPILER={CC}",
        f"-DCMAKE_CXX_COMPILER={CXX}", "-DCMAKE_COMPILE_WARNING_AS_ERROR=ON")
    run(CMAKE, "--build", str(build))
    sources = [path for path in pathlib.Path(EXAMPLES).iterdir() if path.suffix in (".c", ".cpp")]
    ran = run("ctest", "--test-dir", str(build), "--output-on-failure")
    if f"100% tests passed, 0 tests failed out of {len(sources)}" not in ran:
        sys.exit(f"{ran}Not every one of the {len(sources)} examples ran.")


def check_readme(prefix, build):
    """Runs the commands of the README that build one example by itself."""
    libraries = next(prefix.rglob("libtslab.a")).parent
    build.mkdir()
    readme = pathlib.Path(EXAMPLES, "README.md").read_text()
    commands = [line.strip() for line in readme.splitlines() if line.startswith(("    cc ", "    c++ "))]
    if len(commands) != 2:
        sys.exit(f"The README has {len(commands)} commands that build one example, not 2.")
    environment = {"PKG_CONFIG_PATH": str(libraries / "pkgconfig"), "LD_LIBRARY_PATH": str(libraries)}
    for command in commands:
        compiler, _, rest = command.partition(" ")
        program = build / "program"
        compiler = shlex.quote(CC if compiler == "cc" else CXX)
        run("sh", "-c", f"cd {shlex.quote(EXAMPLES)} && {compiler} -o {shlex.quote(str(program))} {rest}", **environment)
        run(str(program), **environment)


def main():
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        prefix = root / "installed"
        run(CMAKE, "--install", BINARY_DIR, "--prefix", str(prefix))
        check_find_package(prefix, root / "by-cmake")
        check_readme(prefix, root / "by-pkg-config")


main()
