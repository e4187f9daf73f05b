"""Builds the RPM packages from the release of the commit HEAD, and runs programs from what they install into an empty root.

usage: rpm.py
"""

import re
import shutil
import subprocess

from ways import CONSUMER, SOURCE, empty_directory, expect, interface_version, need, output_of, run_consumer, skip, version


# What the package for programs has; all else is in the other, for developers.
RUNTIME = r"/bin/tslab(-run)?$|/lib\S*/libtslab[a-z-]*\.so\.[\d.]+|/man1/|/share/tslab\b|/share/(bash-completion|fish|zsh)/|/licenses/|/doc/tslab(-\d[\d.]*)?(/|$)|/\.build-id"
DEVELOPMENT = (r"/include/tslab/tslab\.h", r"/libtslab\.so", r"/libtslab-malloc\.a", r"/tslab-malloc\.pc", r"/tslab-config\.cmake", r"/man3/tslab\.3\S*")

# rpmlint's errors about what a distribution decides or adds: tags and signatures, where commands lie, old kinds of tables of symbols.
OF_DISTRIBUTIONS = r" (no-(signature|packager-tag|group-tag)|non-versioned-file-in-library-package|missing-hash-section|static-library-without-debuginfo)\b"


def check_contents(runtime, development):
    runtime, development = (output_of("rpm", "-qlp", package).split() for package in (runtime, development))
    strange = [name for name in runtime if not re.search(RUNTIME, name)]
    expect(runtime and not strange, f"the package for programs has {strange}")
    for wanted in DEVELOPMENT:
        expect(any(re.search(f"{wanted}$", name) for name in development), f"the package for developers has no {wanted}: {development}")
    expect(not set(runtime) & set(development), f"both packages have {set(runtime) & set(development)}")


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
        check_contents(*packages)
        if shutil.which("rpmlint"):
            # It fails at whatever it calls an error.
            said = output_of("sh", "-c", '"$@" || true', "sh", "rpmlint", SOURCE / "packaging/tslab.spec", *packages)
            errors = {line for line in said.splitlines() if re.search(r"\w: E: ", line) and not re.search(OF_DISTRIBUTIONS, line)}
            expect(not errors, errors)
        libraries = next((root / "installed").rglob("libtslab.a")).parent
        output_of("cc", f"-I{root}/installed/usr/include", CONSUMER / "main.c", f"-L{libraries}", "-Wl,--no-as-needed", "-ltslab-malloc", "-o", "program")
        run_consumer("program", "malloc", needed=f"libtslab-malloc.so.{interface_version()}", LD_LIBRARY_PATH=str(libraries))
        said = output_of(root / "installed/usr/bin/tslab-run", "/usr/bin/python3", "-c", "print(1)", TSLAB_STATS="1", LD_PRELOAD=None)
        expect("tslab statistics" in said, f"tslab-run does not preload: {said}")


main()
