"""The crates: their tests and the examples of their manual, with the release library and with the checked one; their form; their
packages, as a user builds them; one round of each benchmark.

usage: rust.py DIRECTORY crates|features|package|benches
"""

import os
import pathlib
import re
import shutil
import sys

from tools import BINDINGS, expect, need, or_skip, output_of, skip

RUST = BINDINGS / "rust"
OLDEST = tuple(map(int, re.search(r'rust-version = "(\d+)\.(\d+)"', (RUST / "Cargo.toml").read_text()).groups()))


def cargo(*words, **environment):
    return output_of("cargo", *words, **environment)


def passed(said, least):
    """Tests that do not run prove nothing."""
    count = sum(int(number) for number in re.findall(r"^test result: ok\. (\d+) passed; 0 failed; 0 ignored", said, re.M))
    expect(count >= least, f"{said}{count} tests passed, not {least}.")


def crates():
    output_of(RUST / "declarations.py", "--check")
    passed(cargo("test", "--locked"), 45)
    have = output_of("cargo", "--list")
    if re.search(r"^ +fmt\b", have, re.M):
        cargo("fmt", "--all", "--check")
    if re.search(r"^ +clippy\b", have, re.M):
        cargo("clippy", "--locked", "--all-targets", "--features", "tslab/malloc,tslab/checked", "--", "-D", "warnings")
    cargo("doc", "--locked", "--no-deps", RUSTDOCFLAGS="-D warnings")


# With the trait of the standard library, which needs an unstable feature of the compiler.
NIGHTLY = {
    "Cargo.toml": f"""[package]
name = "nightly"
edition = "2021"
[dependencies]
tslab = {{ path = "{RUST}/tslab", features = ["nightly"] }}
[workspace]
""",
    "src/main.rs": """#![feature(allocator_api)]
fn main() {
    let tenant = tslab::Domain::open("tenant", 0).unwrap();
    let mut numbers = Vec::new_in(tenant.allocator());
    numbers.extend(0..1000u64);
    assert!(tenant.report().live_bytes >= 8000);
    drop(Box::new_in(numbers, tenant.allocator()));
    assert!(tenant.retire().is_drained());
}
""",
}


def features(directory):
    passed(cargo("test", "--locked", "--package", "tslab", "--features", "malloc,checked"), 42)
    for name, text in NIGHTLY.items():
        path = directory / "nightly" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    shutil.copy(RUST / "Cargo.lock", directory / "nightly")
    os.chdir(directory / "nightly")
    cargo("run", "--offline", RUSTC_BOOTSTRAP="1")


def package(directory):
    output_of(RUST / "package.sh", directory / "cargo")
    made = sorted(path.name for path in (directory / "cargo/package").glob("*.crate"))
    expect(len(made) == 2, f"the packages are {made}")


def benches():
    said = cargo("bench", "--locked", "--package", "tslab-benches", "--", "--test")
    expect(said.count("Success") >= 37, said)


def main():
    directory, part = pathlib.Path(sys.argv[1]), sys.argv[2]
    need("cargo", "rustc", "cc", "python3")
    version = tuple(map(int, re.search(r"rustc (\d+)\.(\d+)", output_of("rustc", "--version")).groups()))
    if version < OLDEST:
        skip(f"rustc {version} is older than {OLDEST}")
    os.environ["CARGO_TARGET_DIR"] = str(directory / "cargo")
    os.chdir(RUST)
    or_skip("crates.io cannot be reached", "cargo", "fetch", "--locked", unless="lock file")
    {"package": package, "features": features}[part](directory) if part in ("package", "features") else {"crates": crates, "benches": benches}[part]()


main()
