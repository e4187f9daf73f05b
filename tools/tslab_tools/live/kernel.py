"""What the kernel tells of a process, in /proc, also of a hostile one: nothing waits, and reading is bounded."""

import os
import pwd
import re

FILE_BYTES = 1 << 16  # as much of a file in /proc is read
LONG_FILE_BYTES = 1 << 24  # of the mappings or the environment of a process that is asked for
_STATUS = re.compile(rb"^(Uid|NSpid|State):(.*)$", re.MULTILINE)


def read(path: str, most: int = FILE_BYTES) -> bytes:
    """A file of /proc, or its beginning; nothing where it cannot be read. The kernel gives a long one page by page."""
    found = bytearray()
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        while len(found) < most and (part := os.read(file, most - len(found))):
            found += part
    except OSError:
        return b""
    finally:
        os.close(file)
    return bytes(found)


def _status(pid: int) -> dict[bytes, bytes]:
    return dict(_STATUS.findall(read(f"/proc/{pid}/status")))


def numbers_of(pid: int) -> tuple[int, set[int]]:
    """Its number in its own name space, and the users that its file may belong to: its own, and the root of its name
    space, as which it may have begun."""
    found = {name: [int(word) for word in rest.split()] for name, rest in _status(pid).items() if name != b"State"}
    owners = set(found.get(b"Uid", ()))
    lines = [line.split() for line in read(f"/proc/{pid}/uid_map").splitlines()]
    owners |= {int(line[1]) for line in lines if line[0] == b"0"}
    return found.get(b"NSpid", [pid])[-1], owners


def user_of(pid: int) -> str:
    """Whose rights it has; "": it has ended."""
    words = _status(pid).get(b"Uid", b"").split()
    try:
        return pwd.getpwuid(int(words[1])).pw_name if words else ""
    except KeyError:
        return words[1].decode()


def root_of(pid: int) -> str:
    """What comes before the names that it calls files by, to open them from here: nothing, unless it has a root
    directory or mounts of its own, as in a container, or a service with a /tmp of its own."""
    there = f"/proc/{pid}/root"
    try:
        same = os.readlink(f"/proc/{pid}/ns/mnt") == os.readlink("/proc/self/ns/mnt")
        return "" if same and os.path.samestat(os.stat(there), os.stat("/")) else there
    except OSError:
        return ""


def options_at_start(pid: int) -> dict[str, str]:
    """Those in its environment, as it was at the start; none where nobody may look. A program that sets its title
    overwrites it."""
    found: dict[str, str] = {}
    for word in read(f"/proc/{pid}/environ", LONG_FILE_BYTES).split(b"\0"):
        name, _, value = word.decode(errors="replace").partition("=")
        if name == "TSLAB_OPTIONS":
            options = (item.partition("=") for item in re.split(r",(?=[^,=]*=)", value) if "=" in item)
            found.update({option: chosen for option, _, chosen in options})
        elif name.startswith("TSLAB_"):
            found[name.removeprefix("TSLAB_").lower()] = value
    return found


def why_not(pid: int) -> str:
    """Why it cannot be asked."""
    if not os.path.exists(f"/proc/{pid}"):
        return f"there is no process {pid}"
    maps = read(f"/proc/{pid}/maps", LONG_FILE_BYTES)
    if not maps and not os.access(f"/proc/{pid}/fd", os.R_OK | os.X_OK):
        return f"process {pid} belongs to another user, or lets nobody look at it"
    if b"/libtslab" not in maps:
        return f"process {pid} does not export figures of tslab: start it on tslab with TSLAB_EXPORT=1"
    if options_at_start(pid).get("export") == "1":
        why = "the system refused what that takes: its first lines on stderr say so"
        return f"process {pid} has TSLAB_EXPORT=1, and {why}"
    return f"process {pid} runs on tslab and exports no figures: start it with TSLAB_EXPORT=1"


def why_silent(pid: int) -> str:
    """Why it may not have answered."""
    if not os.path.exists(f"/proc/{pid}"):
        return ": it has ended"
    state = _status(pid).get(b"State", b"").split()[:1]
    return {b"T": ": it is stopped", b"t": ": a debugger has stopped it", b"Z": ": it has ended"}.get(
        state[0] if state else b"", ""
    )
