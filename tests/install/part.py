"""Builds a project that has tslab as a part, by add_subdirectory and by FetchContent, under the names of find_package.

usage: part.py CMAKE CC
"""

import pathlib
import sys
import tarfile

from ways import CONSUMER, copy_of_sources, empty_directory, expect, interface_version, output_of, run_consumer

CMAKE, CC = sys.argv[1:]
SONAME = f".so.{interface_version()}"


def check(root, how, sources, names, *options):
    build = root / how
    output_of(CMAKE, "-S", CONSUMER.with_name("part"), "-B", build, f"-DHOW={how}", f"-DTSLAB_SOURCES={sources}",
              f"-DLIBRARIES={';'.join(names)}", f"-DCMAKE_C_COMPILER={CC}", *options)  # fmt: skip
    output_of(CMAKE, "--build", build, "-j", "2")
    for name in names:
        shared = None if name.endswith("static") else "libtslab" + ("" if name == "tslab" else f"-{name}") + SONAME
        run_consumer(build / f"with-{name}", *["malloc"][: name.startswith("malloc")], needed=shared)
    # Only what is linked is built, and only what the project says is installed.
    built = {path.name.split(".")[0] for path in build.rglob("libtslab*") if path.suffix in (".so", ".a")}
    wanted = {"libtslab" if name in ("tslab", "static") else "libtslab-malloc" for name in names}
    expect(built == wanted, f"{how}: {built} are built, not {wanted}")
    compiled = {part for path in build.rglob("*.o") for part in path.parts if part.startswith("tslab") and part.endswith(".dir")}
    wanted = {"tslab-malloc.dir" if name == "malloc" else "tslab_objects.dir" for name in names}
    expect(compiled == wanted, f"{how}: {compiled} are compiled, not {wanted}")
    output_of(CMAKE, "--install", build, "--prefix", root / f"{how}-installed")
    installed = [path.name for path in (root / f"{how}-installed").rglob("*") if path.is_file()]
    expect(installed == ["with-tslab"], f"{how}: {installed} are installed")


def main():
    with empty_directory() as root:
        sources = root / "tslab-of-theirs"
        copy_of_sources(sources)
        check(root, "directory", sources, ["tslab", "malloc"], "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_C_FLAGS_RELEASE=-O1")
        with tarfile.open(root / "tslab.tar", "w") as archive:
            archive.add(sources, "tslab")
        # Without a type of build, and so without optimisation.
        check(root, "fetch", pathlib.Path(root, "tslab.tar"), ["tslab", "static"])


main()
