#!/bin/sh
# Unpacks Debian packages of the arm64 architecture into a directory, for the linker and for qemu. The machine's own packages
# and their lists stay as they are: apt works on lists of its own here, which any user may do.
#
# usage: tools/arm64-packages.sh directory package...
set -eu

[ $# -ge 2 ] || { echo "usage: tools/arm64-packages.sh directory package..." >&2; exit 2; }
directory=$1
shift

# The last word of a finished work is this file: it names what was unpacked.
if [ "$(cat "$directory/packages" 2>/dev/null)" = "$*" ]; then
    exit 0
fi

rm -rf "$directory"
mkdir -p "$directory/lists/partial" "$directory/cache/archives/partial"
cd "$directory"
log=$PWD/log

# Downloads as the user that we are: apt would else drop its rights, and could not write here.
foreign_apt() {
    apt-get -q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Sandbox::User="$(id -un)" \
        -o Dir::State="$PWD" -o Dir::State::status=/dev/null -o Dir::Cache="$PWD/cache" -o Acquire::Languages=none \
        -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false "$@" >>"$log" 2>&1
}

echo "tslab: fetching Debian's arm64 packages: $*"
# A source that has nothing for arm64 is no reason to stop: what counts is whether the packages come.
foreign_apt update || true
if ! foreign_apt download "$@"; then
    cat "$log" >&2
    echo "tslab: apt-get could not download these arm64 packages: $*" >&2
    exit 1
fi
for package in *.deb; do
    dpkg-deb -x "$package" .
done
rm -rf lists cache ./*.deb log
echo "$*" >packages
