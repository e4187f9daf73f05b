"""Builds the RPM packages from the release of the commit HEAD, and runs programs from what they install into an empty root.

usage: rpm.py
"""

import subprocess

from ways import CONSUMER, SOURCE, empty_directory, expect, interface_version, need, output_of, run_consumer, skip, version


def main():
    need("rpmbuild", "rpm2cpio", "cpio")
    if subprocess.run(["git", "-C", SOURCE, "rev-parse", "--verify", "HEAD"], capture_output=True).returncode != 0:
        skip("this is no clone")
    with empty_directory() as root:
        output_of(SOURCE / "tools/dist.py", root / "SOURCES")
        # Debian's rpm knows nothing of the packages that are installed.
        output_of("rpmbuild", "-bb", "--nodeps", "--define", f"_topdir {root}", "--define", "debug_package %{nil}",
                  SOURCE / "packaging/tslab.spec", CMAKE_C_COMPILER_LAUNCHER=None)  # fmt: skip
        packages = sorted(root.rglob("*.rpm"))
        expect([path.name.rsplit("-", 2)[0] for path in packages] == ["tslab", "tslab-devel"], f"the packages are {packages}")
        for package in packages:
            expect(f"-{version()}-" in package.name, f"{package.name} has another version than {version()}")
            output_of("sh", "-c", f"mkdir -p installed && cd installed && rpm2cpio '{package}' | cpio -idm --quiet")
        libraries = next((root / "installed").rglob("libtslab.a")).parent
        output_of("cc", f"-I{root}/installed/usr/include", CONSUMER / "main.c", f"-L{libraries}", "-Wl,--no-as-needed", "-ltslab-malloc", "-o", "program")
        run_consumer("program", "malloc", needed=f"libtslab-malloc.so.{interface_version()}", LD_LIBRARY_PATH=str(libraries))
        said = output_of(root / "installed/usr/bin/tslab-run", "/usr/bin/python3", "-c", "print(1)", TSLAB_STATS="1", LD_PRELOAD=None)
        expect("tslab statistics" in said, f"tslab-run does not preload: {said}")


main()
