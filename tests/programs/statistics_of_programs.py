"""Statistics of real programs: the summary, where it goes, and when."""

import glob
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time

from environment import compiled
from run import PATIENCE, PYTHON, entry, expect

HOLDS = "x = [bytes(1000) for i in range(30000)]; y = bytes(20 << 20); y = y.replace(b'\\0', b'1')"


def summary_of(text):
    """The lines of a summary, and the terms of the sum by their names."""
    lines = text.splitlines()
    expect(lines[0] == "tslab statistics", f"this is no summary: {text!r}")
    expect(all(len(line) <= 80 for line in lines if "stats=1," not in line), f"a line is longer than 80 columns: {text}")
    names = [name for name in lines[2].split() if name not in "=+"]
    return lines, dict(zip(names, map(float, lines[3].split())))


@entry
def stats_summary(runner):
    """The terms add up to the RSS, and objects are where they belong."""
    _, stderr = runner.run([PYTHON, "-c", HOLDS + "; import os; os.environ.clear()"], extra={"TSLAB_STATS": "1", "PYTHONMALLOC": "malloc",
                                                                                            "TSLAB_OPTIONS": "purge=eager,retain_bytes=3M"}, quiet=False)
    lines, terms = summary_of(stderr)
    expect(re.fullmatch(r"python3[\d.]*, process \d+, tslab [\d.]+, up \d+\.\d s; bytes in MiB", lines[1]), lines[1])
    total = sum(value for name, value in terms.items() if name not in ("RSS", "peak"))
    expect(abs(total - terms["RSS"]) < 0.05, f"the terms do not add up: {terms}")
    expect(terms["peak"] >= terms["RSS"] > 8, f"{terms}")
    expect("size classes with most memory, and large objects" in lines, stderr)
    rows = [line.split() for line in lines[6:] if re.match(r" +(\d+|large) ", line)]
    sizes = [float(row[4]) for row in rows if row[0] != "large"]
    expect(0 < len(sizes) <= 10 and sizes == sorted(sizes, reverse=True), f"{rows}")
    expect(lines[-3:] == ["  purge=eager", "  retain_bytes=3145728", "  stats=1"], f"{lines[-3:]}")


@entry
def stats_forms(runner):
    """1 is a summary, 2 is JSON."""
    _, stderr = runner.run(["/bin/bash", "-c", "true"], extra={"TSLAB_STATS": "1"}, quiet=False)
    summary_of(stderr)
    _, stderr = runner.run([PYTHON, "-c", HOLDS], extra={"TSLAB_STATS": "2", "TSLAB_PURGE": "eager"}, quiet=False)
    report = json.loads(stderr)
    expect(report["program"].startswith("python3") and report["pid"] > 1 and report["uptime_ms"] < 100000, f"{report}")
    expect(report["options"]["purge"] == "eager" and report["options"]["stats"] == "2", f"{report['options']}")
    expect(report["peak_rss_bytes"] >= report["rss_bytes"] > 4 << 20, f"{report['rss_bytes']} {report['peak_rss_bytes']}")


@entry
def stats_closed_stderr(runner):
    """Programs that close their standard error before they end have a report all the same."""
    for command in (["ls", "/"], ["date"], ["cat", "/dev/null"], ["sort", "/dev/null"], ["/bin/bash", "-c", ":"]):
        _, stderr = runner.run(command, extra={"TSLAB_STATS": "1"}, quiet=False)
        lines, _ = summary_of(stderr)
        expect(lines[1].startswith(os.path.basename(command[0]) + ", process "), stderr)
    # Another file in place of stderr gets nothing, however it came there.
    for close in ("os.dup2(f, 2)", "os.dup2(f, 2); os.closerange(3, 1000)", "os.closerange(3, 1000); g = [os.dup(2) for i in range(200)]; os.dup2(g[0], 2)"):
        program = f"import os; f = os.open('other', os.O_WRONLY | os.O_CREAT); {close}"
        runner.run([PYTHON, "-S", "-c", program], extra={"TSLAB_STATS": "1"}, quiet=False)
        with open(runner.path("other"), encoding="utf-8") as other:
            expect(other.read() == "", f"{close}: a file of the program's has a report")
    # The descriptor is closed in programs that this one starts.
    stdout, _ = runner.run(["/bin/bash", "-c", "LD_PRELOAD= exec ls /proc/self/fd"], extra={"TSLAB_STATS": "1"}, quiet=False)
    expect(all(int(fd) < 100 for fd in stdout.split()), f"descriptors: {stdout}")


