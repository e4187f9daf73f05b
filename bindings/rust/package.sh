#!/bin/sh
# Makes the packages of the crates, with the sources of the allocator inside: DIRECTORY/package/tslab*-VERSION.crate. They are
# built as a user would build them, and not published.
#
# usage: package.sh DIRECTORY
set -eu
here=$(dirname "$(readlink -f "$0")")
mkdir -p "$1"
cd "$1"
rm -rf package sources
mkdir sources
for name in Cargo.toml Cargo.lock tslab-sys tslab benches; do
    cp -R "$here/$name" sources/
done
for name in tslab-sys tslab; do
    cp "$here/../../LICENSE" "sources/$name/"
done
"$here/../../tools/amalgamate.py" sources/tslab-sys/vendor
# The copy is not what git has, of course.
cargo package --manifest-path sources/Cargo.toml --workspace --exclude tslab-benches --allow-dirty --target-dir .
