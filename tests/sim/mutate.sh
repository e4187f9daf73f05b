#!/bin/sh
# mutate.sh SOURCE SCRIPT RESULT: seeds a fault into a source by a sed script; fails when the script does not fit it.
set -eu
sed -f "$2" "$1" > "$3.new"
if cmp -s "$1" "$3.new"; then
    echo "$2 changes nothing in $1" >&2
    exit 1
fi
mv "$3.new" "$3"
