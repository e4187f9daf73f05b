"""Builds the Debian packages in a copy, has lintian look at them, and runs programs from what they install into an empty root: each
command of `tslab` with the Python packages that tslab-tools depends on, and with no others.

usage: debian.py
"""

import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import time

from ways import CONSUMER, copy_of_sources, empty_directory, expect, interface_version, need, output_of, run_consumer, version


def build(root):
    copy_of_sources(root / "tslab")
    os.chdir(root / "tslab")
    output_of("dpkg-buildpackage", "-us", "-uc", "-b", DEB_BUILD_OPTIONS="parallel=2 noautodbgsym", CMAKE_C_COMPILER_LAUNCHER=None)
    os.chdir(root)


def check_packages(root):
    names = {path.name.split("_")[0] for path in root.glob("*.deb")}
    expect(names == {f"libtslab{interface_version()}", "libtslab-dev", "tslab-tools"}, f"the packages are {names}")
    if shutil.which("lintian"):
        output_of("lintian", "--fail-on", "warning,error", "--allow-root", *root.glob("*.changes"))


def install(root):
    for package in root.glob("*.deb"):
        expect(f"_{version()}_" in package.name, f"{package.name} has another version than {version()}")
        output_of("dpkg", "-x", package, root / "installed")
    return root / "installed/usr"


def check_program(root, prefix):
    libraries = next(prefix.rglob("libtslab.a")).parent
    environment = {"PKG_CONFIG_PATH": str(libraries / "pkgconfig")}
    for module, needed, arguments in (("tslab", "libtslab", []), ("tslab-malloc", "libtslab-malloc", ["malloc"])):
        flags = output_of("pkg-config", "--cflags", "--libs", module, **environment).split()
        output_of("cc", "-o", root / f"with-{module}", CONSUMER / "main.c", *flags)
        run_consumer(root / f"with-{module}", *arguments, needed=f"{needed}.so.{interface_version()}", LD_LIBRARY_PATH=str(libraries))


def check_tools(prefix):
    program = ["/usr/bin/python3", "-c", "print(1)"]
    said = output_of(prefix / "bin/tslab-run", *program, TSLAB_STATS="1", LD_PRELOAD=None)
    expect("tslab statistics" in said, f"tslab-run does not preload: {said}")
    said = output_of(prefix / "bin/tslab", "run", "--stats", "--", *program, TSLAB_LIBRARY=None)
    expect("tslab statistics" in said, f"tslab run does not preload: {said}")
    for page in ("man1/tslab.1.gz", "man1/tslab-run.1.gz", "man3/tslab.3.gz", "man3/tslab_malloc.3.gz"):
        expect((prefix / "share/man" / page).is_symlink() or (prefix / "share/man" / page).exists(), f"{page} is missing")


def names_in(field):
    """The packages that a field of control names."""
    return {re.match(r"[a-z0-9.+-]+", part.strip())[0] for part in field.replace("|", ",").split(",") if part.strip()}


def field_of(root, package, name):
    (path,) = root.glob(f"{package}_*.deb")
    return names_in(subprocess.check_output(["dpkg-deb", "-f", path, name], text=True))


def with_dependencies(packages):
    """Those of Python's among the packages, and what they depend on: those that are here, of alternatives."""
    found, left = {}, {name for name in packages if name.startswith("python3-")}
    while left:
        form = "${Package} ${db:Status-Status} ${Depends}\n"
        asked = subprocess.run(["dpkg-query", "-W", "-f", form, *sorted(left)], capture_output=True, text=True).stdout
        here = [line.split(" ", 2) for line in asked.splitlines()]
        new = {name: names_in(depends) for name, status, depends in here if status == "installed"}
        found |= new
        left = set().union(*new.values()) - set(found)
        left = {name for name in left if name.startswith("python3-")}
    return sorted(found)


def python_path(directory, packages):
    """A directory with the modules of these packages alone."""
    directory.mkdir()
    for line in subprocess.check_output(["dpkg", "-L", *with_dependencies(packages)], text=True).splitlines():
        inside = line.partition("/usr/lib/python3/dist-packages/")[2]
        if inside and os.path.isfile(line):
            (directory / inside).parent.mkdir(parents=True, exist_ok=True)
            (directory / inside).symlink_to(line)
    return directory


