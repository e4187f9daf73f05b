#!/bin/sh
# Formats every C and C++ file of the project in place; with --check changes nothing and fails when a file would change.
set -eu
cd "$(dirname "$0")/.."

case "${1-}" in
    --check) set -- --dry-run -Werror ;;
    "") set -- -i ;;
    *) echo "usage: tools/format.sh [--check]" >&2; exit 2 ;;
esac
for directory in src include tests lab examples; do
    if [ -d "$directory" ]; then
        find "$directory" -type f \( -name '*.[ch]' -o -name '*.cc' -o -name '*.cpp' -o -name '*.hpp' \) -print0
    fi
done | xargs -0 -r clang-format "$@"
