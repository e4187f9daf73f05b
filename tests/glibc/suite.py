#!/usr/bin/python3
"""Makes glibc's own tests ready to be built, as tests.toml says.

  suite.py extract TARBALL DIRECTORY   what the tests need of glibc's sources, and tests.cmake, which builds and runs them
  suite.py complete DIRECTORY          every malloc/tst-*.c is in the list, once, and nothing that does not exist
"""

import pathlib
import shutil
import sys
import tarfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
LIST = tomllib.loads((HERE / "tests.toml").read_text())

# Whole directories, and the private headers that need nothing else of glibc's.
FOLDERS = ("malloc", "support")
FILES = ("test-skeleton.c", "include/array_length.h", "include/dso_handle.h", "include/intprops.h", "include/libc-diag.h", "include/libc-pointer-arith.h",
         "sysdeps/generic/malloc-alignment.h", "sysdeps/generic/malloc-size.h", "sysdeps/generic/tst-stack-align.h")


def sources(path, entry):
    """The files that a test is made of."""
    return [path, *entry.get("with", [])]


def wanted():
    files = set(FILES) | set(LIST["support"]["sources"])
    for path, entry in LIST["run"].items():
        files |= {*sources(path, entry), *entry.get("needs", []), *entry.get("modules", [])}
    return files


def cmake_call(function, *words):
    return f"{function}({' '.join(str(word) for word in words)})\n"


def cmake_test(path, entry):
    """The call of glibc_test (CMakeLists.txt) for an entry of the list."""
    words = [pathlib.PurePath(path).stem, "SOURCES", *sources(path, entry)]
    words += ["MODULES", *entry.get("modules", [])]
    words += ["TIMEOUT", entry.get("timeout", 120)]
    words += [key.upper() for key in ("slow", "unlike", "unlike-plain") if key in entry]
    return cmake_call("glibc_test", *words)


def extract(tarball, directory):
    shutil.rmtree(directory, ignore_errors=True)
    files = wanted()
    with tarfile.open(tarball) as archive:
        for member in archive:
            path = member.name.partition("/")[2]
            if member.isfile() and (path in files or path.startswith(tuple(folder + "/" for folder in FOLDERS))):
                files.discard(path)
                target = directory / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.extractfile(member).read())
    if files:
        sys.exit(f"tests/glibc: {tarball} has no {', '.join(sorted(files))}")
    text = cmake_call("glibc_support", *LIST["support"]["sources"])
    text += "".join(cmake_test(path, entry) for path, entry in LIST["run"].items())
    (directory / "tests.cmake").write_text(text)


def complete(directory):
    here = {f"malloc/{file.name}" for file in directory.glob("malloc/tst-*.c")}
    run, out = set(LIST["run"]), set(LIST["out"])
    parts = {file for entry in LIST["run"].values() for file in entry.get("with", [])}
    wrong = [f"{path} is in neither part of tests.toml" for path in sorted(here - run - out - parts)]
    wrong += [f"{path} is in both parts of tests.toml" for path in sorted(run & out)]
    wrong += [f"{path} is in tests.toml, and not in glibc" for path in sorted(out - here)]
    wrong += [f"{path} has no reason in tests.toml" for path, reason in LIST["out"].items() if not reason.strip()]
    if wrong or not here:
        sys.exit("\n".join(wrong) or f"{directory} has no tests")
    print(f"{len(here)} tests of malloc: {len(here & run)} run, {len(here & out)} left out; {len(run - here)} of other parts run")


def main():
    match sys.argv[1:]:
        case ["extract", tarball, directory]:
            try:
                extract(tarball, pathlib.Path(directory))
            except (OSError, tarfile.TarError) as error:
                sys.exit(f"tests/glibc: {tarball}: {error}")
        case ["complete", directory]:
            complete(pathlib.Path(directory))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
