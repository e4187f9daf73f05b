"""The files for packages whose systems are not here: that the shell and Nix can read them, and that they name what there is.

usage: packages.py
"""

import json
import os
import shutil

from ways import SOURCE, empty_directory, expect, output_of, version

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


def main():
    with empty_directory():
        alpine()
        nix()


main()
