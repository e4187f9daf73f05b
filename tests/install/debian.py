"""Builds the Debian packages in a copy, has lintian look at them, and runs programs from what they install into an empty root.

usage: debian.py
"""

import os
import shutil

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


def main():
    need("dpkg-buildpackage", "dh", "dh_python3", "fakeroot", "pkg-config")
    with empty_directory() as root:
        build(root)
        check_packages(root)
        prefix = install(root)
        check_program(root, prefix)
        check_tools(prefix)


main()
