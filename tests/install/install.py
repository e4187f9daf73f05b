"""Installs, builds and runs a program with what is there, through pkg-config and find_package, and uninstalls.

usage: install.py CMAKE BINARY_DIR CC
"""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import time

from ways import CONSUMER, SOURCE, empty_directory, expect, interface_version, output_of, run_consumer, version

CMAKE, BINARY_DIR, CC = sys.argv[1:]
PREFIX = "/opt/somewhere"
MANIFEST = pathlib.Path(BINARY_DIR, "install_manifest.txt")
SONAME = f".so.{interface_version()}"
SHARED = (
    "tslab/monitoring/prometheus-rules.yml", "tslab/monitoring/grafana-dashboard.json",
    "bash-completion/completions/tslab", "bash-completion/completions/tslab-run", "zsh/site-functions/_tslab",
    "fish/vendor_completions.d/tslab.fish", "fish/vendor_completions.d/tslab-run.fish",
)  # fmt: skip


def check_pkg_config(build, libraries):
    environment = {"PKG_CONFIG_PATH": str(libraries / "pkgconfig")}
    said = output_of("pkg-config", "--modversion", "tslab", **environment).strip()
    expect(said == version(), f"pkg-config says {said}, not {version()}.")
    for name, module, options, needed, arguments in [
        ("shared", "tslab", [], "libtslab", []),
        ("static", "tslab", ["--static"], None, []),
        ("malloc", "tslab-malloc", [], "libtslab-malloc", ["malloc"]),
        ("malloc-static", "tslab-malloc", ["--static"], None, ["malloc"]),
        ("checked", "tslab-checked", [], "libtslab-checked", []),
        ("checked-static", "tslab-checked", ["--static"], None, []),
        ("malloc-checked", "tslab-malloc-checked", [], "libtslab-malloc-checked", ["malloc"]),
    ]:
        flags = output_of("pkg-config", "--cflags", "--libs", *options, module, **environment).split()
        compiler_options = ["-static"] if "--static" in options else []
        program = build / name
        output_of(CC, *compiler_options, "-o", program, CONSUMER / "main.c", *flags)
        run_consumer(program, *arguments, needed=needed and needed + SONAME, LD_LIBRARY_PATH=str(libraries))
    # The archive in a program that is linked dynamically, by hand.
    program = build / "malloc-archive"
    archive = libraries / "libtslab-malloc.a"
    output_of(CC, "-o", program, CONSUMER / "main.c", f"-I{libraries.parent}/include", "-Wl,-u,malloc", archive)
    run_consumer(program, "malloc")


def check_find_package(build, prefix, libraries):
    output_of(CMAKE, "-S", CONSUMER, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_C_COMPILER={CC}")
    output_of(CMAKE, "--build", build)
    for name in ("tslab", "static", "malloc", "malloc-static", "checked", "checked-static", "malloc-checked"):
        shared = None if name.endswith("static") else "libtslab" + ("" if name == "tslab" else f"-{name}") + SONAME
        run_consumer(build / f"with-{name}", *["malloc"][: name.startswith("malloc")], needed=shared, LD_LIBRARY_PATH=str(libraries))


def check_run(prefix):
    """tslab-run finds the drop-in from where it lies itself."""
    show = ["/usr/bin/python3", "-c", "import os; print(os.environ['LD_PRELOAD'])"]
    said = output_of(prefix / "bin/tslab-run", *show, TSLAB_STATS="1", LD_PRELOAD=None)
    expect("libtslab-malloc.so" in said and "tslab statistics" in said, f"tslab-run does not preload: {said}")
    said = output_of(prefix / "bin/tslab-run", "--checked", *show, LD_PRELOAD="/lib/nothing.so.of.ours")
    expect("libtslab-malloc-checked.so" in said and "/lib/nothing.so.of.ours" in said, f"tslab-run loses LD_PRELOAD: {said}")
    result = subprocess.run([prefix / "bin/tslab-run", "sh", "-c", "exit 7"])
    expect(result.returncode == 7, "tslab-run does not keep the exit code")


def check_refusals(root, prefix):
    """What the loader would not take, tslab-run refuses: a path that LD_PRELOAD cannot name, and words that are none of its own."""
    for name in ("with space", "with:colon"):
        shutil.copytree(prefix, root / name, symlinks=True)
        for words in (["bin/tslab-run"], ["bin/tslab", "run"]):
            done = subprocess.run([root / name / words[0], *words[1:], "echo", "ran"], capture_output=True, text=True)
            expect(done.returncode not in (0, 127) and done.stdout == "", f"{words[0]} runs a program without the library")
            expect(f"LD_PRELOAD cannot name {root / name}" in done.stderr and done.stderr.count("\n") == 1, done.stderr)
        shutil.rmtree(root / name)
    for words in (["--checked"], ["--"], []):
        done = subprocess.run([prefix / "bin/tslab-run", *words], capture_output=True, text=True)
        said = (done.returncode, done.stdout, done.stderr.partition("\n")[0])
        expect(said == (2, "", "tslab-run: name a program to run"), f"tslab-run {words}: {said}")


def check_top(prefix):
    """As README begins: a program by tslab-run, seen by `tslab top`."""
    script = "import time\nwhile True:\n    bytearray(10**5)\n    time.sleep(0.001)"
    with subprocess.Popen([prefix / "bin/tslab-run", "--export", "/usr/bin/python3", "-c", script]) as process:
        try:
            deadline = time.monotonic() + 60
            while str(process.pid) not in output_of(prefix / "bin/tslab", "top", "--once"):
                expect(time.monotonic() < deadline, "tslab top does not show a program that runs")
                time.sleep(0.1)
        finally:
            process.kill()


def check_command(prefix):
    """So does the command `tslab`, which finds its Python package, too."""
    command = prefix / "bin/tslab"
    expect(output_of(command, "--version") == f"tslab {version()}\n", "tslab has another version")
    said = output_of(command, "run", "--stats", "--", "true", TSLAB_LIBRARY=None)
    expect("tslab statistics" in said, f"tslab run does not preload: {said}")
    said = output_of(command, "run", "--env", TSLAB_LIBRARY=None)
    expect(f"LD_PRELOAD={prefix}" in said, f"tslab run finds another library: {said}")
    expect("doctor" in output_of(command, "--help"), "tslab does not say what it has")
    check_top(prefix)


@contextlib.contextmanager
def manifest_kept():
    """`make uninstall` of this build is to remove what its user has installed, not what this test has."""
    before = MANIFEST.read_bytes() if MANIFEST.exists() else None
    try:
        yield
    finally:
        if before is None:
            MANIFEST.unlink(missing_ok=True)
        else:
            MANIFEST.write_bytes(before)


def uninstall(**environment):
    output_of(CMAKE, "-D", f"manifest={MANIFEST}", "-P", SOURCE / "cmake/TslabUninstall.cmake", **environment)


def files_below(directory):
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if not path.is_dir())


