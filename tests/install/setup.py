"""`make build` installs no package: it says which are missing, and how to get them, also to root.

usage: setup.py
"""

import os
import pathlib
import subprocess

from ways import SOURCE, empty_directory, expect


def script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def run(root, *command):
    environment = dict(os.environ, PATH=f"{root}:/usr/bin:/bin")
    return subprocess.run(command, cwd=SOURCE, env=environment, capture_output=True, text=True)


def main():
    with empty_directory() as root:
        script(root / "dpkg-query", "echo installed cmake")
        script(root / "apt-get", f"echo \"$@\" >>{root}/called")
        result = run(root, "make", "build")
        expect(result.returncode != 0 and "apt-get install" in result.stdout and "ninja-build" in result.stdout, result)
        expect(not pathlib.Path(root, "called").exists(), "make build has called apt-get")


main()
