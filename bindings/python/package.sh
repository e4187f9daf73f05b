#!/bin/sh
# Makes the packages: DIRECTORY/tslab-VERSION.tar.gz, which has the sources of the allocator inside, and a wheel that is built
# from it. It needs the Python package `build`. Nothing is published.
#
# usage: package.sh DIRECTORY
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
"${PYTHON:-python3}" -m build --outdir "$target" "$sources"
