"""What a process belongs to, as the kernel tells it: a unit of systemd, a container or a user."""

import re

_BYTES_MOST = 128
_USER = re.compile(r"user-\d+\.slice")
_CONTAINER = re.compile(r"(?:^|[-:.])([0-9a-f]{64})(?:\.scope)?$")
_UNIT = re.compile(r".*\.(?:service|scope)")
_HIERARCHY = re.compile(r"^(?:0:|\d+:name=systemd):(/.*)", re.MULTILINE)


def unit_of(cgroups: str) -> str:
    """Of the text of /proc/PID/cgroup. All that users start in sessions or services of their own is `user-UID.slice`:
    what is below, they may name as they like. Containers are told by the first 12 digits of their number."""
    paths = _HIERARCHY.findall(cgroups)
    parts = [part for part in max(paths, key=len, default="").split("/") if part]
    for part in parts:
        if _USER.fullmatch(part):
            return part
    for part in parts:
        if found := _CONTAINER.search(part):
            return found[1][:12]
    named = next((part for part in parts if _UNIT.fullmatch(part)), parts[0] if parts else "/")
    return named[:_BYTES_MOST]
