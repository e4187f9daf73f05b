#!/bin/busybox sh
# The first process of a kernel that is tried: runs the commands of /tests, says each exit code, and ends the machine.
/bin/busybox --install -s /bin
export PATH=/bin HOME=/ TMPDIR=/tmp
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
while IFS='|' read -r seconds name command; do
    timeout -s KILL "$seconds" sh -c "$command" </dev/null >/tmp/out 2>&1
    code=$?
    if [ "$name" = features ]; then
        cat /tmp/out
    elif [ $code != 0 ] && [ $code != 77 ]; then
        tail -n 5 /tmp/out
    fi
    echo "test $name: exit $code"
done </tests
echo "all were run"
sync
poweroff -f