class Command:
    """The command `tslab`, by a Python that has the modules of a directory and of the standard library."""

    def __init__(self, prefix, modules):
        self.argv = ["/usr/bin/python3", "-S", "-B", prefix / "bin/tslab"]
        self.environment = {"PYTHONPATH": str(modules), "TSLAB_LIBRARY": None, "LD_PRELOAD": None}

    def says(self, *words, **more):
        return output_of(*self.argv, *words, **self.environment, **more)

    def refuses(self, *words):
        """The package that it asks for; None where it needs none."""
        wanted = {name: value for name, value in {**os.environ, **self.environment}.items() if value is not None}
        done = subprocess.run([*self.argv, *words], env=wanted, capture_output=True, text=True, timeout=60)
        if done.returncode == 0:
            return None
        match = re.fullmatch(r"tslab: .* is not installed\. To install it: apt-get install (\S+)\n", done.stderr)
        expect(match and done.returncode == 1, f"tslab {words}: {done.returncode}, {done.stderr}")
        return match[1]


@contextlib.contextmanager
def program_to_look_at(command):
    """A program that runs on tslab, and allocates."""
    script = "import time\nprint(flush=True)\nwhile True:\n    bytearray(10**5)\n    time.sleep(0.001)"
    wanted = {name: value for name, value in {**os.environ, **command.environment}.items() if value is not None}
    argv = [*command.argv, "run", "--export", "1", "--", "/usr/bin/python3", "-c", script]
    with subprocess.Popen(argv, env=wanted, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        try:
            yield str(process.pid)
        finally:
            process.kill()


def check_commands(root, prefix):
    """With what the package depends on, and then with what it recommends, too."""
    needed, recommended = (field_of(root, "tslab-tools", name) for name in ("Depends", "Recommends"))
    for name in needed | recommended:
        expect(not re.match(r"gcc|g\+\+|clang|cc$|libc6-dev|build-essential|python3-(numpy|matplotlib)", name), f"tslab-tools wants {name}")
    command = Command(prefix, python_path(root / "depends", needed))
    files = {name: root / name for name in ("report", "heap")}
    options = [f"--stats=2,{files['report']}", f"--profile=4K,{files['heap']}"]
    command.says("run", *options, "--", "/usr/bin/python3", "-c", "x = [bytearray(5000) for _ in range(3000)]")
    for name in ("run", "top", "stat", "profile", "export"):
        expect(f"tslab {name}" in command.says(name, "--help"), f"tslab {name} --help")
    expect("python3" in command.says("stat", files["report"]), "tslab stat")
    with program_to_look_at(command) as pid:
        deadline = time.monotonic() + 30
        while pid not in command.says("top", "--once"):
            expect(time.monotonic() < deadline, "the program shows nothing")
            time.sleep(0.1)
        expect("RSS" in command.says("stat", pid), "tslab stat shows no program")
        missing = {
            command.refuses("profile", files["heap"]),
            command.refuses("profile", files["heap"], "--html", root / "page.html"),
            command.refuses("profile", files["heap"], "--pprof", root / "heap.pb.gz"),
            command.refuses("stat", pid, "--openmetrics"),
            command.refuses("export", "--listen", "nowhere:"),
        } - {None}
        expect(missing <= recommended, f"tslab wants {missing - recommended}, which the package does not recommend")
        whole = Command(prefix, python_path(root / "recommends", needed | recommended))
        expect("tslab_" in whole.says("stat", pid, "--openmetrics"), "tslab stat --openmetrics")
    expect("%" in whole.says("profile", files["heap"]), "tslab profile")
    for name in ("page.html", "heap.pb.gz"):
        option = {".html": "--html", ".gz": "--pprof"}[pathlib.Path(name).suffix]
        whole.says("profile", files["heap"], option, root / name)
        expect((root / name).stat().st_size > 0, f"tslab profile {option}")


def main():
    need("dpkg-buildpackage", "dh", "dh_python3", "fakeroot", "pkg-config")
    with empty_directory() as root:
        build(root)
        check_packages(root)
        prefix = install(root)
        check_program(root, prefix)
        check_tools(prefix)
        check_commands(root, prefix)


main()
