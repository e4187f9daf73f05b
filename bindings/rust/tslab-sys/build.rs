//! Compiles the allocator: `vendor/tslab.c` of the package, or in the checkout what `tools/amalgamate.py` makes.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The directory of `tslab.c` and `tslab.h`.
fn sources(manifest: &Path, out: &Path) -> PathBuf {
    let vendor = manifest.join("vendor");
    if vendor.join("tslab.c").exists() {
        println!("cargo:rerun-if-changed=vendor");
        return vendor;
    }
    let root = manifest.join("../../..");
    let script = root.join("tools/amalgamate.py");
    for input in ["src", "include/tslab/tslab.h", "tools/amalgamate.py"] {
        println!("cargo:rerun-if-changed={}", root.join(input).display());
    }
    let made = out.join("amalgamation");
    let status = Command::new("python3").arg("-B").arg(&script).arg(&made).status();
    match status {
        Ok(status) if status.success() => made,
        Ok(status) => panic!("{} failed: {status}", script.display()),
        Err(error) => panic!("python3 makes the sources of tslab in a checkout: {error}"),
    }
}

fn main() {
    let linux = env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux");
    let wide = env::var("CARGO_CFG_TARGET_POINTER_WIDTH").as_deref() == Ok("64");
    assert!(linux && wide, "tslab runs on Linux on 64-bit machines");

    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    println!("cargo:rerun-if-changed=build.rs");
    let directory = sources(&manifest, &out);

    let mut build = cc::Build::new();
    build.file(directory.join("tslab.c")).include(&directory).opt_level(2).warnings(false);
    if env::var_os("CARGO_FEATURE_MALLOC").is_some() {
        // The program itself has libc's names: there is no other malloc to look for.
        build.define("TSLAB_MALLOC", None).define("TSLAB_LINKED_IN", "1");
    }
    if env::var_os("CARGO_FEATURE_CHECKED").is_some() {
        build.define("TSLAB_CHECKED", "2");
    }
    build.compile("tslab");
    println!("cargo:include={}", directory.display());
    if env::var("CARGO_CFG_TARGET_ENV").as_deref() == Ok("gnu") {
        // Before glibc 2.34 threads and the dynamic loader are libraries of their own.
        println!("cargo:rustc-link-lib=pthread");
        println!("cargo:rustc-link-lib=dl");
    }
}
