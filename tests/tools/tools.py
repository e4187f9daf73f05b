"""A program on the drop-in under tools that watch it: it works, mistakes of its own are reported, and nothing else is.

usage: tools.py SHARED ARCHIVE TOOL [STARTS]

  SHARED, ARCHIVE  libtslab-malloc.so and libtslab-malloc.a
  TOOL             gcc-SANITIZER, clang-SANITIZER, valgrind, gdb, strace, ltrace or qemu
  STARTS           how often a program without a mistake is started in each way; by default once
"""

import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
LONGEST_S = 250
HERE = pathlib.Path(__file__).resolve().parent
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("TSLAB_", "LD_"))}

# The mistakes that a tool finds in the program, and what it says of each.
MISTAKES = {
    "address": {"stack": "stack-buffer-overflow", "global": "global-buffer-overflow", "heap": "heap-buffer-overflow",
                "freed": "heap-use-after-free", "leak": "detected memory leaks"},
    "leak": {"leak": "detected memory leaks"},
    "undefined": {"undefined": "signed integer overflow"},
    "thread": {"race": "data race"},
    "memory": {"uninitialised": "use-of-uninitialized-value"},
    "valgrind": {"heap": "Invalid write", "freed": "Invalid read", "leak": "definitely lost",
                 "uninitialised": "depends on uninitialised"},
}  # fmt: skip
# Of these, gcc's runtime is a library that has to come before any other that defines malloc.
FIRST_OF_GCC = {"address": "libasan.so", "leak": "liblsan.so", "thread": "libtsan.so"}
GDB = ("gdb", "-batch", "-nx", "-ex", "set debuginfod enabled off", "-ex", "set confirm off", "-ex", "break main", "-ex", "run",
       "-ex", "break malloc", "-ex", "continue", "-ex", "bt", "-ex", "delete", "-ex", "continue")  # fmt: skip


def need(*commands):
    for command in commands:
        if shutil.which(command) is None:
            print(f"skipped: there is no {command} here")
            sys.exit(SKIPPED)


def build(compiler, flags, folder, shared, archive):
    """The program plain, linked with the shared library, and linked with the archive; and its plugin."""
    plusplus = {"gcc": "g++", "clang": "clang++"}[compiler]
    need(compiler, plusplus)
    common = ("-g", "-O1", "-pthread", *flags)
    links = {"plain": (), "linked": (str(shared), f"-Wl,-rpath,{shared.parent}"), "archive": ("-Wl,-u,malloc", str(archive))}
    plugin = folder / "plugin.so"
    commands = [(compiler, *common, "-shared", "-fPIC", "-o", str(plugin), str(HERE / "plugin.c"))]
    for way, link in links.items():
        commands.append((plusplus, *common, "-o", str(folder / way), str(HERE / "program.cpp"), "-Wl,--no-as-needed", *link, "-ldl"))
    for command in commands:
        subprocess.run(command, check=True)
    return plugin


def run(command, **environment):
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=LONGEST_S,
                              env=ENVIRONMENT | environment, check=False)  # fmt: skip
    except subprocess.TimeoutExpired:
        return None, "it hangs"
    return done.returncode, done.stdout + done.stderr


def complaints(what, prefix, program, plugin, mistakes, starts, environment, only="done\n"):
    for number in range(starts):
        code, said = run([*prefix, str(program), str(plugin)], **environment)
        if code != 0 or (said != only if only else "done" not in said):
            yield f"{what}, start {number + 1}: exit {code}\n{said}"
            return
    for mistake, report in mistakes.items():
        code, said = run([*prefix, str(program), str(plugin), mistake], **environment)
        if code == 0 or report not in said:
            yield f"{what}: exit {code}, and no {report}\n{said}"


def sanitizer(compiler, kind, starts, folder, shared, archive):
    plugin = build(compiler, (f"-fsanitize={kind}", "-fno-sanitize-recover=all"), folder, shared, archive)
    preload = str(shared)
    if compiler == "gcc" and kind in FIRST_OF_GCC:
        first = subprocess.run(("gcc", f"-print-file-name={FIRST_OF_GCC[kind]}"), check=True, capture_output=True, text=True).stdout
        preload = f"{first.strip()} {preload}"
    # A wrong option: the library complains before the sanitizer has started.
    wrong = "tslab: TSLAB_KEEPER=x: not a number like 64 or 64M in its range"
    for way, environment in (("plain", {"LD_PRELOAD": preload}), ("linked", {}), ("archive", {})):
        yield from complaints(f"{compiler} {kind} {way}", (), folder / way, plugin, MISTAKES[kind], starts, environment)
        code, said = run([str(folder / way), str(plugin)], TSLAB_KEEPER="x", **environment)
        reports = {"TSLAB_OPTIONS": f"stats_signal=USR2,profile=64K,export=1,stats=1,{folder}/stats"}
        yield from complaints(f"{compiler} {kind} {way}, reports", (), folder / way, plugin, {}, 1, environment | reports, "")
        if way != "archive" and (code != 0 or wrong not in said):  # the sanitizer's malloc may leave the archive's out
            yield f"{compiler} {kind} {way}, a wrong option: exit {code}\n{said}"


def watcher(tool, folder, shared, archive, starts):
    """Tools that run a program as it is."""
    program = {"qemu": f"qemu-{platform.machine()}"}.get(tool, tool)
    need(program)
    plugin = build("gcc", ("-DFORKS_ALLOCATE=1", *(("-DTHREADS=0",) if tool == "ltrace" else ())), folder, shared, archive)
    trace = str(folder / "trace")
    prefix = {
        "valgrind": ("valgrind", "-q", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite"),
        "strace": ("strace", "-f", "-o", trace),
        "ltrace": ("ltrace", "-f", "-e", "malloc", "-o", trace),
        "gdb": (*GDB, "--args"),
        "qemu": (program,),
    }[tool]
    if tool in ("gdb", "strace", "ltrace"):
        code, said = run((*prefix, "/bin/true"))
        if "not permitted" in said:
            print(f"skipped: {tool} may not trace here")
            sys.exit(SKIPPED)
    preloading = {
        "gdb": (*GDB[:3], "-ex", f"set environment LD_PRELOAD {shared}", *GDB[3:], "--args"),
        "qemu": (program, "-E", f"LD_PRELOAD={shared}"),
    }.get(tool, (*prefix, "env", f"LD_PRELOAD={shared}") if tool == "strace" else prefix)
    environment = {} if tool in ("gdb", "qemu", "strace") else {"LD_PRELOAD": str(shared)}
    for way, before, variables in (("plain", preloading, environment), ("linked", prefix, {}), ("archive", prefix, {})):
        only = None if tool == "gdb" else "done\n"
        yield from complaints(f"{tool} {way}", before, folder / way, plugin, MISTAKES.get(tool, {}), starts, variables, only)
        if tool == "gdb":
            _, said = run((*before, str(folder / way), str(plugin)), **variables)
            if "malloc (" not in said or " main (" not in said or "exited normally" not in said:
                yield f"gdb {way}: no break in malloc, below main\n{said}"
        elif tool == "strace" and "mmap(" not in pathlib.Path(trace).read_text(errors="replace"):
            yield f"strace {way}: it sees no mmap"


def main():
    shared, archive = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    tool, starts = sys.argv[3], int((*sys.argv, "1")[4])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        compiler, _, kind = tool.partition("-")
        if kind:
            found = list(sanitizer(compiler, kind, starts, folder, shared, archive))
        else:
            found = list(watcher(tool, folder, shared, archive, starts))
    print("\n".join(found) or "all is well")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