@entry
def stats_file(runner):
    """A file of its own for each process or report, with parts of its name put in."""
    with open(runner.path("out"), "w+", encoding="utf-8") as out:
        for _ in range(2):
            runner.run(["ls", "/"], extra={"TSLAB_STATS": f"1,{out.name}"})
        reports = out.read()
    expect(reports.count("tslab statistics\n") == 2, f"the file does not grow: {reports}")
    runner.run(["ls", "/"], extra={"TSLAB_STATS": "2,a.%e.%p.%n.100%%.%x.%"})
    (name,) = glob.glob(runner.path("a.*"))
    with open(name, encoding="utf-8") as file:
        report = json.load(file)
    expect(os.path.basename(name) == f"a.ls.{report['pid']}.0.100%.%x.%", name)
    runner.run(["/bin/bash", "-c", "(ls; :); true"], extra={"TSLAB_STATS": "1,b.%p"})
    expect(len(glob.glob(runner.path("b.*"))) >= 2, "not each process has a file")
    # What cannot be opened is said on stderr, and the reason once.
    reasons = {"/nowhere/%p": "its directory is not there", runner.directory: "it is a directory", "x" * 250 + "/": "it is a directory",
               "%e" * 120 + "y" * 15: "its name is too long"}
    for path, reason in reasons.items():
        _, stderr = runner.run(["/bin/bash", "-c", ":"], extra={"TSLAB_STATS": f"1,{path}"}, quiet=False)
        line, _, rest = stderr.partition("\n")
        expect(line.startswith("tslab: no statistics in ") and line.endswith(": " + reason), line)
        summary_of(rest)


@entry
def stats_file_of_others(runner):
    """Files are for this user alone, and nothing is appended to what others may have put in their place."""
    options = {"TSLAB_STATS": "1,statistics", "TSLAB_PROFILE": "1,profile"}
    runner.run(["ls", "/"], extra=options)
    for name in ("statistics", "profile"):
        mode = os.stat(runner.path(name)).st_mode & 0o777
        expect(mode == 0o600, f"{name} has mode {mode:o}")
    with open(runner.path("target"), "w", encoding="utf-8") as file:
        file.write("mine\n")
    os.symlink("target", runner.path("symbolic"))
    os.link(runner.path("target"), runner.path("hard"))
    os.symlink("new", runner.path("dangling"))
    reasons = {"symbolic": "it is a symbolic link", "dangling": "it is a symbolic link", "hard": "it is no file of this user's alone"}
    if os.geteuid() == 0:
        os.mkfifo(runner.path("fifo"))
        shutil.copy(runner.path("target"), runner.path("theirs"))
        for name in ("fifo", "theirs"):
            os.chown(runner.path(name), 65534, 65534)
            reasons[name] = "it is no file of this user's alone"
    for name, reason in reasons.items():
        reader = os.open(runner.path(name), os.O_RDONLY | os.O_NONBLOCK) if name == "fifo" else None
        _, stderr = runner.run(["ls", "/"], extra={"TSLAB_STATS": f"1,{name}", "TSLAB_PROFILE": f"1,{name}"}, quiet=False)
        said = [line for line in stderr.splitlines() if line.startswith("tslab: ")]
        expect(said == [f"tslab: no {what} in {name}: {reason}" for what in ("statistics", "profile")], f"{name}: {stderr}")
        expect(stderr.count("tslab statistics\n") == 1, f"{name}: {stderr}")
        if reader is not None:
            os.close(reader)
        elif name != "dangling":
            with open(runner.path(name), encoding="utf-8") as file:
                expect(file.read() == "mine\n", f"{name} was written to")
    expect(not os.path.exists(runner.path("new")), "a file was made behind a link")
    # A FIFO and a device of one's own are as good as a file.
    os.mkfifo(runner.path("own"))
    reader = os.open(runner.path("own"), os.O_RDONLY | os.O_NONBLOCK)
    _, stderr = runner.run(["ls", "/"], extra={"TSLAB_STATS": "1,own"}, quiet=False)
    summary_of(os.read(reader, 1 << 16).decode())
    os.close(reader)
    _, nothing = runner.run(["ls", "/"], extra={"TSLAB_STATS": "1,/dev/null"}, quiet=False)
    expect(stderr == nothing == "", f"{stderr} {nothing}")


@entry
def stats_title(runner):
    """A program that writes a title over its arguments keeps the name that it was started by."""
    program = compiled(runner, "title.c")
    name = runner.path("a long name of a program")
    os.rename(program, name)
    runner.run([name, "some", "arguments"], extra={"TSLAB_STATS": "2,%e.statistics", "TSLAB_PROFILE": "1,%e.profile"})
    kept = "a_long_name_of_a_program"
    expect({found for found in os.listdir(runner.directory) if "." in found} == {f"{kept}.{kind}" for kind in ("statistics", "profile")},
           f"{os.listdir(runner.directory)}")
    with open(runner.path(kept + ".statistics"), encoding="utf-8") as file:
        expect(json.load(file)["program"] == kept, "the title is in the report")
    with open(runner.path(kept + ".profile"), encoding="utf-8") as file:
        expect(f"\nprogram {kept}\n" in file.read(), "the title is in the profile")


LAST_TITLE = "\noptions that are not default\n"


