"""Builds allocators as libraries to preload, from the sources that crates of crates.io carry. Each is built the way
that its authors release it: their own build with its release defaults, and the C library's names taken over. Of a wheel, the
library that is in it is taken."""

import contextlib
import fcntl
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tslab_lab.allocators import installed
from tslab_lab.allocators.catalogue import Allocator, Crate
from tslab_lab.base import cache, processes
from tslab_lab.base.shapes import Words

REGISTRY = "https://static.crates.io/crates"  # an address there is the one that cargo itself asks
FETCH_SECONDS = 120
STEP_SECONDS = 3600
LOG_LINES = 12
# Flags of the caller's would make another library than the authors'. CC and CXX stay: the compiler is the machine's.
_FLAGS = ("CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "MAKEFLAGS", "MFLAGS", "DESTDIR")

# mimalloc's crate leaves out two small files of its CMake build; they say the version, and help with the installation.
_MIMALLOC_VERSION = """\
set(mi_version_major {0})
set(mi_version_minor {1})
set(mi_version_patch {2})
set(mi_version {0}.{1})
"""
_MIMALLOC_JOIN = "function(join_paths)\nendfunction()\n"

# tcmalloc builds with bazel only, which wants the network. What is compiled is in the crate's own build script. Its
# bridges to Rust are left out, and the file that they include is taken in; its patch of the sources is not applied. The
# flags are those of `bazel build -c opt`.
_TCMALLOC_CMAKE = """\
cmake_minimum_required(VERSION 3.18)
project(tcmalloc CXX ASM)
find_package(Threads REQUIRED)
add_library(tcmalloc SHARED {files})
target_include_directories(tcmalloc PRIVATE {crate}/c_src/abseil-cpp {crate}/c_src/tcmalloc)
target_link_libraries(tcmalloc PRIVATE Threads::Threads)
target_compile_options(tcmalloc PRIVATE -w)
set_target_properties(tcmalloc PROPERTIES CXX_STANDARD 17 CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
"""

# Objects of many sizes, made by several threads and freed by another; exceptions, too. It prints a sum of what it reads back.
_PROBE = r"""
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

int main()
{
    std::vector<std::string> made[4];
    std::vector<std::thread> threads;
    for (int n = 0; n < 4; n++) {
        threads.emplace_back([&own = made[n], n] {
            for (int i = 0; i < 20000; i++) {
                own.push_back(std::string((i * 37 + n) % 3000 + 1, char('a' + (i + n) % 23)));
                own.erase(own.begin(), own.begin() + (own.size() > 500 ? 250 : 0));
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    long sum = 0;
    for (auto &own : made) {
        for (auto &one : own) {
            sum += static_cast<long>(one.size()) * one.front() + one.back();
        }
        own.clear();
        try {
            throw std::runtime_error(std::string(100, 'c'));
        } catch (const std::exception &) {
            ++sum;
        }
    }
    std::printf("%ld\n", sum);
}
"""


@contextlib.contextmanager
def only_one() -> Iterator[None]:
    """Holds off a second build at the same time, and clears away what one that was killed has left."""
    folder = cache.folder("peers")
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise processes.Failure("Another `lab peers install` is at work. Wait until it is done.") from None
        for rest in folder.glob(".making-*"):
            shutil.rmtree(rest)
        yield


def build(allocator: Allocator) -> Path:
    """Builds, proves and puts in place the library of one allocator. Whatever happens, it is there whole or not at
    all. The log stays."""
    target = installed.built_path(allocator)
    folder = cache.folder("peers")
    if set(str(folder)) & set(" :$"):
        raise processes.Failure(f"LD_PRELOAD cannot name libraries in {folder}. Name another folder in XDG_CACHE_HOME.")
    require_tools()
    log = folder / f"{target.parent.name}.log"
    log.write_text("")
    work = Path(tempfile.mkdtemp(prefix=".making-", dir=folder))
    try:
        assert allocator.crate is not None  # what has none is Debian's
        crate = unpacked(allocator.crate, work)
        made = RECIPES[allocator.name](crate, work, log)
        fresh = work / "done" / target.name
        fresh.parent.mkdir()
        shutil.copy(made, fresh)  # what it links to, when it is a link
        prove(fresh, allocator, work, log)
        fresh.parent.rename(target.parent)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return target


def require_tools() -> None:
    for tool in ("cmake", "make", _compiler("CC", "cc")[0], _compiler("CXX", "c++")[0]):
        if not shutil.which(tool):
            raise processes.Failure(f"Building it needs {tool}. To install it: apt-get install build-essential cmake")


def unpacked(crate: Crate, work: Path) -> Path:
    """The folder with the sources of a crate, whose checksum is the one that we know."""
    data, reasons = None, list[str]()
    for way in WAYS if crate.kind == "crate" else (by_pip,):
        try:
            data = way(crate, work)
            break
        except (processes.Failure, OSError) as failure:
            reasons.append(str(failure))
    if data is None:
        raise processes.Failure(f"The {crate.kind} {crate.name} {crate.version} cannot be fetched. {' '.join(reasons)}")
    sha256 = hashlib.sha256(data).hexdigest()
    if sha256 != crate.sha256:
        raise processes.Failure(
            f"The {crate.kind} {crate.name} {crate.version} is not the one that was published: its sha256 is {sha256}, and "
            f"must be {crate.sha256}. Nothing of it was used."
        )
    archive = work / "package"
    archive.write_bytes(data)
    if crate.kind == "wheel":
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(work / crate.name)  # which leaves no way out of the folder
        return work / crate.name
    with tarfile.open(archive) as tar:
        tar.extractall(work)  # it is the one that we know, and its build may do whatever it likes
    return work / f"{crate.name}-{crate.version}"


def by_cargo(crate: Crate, work: Path) -> bytes:
    """Through cargo where it is installed: it knows the user's mirror and proxy, and keeps what it has fetched."""
    if not shutil.which("cargo"):
        raise processes.Failure("There is no cargo.")
    project = work / "fetch"
    (project / "src").mkdir(parents=True)
    (project / "src/lib.rs").touch()
    version = crate.version.partition("+")[0]
    (project / "Cargo.toml").write_text(
        '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n[dependencies]\n'
        f'{crate.name} = {{ version = "={version}", default-features = false }}\n'
    )
    argv = ["cargo", "fetch", "--quiet", "--manifest-path", str(project / "Cargo.toml")]
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=FETCH_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise processes.Failure(f"cargo did not fetch it within {FETCH_SECONDS} s.") from None
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    for file in home.glob(f"registry/cache/*/{crate.name}-{crate.version}.crate"):
        return file.read_bytes()
    why = " ".join(done.stderr.split())[-300:] or "it said nothing"
    raise processes.Failure(f"cargo did not fetch it ({why}).")


def by_https(crate: Crate, _: Path) -> bytes:
    address = f"{REGISTRY}/{crate.name}/{crate.version}/download"
    request = urllib.request.Request(address, headers={"User-Agent": "tslab-lab (peers install)"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            found: bytes = answer.read()
            return found
    except (OSError, ValueError) as error:
        raise processes.Failure(f"{address} does not give it ({getattr(error, 'reason', error)}).") from None


def by_pip(wheel: Crate, work: Path) -> bytes:
    """Whichever pip is installed; the checksum says whether it is the one for this machine."""
    argv = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    argv += ["--only-binary", ":all:", "--dest", str(work / "wheel"), f"{wheel.name}=={wheel.version}"]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    for file in (work / "wheel").glob("*.whl"):
        return file.read_bytes()
    raise processes.Failure(f"pip did not fetch it ({' '.join(done.stderr.split())[-300:] or 'it said nothing'}).")


WAYS: tuple[Callable[[Crate, Path], bytes], ...] = (by_cargo, by_https)


def prove(library: Path, allocator: Allocator, work: Path, log: Path) -> None:
    """A C program, and a C++ program with threads, run on the library, and it is what serves them."""
    env = processes.environment(library) | allocator.environment
    processes.require_served_by(library, ["/usr/bin/env"], "env", env)
    source, probe = work / "probe.cc", work / "probe"
    source.write_text(_PROBE)
    step([*_compiler("CXX", "c++"), "-O1", "-pthread", "-o", probe, source], log)
    expected = processes.run([probe], processes.environment(), "the probe")
    processes.require_served_by(library, [probe], "the probe", env)
    if processes.run([probe], env, f"the probe on {library.name}") != expected:
        raise processes.Failure(f"A program with threads gave a wrong result on {library.name}.")


def step(argv: Words, log: Path) -> None:
    """One command of a build, its output added to the log."""
    words = [str(word) for word in argv]
    env = {name: value for name, value in processes.environment().items() if name not in _FLAGS}
    with log.open("ab") as output:
        output.write(f"$ {shlex.join(words)}\n".encode())
        output.flush()
        with processes.started(words, env, output, output) as process:
            try:
                code = process.wait(STEP_SECONDS)
            except subprocess.TimeoutExpired:
                raise processes.Failure(f"{words[0]} took more than {STEP_SECONDS} s. The log is {log}") from None
    if code != 0:
        how = processes.how_it_ended(code)
        raise processes.Failure(f"{words[0]} {how}. The log is {log}; it ends with:\n{processes.tail(log, LOG_LINES)}")


def _compiler(variable: str, default: str) -> list[str]:
    return shlex.split(os.environ.get(variable, "")) or [default]


def _jobs() -> str:
    return str(len(os.sched_getaffinity(0)))


def _cmake(source: Path, work: Path, log: Path, target: str, *options: str) -> Path:
    build_folder = work / "build"
    step(["cmake", "-S", source, "-B", build_folder, "-DCMAKE_BUILD_TYPE=Release", *options], log)
    step(["cmake", "--build", build_folder, "--target", target, "-j", _jobs()], log)
    return build_folder / f"lib{target}.so"


def _mimalloc(crate: Path, work: Path, log: Path) -> Path:
    source = crate / "c_src/mimalloc/v2"
    header = (source / "include/mimalloc.h").read_text()
    (number,) = map(int, re.findall(r"#define MI_MALLOC_VERSION +(\d+)", header))
    (source / "cmake").mkdir()
    version = _MIMALLOC_VERSION.format(number // 10000, number // 100 % 100, number % 100)
    (source / "cmake/mimalloc-config-version.cmake").write_text(version)
    (source / "cmake/JoinPaths.cmake").write_text(_MIMALLOC_JOIN)
    parts = ("-DMI_BUILD_STATIC=OFF", "-DMI_BUILD_OBJECT=OFF", "-DMI_BUILD_TESTS=OFF")
    return _cmake(source, work, log, "mimalloc", *parts)


def _mimalloc3(wheel: Path, work: Path, log: Path) -> Path:
    del work, log
    return wheel / "cmeel.prefix/lib/libmimalloc.so"


def _mimalloc_pprof(crate: Path, work: Path, log: Path) -> Path:
    """The flags are those of mimalloc's release build of its library; the crate has one file in place of the sources."""
    made = work / "libmimalloc-pprof.so"
    flags = ["-std=gnu11", "-O3", "-DNDEBUG", "-fPIC", "-fvisibility=hidden", "-ftls-model=initial-exec", "-w"]
    flags += [
        "-fno-builtin-malloc",
        *(f"-DMI_{part}" for part in ("SHARED_LIB", "SHARED_LIB_EXPORT", "MALLOC_OVERRIDE", "PPROF=1")),
    ]
    flags += [f"-DMI_{part}=0" for part in ("MEMEVT", "DIAGNOSTICS", "DHAT", "OWNER_GATE")]
    source = crate / "vendor/mimalloc-pprof-amalgamated.c"
    step([*_compiler("CC", "cc"), *flags, f"-I{source.parent}", "-shared", "-pthread", "-o", made, source, "-ldl"], log)
    return made


def _snmalloc(crate: Path, work: Path, log: Path) -> Path:
    parts = ("-DSNMALLOC_BUILD_TESTING=OFF", "-DSNMALLOC_STATIC_LIBRARY=OFF")
    return _cmake(crate / "upstream", work, log, "snmallocshim", *parts)


def _rpmalloc(crate: Path, work: Path, log: Path) -> Path:
    """The flags are those of its own build scripts for the release of its library to preload."""
    made = work / "librpmalloc.so"
    mathematics = ("-fno-math-errno", "-ffinite-math-only", "-funsafe-math-optimizations", "-fno-trapping-math")
    flags = ["-std=c11", "-O3", "-g", "-funroll-loops", "-funit-at-a-time", "-fstrict-aliasing", *mathematics]
    flags += ["-ffast-math", "-fPIC", "-D_GNU_SOURCE=1", "-DRPMALLOC_COMPILE=1", "-DBUILD_RELEASE=1"]
    flags += ["-DBUILD_DYNAMIC_LINK=1", "-DENABLE_PRELOAD=1", "-DENABLE_OVERRIDE=1"]
    source = crate / "rpmalloc/rpmalloc/rpmalloc.c"
    step([*_compiler("CC", "cc"), *flags, "-shared", "-pthread", "-o", made, source, "-ldl"], log)
    return made


def _jemalloc(crate: Path, work: Path, log: Path) -> Path:
    """The crate keeps the generated script apart from the sources, and the version, which it cannot ask git for."""
    version = crate.name.partition("+")[2]
    shutil.copy(crate / "configure/configure", crate / "jemalloc/configure")
    build_folder = work / "build"
    build_folder.mkdir()
    configure = ["sh", crate / "jemalloc/configure", f"--with-version={version}", "--disable-static", "--disable-doc"]
    step(["env", f"--chdir={build_folder}", *configure], log)
    step(["make", "-C", build_folder, "-j", _jobs(), "build_lib_shared"], log)
    return build_folder / "lib/libjemalloc.so"


def _tcmalloc(crate: Path, work: Path, log: Path) -> Path:
    listed = re.findall(r'"(c_src/[^"]+\.(?:cc|S))"', (crate / "build.rs").read_text())
    files = [file for file in listed if not file.endswith("_bridge.cc")] + ["c_src/tcmalloc/tcmalloc/tcmalloc.cc"]
    source = work / "project"
    source.mkdir()
    text = _TCMALLOC_CMAKE.format(files=" ".join(f"{crate}/{file}" for file in files), crate=crate)
    (source / "CMakeLists.txt").write_text(text)
    return _cmake(source, work, log, "tcmalloc", "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG")


RECIPES: dict[str, Callable[[Path, Path, Path], Path]] = {
    "mimalloc2": _mimalloc,
    "mimalloc3": _mimalloc3,
    "mimalloc-pprof": _mimalloc_pprof,
    "snmalloc": _snmalloc,
    "rpmalloc": _rpmalloc,
    "jemalloc5": _jemalloc,
    "google": _tcmalloc,
}