def check_uninstall(prefix):
    """What is not ours stays: a file of a user's among it."""
    mine = prefix / "share/mine"
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("")
    said = output_of("sh", "-c", f"! {CMAKE} -D manifest={MANIFEST} -P {SOURCE}/cmake/TslabUninstall.cmake", PREFIX=MANIFEST.read_text()[:2])
    expect("Nothing was removed" in " ".join(said.split()), f"uninstall of what was not installed last says {said}")
    uninstall()
    expect(files_below(prefix) == ["share/mine"], f"uninstall leaves {files_below(prefix)}")
    left = [str(path) for path in prefix.rglob("tslab")]
    expect(not left, f"uninstall leaves {left}")


def check_strip(root):
    """Stripped libraries are smaller, and serve. Without a DESTDIR the loader is a matter that the installation speaks of."""
    prefix = root / "stripped"
    said = output_of(CMAKE, "--install", BINARY_DIR, "--strip", "--prefix", prefix, DESTDIR=None)
    library = next(prefix.rglob("libtslab-malloc.so"))
    whole = pathlib.Path(BINARY_DIR, "libtslab-malloc.so").stat().st_size
    expect(library.stat().st_size < whole / 2, f"{library.stat().st_size} bytes of {whole} are not what is stripped")
    expect("ldconfig" in said and f"-Wl,-rpath,{library.parent}" in said, f"the installation does not say how to find it: {said}")
    check_run(prefix)
    check_command(prefix)
    uninstall(DESTDIR=None)
    expect(not files_below(prefix), f"uninstall leaves {files_below(prefix)}")


def main():
    with empty_directory() as root, manifest_kept():
        os.environ["DESTDIR"] = str(root / "destdir")
        output_of(CMAKE, "--install", BINARY_DIR, "--prefix", PREFIX)
        prefix = root / f"destdir{PREFIX}"
        libraries = next(prefix.rglob("libtslab.a")).parent
        (root / "by-pkg-config").mkdir()
        check_pkg_config(root / "by-pkg-config", libraries)
        check_find_package(root / "by-cmake", prefix, libraries)
        check_run(prefix)
        check_refusals(root, prefix)
        check_command(prefix)
        for path in SHARED:
            expect((prefix / "share" / path).exists(), f"share/{path} is not installed")
        for page in ("man3/tslab.3", "man3/tslab_epoch_open.3", "man1/tslab-malloc.1", "man1/tslab-run.1", "man1/tslab.1"):
            expect((prefix / "share/man" / page).exists(), f"{page} is not installed")
        check_uninstall(prefix)
        check_strip(root)


main()
