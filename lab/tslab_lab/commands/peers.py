"""`lab peers`: which allocators are here, and the installation of those that are not."""

import argparse
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from tslab_lab.allocators import catalogue, crates, installed
from tslab_lab.base import cache, processes
from tslab_tools import drop_in

NAME = "peers"
HELP = "shows which allocators are here, and installs the others"
DESCRIPTION = (
    "Shows the allocators to compare with: version, where from, path. 'install' gets those that are missing: Debian's "
    "packages by apt-get, and current releases built from the sources that crates of crates.io carry, each as a "
    "library to preload in ~/.cache/tslab/peers (or XDG_CACHE_HOME). What cannot be had says why, and the rest goes on."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=["install"], help="install what is missing")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these (default: all)")
    drop_in.add_option(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.action == "install":
        return install(arguments.names)
    show(arguments.library)
    return 0


def show(library: Path | None) -> None:
    """A line for each: name, version, where it is from, and its path last, so that it can be cut out."""
    for name in catalogue.ALLOCATORS:
        try:
            here, missing = installed.found([name], library)
        except processes.Failure as failure:
            if library:
                raise
            here, missing = {}, {name: str(failure)}
        if found := here.get(name):
            released = f" of {found.released}" if found.released else ""
            print(f"{name:<15} {found.version}{released}, {found.source}: {found.path or 'no path'}")
        else:
            print(f"{name:<15} {missing[name]}")


def install(names: Sequence[str]) -> int:
    """Installs what is wanted and missing. 0 when all of it is here at the end."""
    wanted = list(dict.fromkeys(names or [name for name in catalogue.ALLOCATORS if _is_peer(name)]))
    for name in wanted:
        if not _is_peer(name):
            known = ", ".join(filter(_is_peer, catalogue.ALLOCATORS))
            raise processes.Failure(f"There is no '{name}' to install. There are: {known}.")
    with crates.only_one():
        _, missing = installed.found(wanted)
        failed = [name for name in wanted if not _installed(catalogue.ALLOCATORS[name], name in missing)]
    if failed:
        print(f"Not installed: {', '.join(failed)}. The others can be used.")
    return 1 if failed else 0


def _is_peer(name: str) -> bool:
    return name in catalogue.ALLOCATORS and name not in (catalogue.OURS, catalogue.SYSTEM)


def _installed(allocator: catalogue.Allocator, missing: bool) -> bool:
    """Whether it is here after all that could be done, with one line that says what was done."""
    if not missing:
        print(f"{allocator.name}: is here")
        return True
    print(f"{allocator.name}: {allocator.package or allocator.version} ...", end=" ", flush=True)
    start = time.monotonic()
    try:
        _apt_install(allocator.package) if allocator.package else crates.build(allocator)
        _, why = installed.found([allocator.name])
        if why:
            raise processes.Failure(f"It was installed, and is not where it should be. {why[allocator.name]}")
    except (processes.Failure, OSError) as failure:
        print(f"failed.\n  {failure}", flush=True)
        return False
    except KeyboardInterrupt:
        print("interrupted; nothing of it is left.", flush=True)
        raise
    print(f"installed in {time.monotonic() - start:.0f} s", flush=True)
    return True


def _apt_install(package: str) -> None:
    command = f"apt-get install {package}"
    if not shutil.which("apt-get"):
        raise processes.Failure(f"There is no apt-get here: install the library of Debian's {package} in another way.")
    if os.geteuid() != 0:
        raise processes.Failure(f"Only root can. Run: sudo {command}")
    log = cache.folder("peers") / f"{package}.log"
    log.write_text("")
    try:
        command_line = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "--no-install-recommends"]
        crates.step([*command_line, package], log)
    except processes.Failure as failure:
        raise processes.Failure(f"{failure}\n  If the lists of packages are old: apt-get update") from None
