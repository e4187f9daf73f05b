"""The files for systems that are not here (packages, containers, GitHub): that they can be read, and that they name what there is.

usage: packages.py
"""

import json
import os
import re
import shutil

from ways import SOURCE, empty_directory, expect, interface_version, output_of, version

PACKAGING = SOURCE / "packaging"
# In place of nixpkgs.
NIX = """
import %s {
  lib = { cleanSource = toString; licenses = { mit = "MIT"; asl20 = "Apache-2.0"; isc = "ISC"; bsd3 = "BSD-3-Clause"; }; };
  stdenv.mkDerivation = package: package;
  cmake = "cmake";
  python3 = "python3";
}
"""


def alpine():
    said = output_of("sh", "-euc", '. "$1"; echo $pkgname-$pkgver; type build package', "sh", PACKAGING / "APKBUILD")
    expect(said.startswith(f"tslab-{version()}\n") and said.count("function") == 2, said)


def nix():
    if shutil.which("nix-instantiate") is None:
        print("not for Nix: there is no nix-instantiate")
        return
    here = {"NIX_STORE_DIR": f"{os.getcwd()}/store", "NIX_STATE_DIR": f"{os.getcwd()}/state", "HOME": os.getcwd()}
    said = output_of("nix-instantiate", "--eval", "--strict", "--json", "-E", NIX % PACKAGING, **here)
    package = json.loads(said[said.index("{") : said.rindex("}") + 1])  # beside it are warnings
    expect(package["pname"] == "tslab" and package["version"] == version() and package["src"] == str(SOURCE), package)


def container():
    """packaging/Dockerfile copies what there is from stages that there are, and the pages build its stages."""
    text = (PACKAGING / "Dockerfile").read_text()
    stages = set(re.findall(r"^FROM \S+ AS (\S+)$", text, re.M))
    named = set(re.findall(r"^COPY --from=(\S+)", text, re.M))
    for path in ("docs/operations.md", "CONTRIBUTING.md"):
        named |= set(re.findall(r"packaging/Dockerfile --target (\S+)", (SOURCE / path).read_text()))
    expect(named <= stages and "tslab" in named, f"the stages are {stages}, and {named} are named")
    options = set(re.findall(r"-D(TSLAB_[A-Z]+)=", text))
    listed = set(re.findall(r"^\| `(TSLAB_[A-Z]+)` \|", (SOURCE / "docs/install.md").read_text(), re.M))
    expect(options <= listed, f"docs/install.md does not list {options - listed}")
    (prefix,) = set(re.findall(r"--prefix (\S+)", text))
    copied = set(re.findall(r"COPY --from=tslab (\S+)", text + (SOURCE / "docs/operations.md").read_text()))
    expect(copied == {prefix, f"{prefix}/lib/libtslab-malloc.so.{interface_version()}"}, f"{copied} are copied")


def github():
    """What the workflows run is there, and their matrix is that of the tests. Forms can be read."""
    try:
        import yaml
    except ImportError:
        print("not for GitHub: there is no python3-yaml")
        return
    files = {path.name: yaml.safe_load(path.read_text()) for path in (SOURCE / ".github").rglob("*.yml")}
    targets = set(re.findall(r"^([a-z0-9-]+):", (SOURCE / "Makefile").read_text(), re.M))
    for name in ("ci.yml", "release.yml"):
        steps = [step.get("run", "") for job in files[name]["jobs"].values() for step in job["steps"]]
        for command in "\n".join(steps).splitlines():
            wanted = set(re.findall(r"(?:^|&& )\s*make ([a-z-]+)", command))
            expect(wanted <= targets, f"{name}: there is no target {wanted - targets}")
            for path in re.findall(r"(?<![\w/.-])(?:tests|tools|bindings|\.ci)/[\w./-]+", command):
                expect((SOURCE / path).exists(), f"{name}: there is no {path}")
    matrix = files["ci.yml"]["jobs"]["cell"]["strategy"]["matrix"]
    tests = (SOURCE / "tests/install/CMakeLists.txt").read_text()
    for name, values in matrix.items():
        expect(f"foreach({name} IN ITEMS {' '.join(values)})" in tests, f"the tests have another {name} than the matrix")
    for name in ("fault.yml", "figure.yml"):
        names = [part["id"] for part in files[name]["body"] if part["type"] != "markdown"]
        expect({"name", "description"} <= set(files[name]) and len(names) == len(set(names)), f"{name} is no form")


def main():
    container()
    github()
    with empty_directory():
        alpine()
        nix()


main()
