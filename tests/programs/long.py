"""The programs of the long set: other runtimes, with memory management of their own beside malloc."""

import os
import shutil

from run import WORK, entry, expect, toolchain


def expect_done(result):
    expect(result.endswith("done\n"), f"the program did not come to its end: {result[-500:]}")


@entry
def node(runner):
    """Buffers, compression, hashes, and worker threads, each with an engine of its own."""
    expect_done(runner.same([toolchain("node", "--version"), os.path.join(WORK, "work.js")]))


@entry
def java(runner):
    """Threads, direct buffers, compression and class loading: what the virtual machine allocates outside its heap."""
    compiler, program = toolchain("javac", "-version"), toolchain("java", "-version")
    runner.run([compiler, "-d", runner.directory, os.path.join(WORK, "Work.java")])
    expect_done(runner.same([program, "-Xmx256m", "-cp", runner.directory, "Work"]))


@entry
def rust(runner):
    """A program of the standard library only, whose default allocator is the system's."""
    cargo = toolchain("cargo", "--version")
    os.mkdir(runner.path("src"))
    shutil.copy(os.path.join(WORK, "work.rs"), runner.path("src", "main.rs"))
    runner.write("Cargo.toml", '[package]\nname = "work"\nversion = "0.1.0"\nedition = "2021"\n')
    # The compiler finds itself through the settings of the user who runs the test.
    runner.run([cargo, "build", "--release", "--offline", "--quiet"], env=dict(os.environ, CARGO_TARGET_DIR=runner.path("target")))
    expect_done(runner.same([runner.path("target", "release", "work")]))


@entry
def go(runner):
    """Goroutines that allocate in C, hand the memory on to others, and move from thread to thread."""
    compiler = toolchain("go", "version")
    toolchain("gcc", "--version")
    # Not at the top of the directory for temporary files, where the compiler does not accept a module.
    os.mkdir(runner.path("module"))
    shutil.copy(os.path.join(WORK, "work.go"), runner.path("module", "main.go"))
    runner.write(os.path.join("module", "go.mod"), "module example.org/work\n\ngo 1.19\n")
    settings = {"GOCACHE": runner.path("cache"), "GOPATH": runner.path("path"), "GOTOOLCHAIN": "local", "GOPROXY": "off",
                "GOFLAGS": "-mod=mod", "CGO_ENABLED": "1"}
    runner.run([compiler, "build", "-o", runner.path("work"), "."], preload=False, extra=settings, cwd=runner.path("module"))
    expect_done(runner.same([runner.path("work")]))
