"""The modules of Go, Lua, Node and Zig, each compiled and tested by the tools of its language.

usage: languages.py DIRECTORY go|lua|zig
       languages.py DIRECTORY node DROPIN
"""

import os
import pathlib
import re
import shutil
import sys

from tools import EXAMPLES, SOURCE, empty_directory, expect, need, or_skip, output_of, skip

OLDEST_GO = (1, 20)


def beside_the_allocator(language):
    shutil.copytree(EXAMPLES / language, ".", dirs_exist_ok=True)
    output_of(SOURCE / "tools/amalgamate.py", ".")


def go(directory):
    need("go", "gofmt", "cc")
    version = tuple(map(int, re.search(r"go(\d+)\.(\d+)", output_of("go", "version")).groups()))
    if version < OLDEST_GO:
        skip(f"Go {version} is older than {OLDEST_GO}")
    beside_the_allocator("go")
    expect(output_of("gofmt", "-l", ".") == "", "gofmt would change the sources of Go")
    # What has no dependencies needs no network.
    said = output_of("go", "test", "-v", "-count=1", ".", GOCACHE=str(directory / "go"), GOPROXY="off", GOFLAGS="", CGO_ENABLED="1")
    expect(said.count("--- PASS") == 2, said)


def lua(_):
    need("cc", "pkg-config")
    flags = or_skip("there is no Lua 5.4 to link with", "pkg-config", "--cflags", "--libs", "lua5.4").split()
    beside_the_allocator("lua")
    strict = ["-Wall", "-Wextra", "-Werror"]
    for checked in (0, 2):
        output_of("cc", "-O1", f"-DTSLAB_CHECKED={checked}", *strict, "-I.", "tslab.c", "state.c", "test.c", *flags, "-pthread", "-o", "test")
        expect(output_of("./test") == "done\n", "the test is not done")


def node(_, dropin):
    need("node", "cc")
    root = pathlib.Path(output_of("node", "-p", "process.execPath").strip()).parents[1]
    headers = root / "include/node"
    if not (headers / "node_api.h").exists():
        skip(f"there is no {headers}/node_api.h")
    module = EXAMPLES / "node"
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{headers}", f"-I{SOURCE}/include"]
    output_of("cc", *flags, module / "tslab.c", "-o", "tslab.node")
    said = output_of("node", module / "test.js", pathlib.Path("tslab.node").resolve(), LD_PRELOAD=dropin)
    expect(said == "done\n", said)


def zig(directory):
    python = directory / "zig/bin/python"
    if not python.exists():
        or_skip("there is no module venv", "/usr/bin/python3", "-m", "venv", directory / "zig")
    requirements = SOURCE / "tools/zig-requirements.txt"
    or_skip("PyPI cannot be reached", python, "-m", "pip", "install", "--quiet", "--require-hashes", "-r", requirements)
    run = [python, "-m", "ziglang"]
    cache = {f"ZIG_{kind}_CACHE_DIR": str(directory / "zig/cache") for kind in ("LOCAL", "GLOBAL")}
    beside_the_allocator("zig")
    output_of(*run, "fmt", "--check", "tslab.zig")
    said = output_of(*run, "test", "tslab.zig", "tslab.c", "-I.", "-lc", "-OReleaseSafe", **cache)
    expect("All 3 tests passed" in said, said)


def main():
    directory, language, *more = sys.argv[1:]
    os.makedirs(directory, exist_ok=True)
    with empty_directory():
        {"go": go, "lua": lua, "node": node, "zig": zig}[language](pathlib.Path(directory), *more)


main()
