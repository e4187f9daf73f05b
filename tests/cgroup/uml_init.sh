#!/bin/sh
# The first process of a User-mode Linux whose root is the host's, read-only: runs a program in control groups of both versions,
# says each exit code as a line "version N: exit CODE", and ends the machine.
# usage: uml_init.sh PROGRAM FILE
export PATH=/usr/sbin:/usr/bin:/sbin:/bin TESTS_FILE="$2"
export TESTS_FOLDER=/mnt
mount -t tmpfs boxes /mnt
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t cgroup2 none /sys/fs/cgroup
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
TESTS_CGROUP=/sys/fs/cgroup "$1"
echo "version 2: exit $?"
umount /mnt # its pages are the groups'
mount -t tmpfs boxes /mnt
echo -memory >/sys/fs/cgroup/cgroup.subtree_control
umount /sys/fs/cgroup
mount -t tmpfs groups /sys/fs/cgroup
mkdir /sys/fs/cgroup/memory
for _ in 1 2 3 4 5 6 7 8 9 10; do # until the groups that are gone let go of the controller
    mount -t cgroup -o memory none /sys/fs/cgroup/memory && break
    echo 3 >/proc/sys/vm/drop_caches
    sleep 1
done
TESTS_CGROUP=/sys/fs/cgroup/memory "$1"
echo "version 1: exit $?"
poweroff -f
