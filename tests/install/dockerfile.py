"""Builds the image of packaging/Dockerfile with buildah, on a Debian that is made here, and runs its program. An image of Debian stays in
DIRECTORY.

usage: dockerfile.py DIRECTORY
"""

import json
import os
import pathlib
import subprocess
import sys

from ways import SOURCE, copy_of_sources, empty_directory, expect, need, output_of, skip

# Without a daemon, and without rights that a container lacks.
HERE = {"BUILDAH_ISOLATION": "chroot", "STORAGE_DRIVER": "vfs"}


def debian(directory):
    image = directory / "debian.tar"
    if not image.exists():
        directory.mkdir(parents=True, exist_ok=True)
        made = subprocess.run(["mmdebstrap", "--variant=minbase", "bookworm", directory / "new.tar"])
        if made.returncode != 0:
            skip("there is no Debian to be had")
        (directory / "new.tar").rename(image)
    return image


def main():
    need("buildah", "mmdebstrap")
    if os.getuid() != 0:
        skip("only root may")
    base = debian(pathlib.Path(sys.argv[1]))
    with empty_directory() as root:

        def buildah(*words):
            return output_of("buildah", f"--root={root}/images", f"--runroot={root}/run", *words, **HERE).strip()

        empty = buildah("from", "scratch").splitlines()[-1]
        buildah("add", "--quiet", empty, base, "/")
        buildah("commit", "--quiet", "--rm", empty, "docker.io/library/debian:12")
        copy_of_sources(root / "sources")
        buildah("bud", "--pull-never", "-f", SOURCE / "packaging/Dockerfile", "-t", "example", root / "sources")
        container = buildah("from", "--pull-never", "localhost/example").splitlines()[-1]
        settings = json.loads(buildah("inspect", container))["OCIv1"]["config"]
        command = [*settings["Entrypoint"], *settings["Cmd"], "--version"]
        said = buildah("run", "--env", "TSLAB_STATS=1", container, "--", *command)
        expect("Redis server" in said and "tslab statistics" in said, said)


main()