def reports_in(text, whole=None):
    """How many summaries are in a text, of which so many (or all) must be whole."""
    parts = text.split("tslab statistics\n")
    expect(parts[0] == "", f"it says {parts[0]!r}")
    for part in parts[1:] if whole is None else parts[1 : whole + 1]:
        expect(LAST_TITLE in part and part.endswith("\n"), f"a report is not whole: {part}")
    return len(parts) - 1


def reports_of(runner, program, rc=0, **extra):
    """How many summaries a Python program causes, each whole, until it ends with this code by _exit or a signal."""
    _, stderr = runner.run([PYTHON, "-S", "-c", "import os, signal, threading, time\n" + program], expect=rc, quiet=False,
                           extra={"PYTHONMALLOC": "malloc", **extra})
    return reports_in(stderr)


def reports_meanwhile(runner, program, wanted, **extra):
    """How many summaries a Python program causes until it is told to end, when there are as many as wanted, each whole; and the
    seconds that it lived."""
    start, said = time.monotonic(), ""
    with subprocess.Popen([PYTHON, "-S", "-c", "import os, select, signal, threading, time\n" + program], text=True, cwd=runner.directory,
                          stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          env=runner.environment(True, {"PYTHONMALLOC": "malloc", **extra})) as process:
        hangs = threading.Timer(PATIENCE, process.kill)
        hangs.start()
        for line in process.stderr:
            if said.endswith(LAST_TITLE) and said.count(LAST_TITLE) == wanted:
                process.stdin.close()
            said += line
        process.wait()
        hangs.cancel()
    count = reports_in(said, wanted)
    expect(process.returncode == 0 and count >= wanted, f"{count} reports, not {wanted}, and it ended with {process.returncode}")
    return count, time.monotonic() - start


ALLOCATES = "x = [bytes(700) for i in range(9000)]\n"


@entry
def stats_signal(runner):
    """A signal asks for a report, and the next thread that allocates slowly writes it."""
    asks = "os.kill(os.getpid(), signal.SIGUSR2)\n" + ALLOCATES
    expect(reports_of(runner, asks + "os._exit(0)", TSLAB_STATS_SIGNAL="USR2") == 1, "one signal, one report")
    expect(reports_of(runner, (asks + "del x\n") * 3 + "os._exit(0)", TSLAB_STATS_SIGNAL="12") == 3, "three signals, three reports")
    expect(reports_of(runner, ALLOCATES + "os._exit(0)", TSLAB_STATS_SIGNAL="USR2") == 0, "no signal, no report")
    expect(reports_of(runner, asks, TSLAB_STATS_SIGNAL="USR2", TSLAB_STATS="1") == 2, "and one at the end")
    # A child of a fork has the handler, too.
    forks = "if os.fork() == 0:\n os.kill(os.getpid(), signal.SIGUSR2)\n x = [bytes(700) for i in range(9000)]\n os._exit(0)\nos.wait()\n"
    expect(reports_of(runner, forks + "os._exit(0)", TSLAB_STATS_SIGNAL="USR2") == 1, "the child has a report")
    # The program's own handler wins, and so does what its parent has set.
    own = "signal.signal(signal.SIGUSR2, lambda *_: None)\n" + asks + "os._exit(0)"
    expect(reports_of(runner, own, TSLAB_STATS_SIGNAL="USR2") == 0, "the program has a handler")
    with_ignored = subprocess.run([PYTHON, "-S", "-c", "import os, signal\n" + asks + "os._exit(0)"], capture_output=True, text=True, check=True,
                                  env=runner.environment(True, {"PYTHONMALLOC": "malloc", "TSLAB_STATS_SIGNAL": "USR2"}),
                                  preexec_fn=lambda: signal.signal(signal.SIGUSR2, signal.SIG_IGN))
    expect(with_ignored.stderr == "", with_ignored.stderr)
    # Where all threads are idle, the keeper writes. Nobody allocates once the signal is there.
    idle = ("x, ready = [], threading.Barrier(2)\ndef rest():\n x.append([bytes(600) for i in range(9000)])\n ready.wait()\n over.wait()\n"
            "over = threading.Event()\nt = threading.Thread(target=rest)\nt.start()\nx.append([bytes(800) for i in range(9000)])\nready.wait()\n"
            "os.kill(os.getpid(), signal.SIGUSR2)\nos.read(0, 1)\nos._exit(0)")
    count, _ = reports_meanwhile(runner, idle, 1, TSLAB_STATS_SIGNAL="USR2")
    expect(count == 1, f"{count} reports for one signal")


@entry
def profile_floats(runner):
    """Samples and reports compute inside of malloc, and the program's floating point environment does not notice."""
    program = compiled(runner, "floats.c", "-lm")
    for rate in ("1", "16K"):
        stdout = runner.run([program], extra={"TSLAB_STATS": "1,statistics", "TSLAB_PROFILE": f"{rate},profile"})
        expect(stdout == "kept\n", stdout)
    expect(os.path.getsize(runner.path("profile")) > 10000, "nothing was sampled")
