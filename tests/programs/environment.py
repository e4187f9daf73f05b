"""Options in the environment, and programs that must not listen to their environment."""

import json
import os
import re
import shutil
import stat
import subprocess

from run import WORK, Skipped, entry, expect, need, tslab_lines


def complaints(runner, **options):
    """What the library says about these options, while a program does its work all the same."""
    stdout, stderr = runner.run(["/bin/echo", "hello"], extra=options, quiet=False)
    expect(stdout == "hello\n", f"with {options} the program printed {stdout!r}")
    expect(tslab_lines(stderr) == stderr.splitlines(), f"stderr has other lines too: {stderr}")
    return stderr.splitlines()


def expect_one_complaint(runner, name, **options):
    lines = complaints(runner, **options)
    expect(len(lines) == 1, f"{options}: {len(lines)} lines on stderr, not one: {lines}")
    expect(name in lines[0].lower(), f"{options}: the line does not name {name}: {lines[0]}")


@entry
def unknown_option(runner):
    expect_one_complaint(runner, "nonsense", TSLAB_NONSENSE="1")
    expect_one_complaint(runner, "nonsense", TSLAB_OPTIONS="nonsense=1")
    expect_one_complaint(runner, "nonsense", TSLAB_OPTIONS="purge_delay_ms=100,nonsense=1")
    expect_one_complaint(runner, "nonsense", TSLAB_OPTIONS="nonsense=1,purge_delay_ms=100")
    expect(len(complaints(runner, TSLAB_NONSENSE="1", TSLAB_OTHER_NONSENSE="1")) == 2, "two unknown options, two lines")


@entry
def strangers_text(runner):
    """What stands in the environment cannot write to a terminal as it likes."""
    lines = complaints(runner, **{"TSLAB_X\x1b[2J": "1", "TSLAB_PURGE": "\x1b]0;mine\x07"})
    expect(len(lines) == 2 and not any("\x1b" in line or "\x07" in line for line in lines), lines)
    expect(any("TSLAB_X?[2J" in line for line in lines) and any("=?]0;mine?:" in line for line in lines), lines)


@entry
def right_options(runner):
    for options in ({}, {"TSLAB_PURGE_DELAY_MS": "100"}, {"TSLAB_OPTIONS": "purge_delay_ms=100"}, {"TSLAB_OPTIONS": ""}):
        lines = complaints(runner, **options)
        expect(not lines, f"{options}: {lines}")
    _, stderr = runner.run(["/bin/true"], extra={"TSLAB_STATS": "1"}, quiet=False)
    expect(stderr.strip(), "TSLAB_STATS=1 printed nothing")


def compiled(runner, source, *options):
    program = runner.path(os.path.splitext(source)[0])
    runner.run([need("gcc", "gcc"), "-O2", "-fno-builtin", "-pthread", "-o", program, os.path.join(WORK, source), *options],
               preload=False)
    return program


def may_mount(runner):
    """Whether a program may have mounts of its own here."""
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    return subprocess.run([need("unshare", "util-linux"), "--mount", *user, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0


@entry
def without_proc(runner):
    """The RSS is not known then, which is not 0."""
    if not may_mount(runner):
        raise Skipped("the system lets nobody mount here")
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    hides = 'mount -t tmpfs none /proc && TSLAB_STATS=1 LD_PRELOAD="$0" exec true'
    _, said = runner.run([need("unshare", "util-linux"), "--mount", *user, "sh", "-c", hides, runner.library], preload=False, quiet=False)
    expect(re.search(r"peak\n +\?( +\d+\.\d\d){5} +\? +\?\n", said), said)


@entry
def setuid(runner):
    """A program that runs with more rights than its user takes no orders from the user's environment."""
    if os.geteuid() != 0:
        raise Skipped("only root can make a setuid program of root")
    if os.statvfs(runner.directory).f_flag & os.ST_NOSUID:
        raise Skipped(f"{runner.directory} is mounted nosuid")
    # The loader ignores LD_PRELOAD with a path in such a program, so it is linked with a copy that everybody can read.
    shutil.copy(runner.library, runner.path(soname(runner)))
    library = runner.path(soname(runner))
    program = compiled(runner, "secure.c", "-Wl,--no-as-needed", library, f"-Wl,-rpath,{runner.directory}")
    os.chmod(runner.directory, 0o755)
    orders = {
        "TSLAB_STATS": "1,/nowhere/x",
        "TSLAB_STATS_SIGNAL": "USR2",
        "TSLAB_EXPORT": "1",
        "TSLAB_PROFILE": "1M,/nowhere/y",
        "TSLAB_BLACKBOX": "/nowhere/z",
        "TSLAB_NONSENSE": "1",
        "TSLAB_ARENA_BYTES": "64G",
        "TSLAB_EPOCH_POLICY": "per-request",
        "TSLAB_OPTIONS": "more_nonsense=1,retain_bytes=1M,purge_delay_ms=7,limit_bytes=9G,soft_limit_bytes=8G,purge=eager,retain_limit_bytes=3G,epoch_limits=a=1G,"
                         "huge_pages=never,keeper=0,cache_bytes=9M,magazines=0",
    }
    as_nobody = {"user": 65534, "group": 65534, "extra_groups": [], "cwd": "/"}

    def said(mode, environment):
        """The program's line, the options it says it has, and stderr, when nobody runs it."""
        os.chmod(program, mode)
        stdout, stderr = runner.run([program], preload=False, extra=environment, quiet=False, **as_nobody)
        line, _, report = stdout.partition("\n")
        return line, json.loads(report)["options"], stderr

    _, defaults, _ = said(0o755, {})
    line, options, stderr = said(0o755, orders)
    expect(line == "plain, with the library", f"the plain program says {line!r}")
    expect("nonsense" in stderr.lower() and len(stderr.splitlines()) > 2, f"the plain program does not listen: {stderr!r}")
    expect(all(options[name] != value for name, value in defaults.items()), f"it does not follow: {options}")

    for kind, bit in (("setuid", stat.S_ISUID), ("setgid", stat.S_ISGID)):
        line, options, stderr = said(0o755 | bit, orders)
        expect(line == "secure, with the library", f"the {kind} program says {line!r}")
        expect(stderr == "", f"the {kind} program listens to its environment: {stderr!r}")
        expect(options == defaults, f"the {kind} program follows its environment: {options}")


def soname(runner):
    """The name by which the loader will look for the library."""
    text = runner.run([need("readelf", "binutils"), "-d", runner.library], preload=False)
    for line in text.splitlines():
        if "(SONAME)" in line:
            return line.split("[")[1].split("]")[0]
    return os.path.basename(runner.library)
