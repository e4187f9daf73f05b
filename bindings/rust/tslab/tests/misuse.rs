//! With the feature `checked`, what unsafe code gets wrong ends the program with a line that says so.

use std::alloc::{alloc, dealloc, Layout};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

#[global_allocator]
static GLOBAL: tslab::Tslab = tslab::Tslab;

const CHILD: &str = "TSLAB_TEST_MISUSE";
const SIGABRT: i32 = 6;

fn misuse(what: &str) {
    let layout = Layout::from_size_align(40, 8).unwrap();
    // SAFETY: none: this is what the library has to see.
    unsafe {
        let p = alloc(layout);
        match what {
            "double free" => dealloc(p, layout),
            "overflow" => p.add(40).write(1),
            _ => panic!("there is no {what}"),
        }
        dealloc(p, layout);
    }
}

fn check(name: &str, what: &str, said: &str) {
    if let Ok(what) = std::env::var(CHILD) {
        misuse(&what);
        return;
    }
    let test = std::env::current_exe().unwrap();
    let child = Command::new(test).args(["--exact", name, "--nocapture"]).env(CHILD, what).output().unwrap();
    let stderr = String::from_utf8_lossy(&child.stderr);
    assert_eq!(child.status.signal(), Some(SIGABRT), "{stderr}");
    assert!(stderr.contains("tslab[") && stderr.contains(said), "{stderr}");
}

#[test]
fn double_free() {
    check("double_free", "double free", "double free");
}

#[test]
fn overflow() {
    check("overflow", "overflow", "beyond");
}
