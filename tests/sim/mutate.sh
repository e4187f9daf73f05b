#!/bin/sh
# mutate.sh SOURCE SCRIPT RESULT: seeds a fault into a source by a sed script; fails when a line of the script does not fit it.
set -eu
sed -f "$2" "$1" > "$3.new"
line=0
while read -r text; do
    line=$((line + 1))
    case $text in '' | '#'*) continue ;; esac
    # A line that does nothing can be left out. (Half of a block cannot: sed fails.)
    sed "${line}d" "$2" > "$3.sed"
    if sed -f "$3.sed" "$1" 2> "$3.err" | cmp -s - "$3.new" && ! test -s "$3.err"; then
        echo "$2:$line: this line changes nothing in $1" >&2
        exit 1
    fi
done < "$2"
rm -f "$3.sed" "$3.err"
mv "$3.new" "$3"
