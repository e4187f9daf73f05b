"""Builds, installs and uses the libraries with the oldest CMake that they need, which comes from PyPI; skipped without.

usage: old_cmake.py CC
"""

import re
import subprocess
import sys

from ways import CONSUMER, SOURCE, empty_directory, expect, interface_version, output_of, run_consumer, skip

(CC,) = sys.argv[1:]


def oldest():
    return re.search(r"cmake_minimum_required\(VERSION (\d+\.\d+)", (SOURCE / "CMakeLists.txt").read_text())[1]


def install_cmake(root):
    output_of("python3", "-m", "venv", root / "python")
    pip = subprocess.run([root / "python/bin/pip", "install", "--quiet", f"cmake=={oldest()}.*"], stderr=subprocess.PIPE, text=True)
    if pip.returncode != 0:
        skip(f"pip does not find CMake {oldest()}: {pip.stderr}")
    return root / "python/bin/cmake"


def main():
    with empty_directory() as root:
        cmake = install_cmake(root)
        expect(f"version {oldest()}." in output_of(cmake, "--version"), "this is another CMake")
        build, prefix = root / "build", root / "prefix"
        output_of(cmake, "-S", SOURCE, "-B", build, "-DTSLAB_TWINS=OFF", f"-DCMAKE_C_COMPILER={CC}", "-DCMAKE_C_FLAGS_RELEASE=-O1")
        output_of(cmake, "--build", build, "-j", "2")
        output_of(cmake, "--install", build, "--prefix", prefix)
        output_of(cmake, "-S", CONSUMER, "-B", root / "use", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_C_COMPILER={CC}")
        output_of(cmake, "--build", root / "use")
        soname = f".so.{interface_version()}"
        run_consumer(root / "use/with-tslab", needed=f"libtslab{soname}")
        run_consumer(root / "use/with-malloc", "malloc", needed=f"libtslab-malloc{soname}")
        run_consumer(root / "use/with-malloc-static", "malloc")
        output_of(cmake, "--build", build, "--target", "uninstall")
        left = [path for path in prefix.rglob("*") if path.is_file()]
        expect(not left, f"uninstall leaves {left}")


main()
