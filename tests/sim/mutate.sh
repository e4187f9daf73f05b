#!/bin/sh
# mutate.sh SOURCE SCRIPT RESULT: seeds a fault into a source by a sed script; fails when a line of the script does not fit it.
set -eu
sed -f "$2" "$1" > "$3.new"
if cmp -s "$1" "$3.new"; then
    echo "$2 changes nothing in $1" >&2
    exit 1
fi
line=0
while read -r text || [ -n "$text" ]; do
    line=$((line + 1))
    case $text in '' | '#'*) continue ;; esac
    # A line that does nothing can be left out. Without half of a block, sed fails and prints nothing.
    sed "${line}d" "$2" > "$3.sed"
    if sed -f "$3.sed" "$1" 2> /dev/null | cmp -s - "$3.new"; then
        echo "$2:$line: this line changes nothing in $1" >&2
        exit 1
    fi
done < "$2"
rm -f "$3.sed"
mv "$3.new" "$3"
