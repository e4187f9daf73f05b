#!/bin/sh
# Runs clang-tidy over the sources of the library. It needs the compile commands of the debug build.
set -eu
cd "$(dirname "$0")/.."

find src -type f -name '*.c' -print0 | xargs -0 -n 1 -P "$(nproc)" clang-tidy --quiet -p build/debug
