#!/bin/sh
# Compares the binary interface of a build of libtslab with the one on record, or records it. It needs abigail-tools, and a library
# with debug information. Within an interface version (before 1.0: a minor version) nothing on record may change; additions may come.
#
# usage: tools/abi.sh check|record build/release/libtslab.so [RECORD]
set -eu

what=${1-}
library=${2-}
record=${3-$(dirname "$0")/../tests/install/libtslab.abi}
if [ ! -r "$library" ]; then
    echo "usage: tools/abi.sh check|record LIBRARY [RECORD]" >&2
    exit 2
fi

case $what in
    record)
        abidw --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed --out-file "$record" "$library"
        ;;
    check)
        # abidiff's exit code is a set of bits: 4 and 8 tell of changes. To name it the headers would hide changes of structs.
        abidiff --no-added-syms "$record" "$library"
        ;;
    *)
        echo "usage: tools/abi.sh check|record LIBRARY [RECORD]" >&2
        exit 2
        ;;
esac
