"""Statistics of real programs: the summary, where it goes, and when."""

import glob
import json
import os
import re

from run import PYTHON, entry, expect

HOLDS = "x = [bytes(1000) for i in range(30000)]; y = bytes(20 << 20); y = y.replace(b'\\0', b'1')"


def summary_of(text):
    """The lines of a summary, and the terms of the sum by their names."""
    lines = text.splitlines()
    expect(lines[0] == "tslab statistics", f"this is no summary: {text!r}")
    expect(all(len(line) <= 80 for line in lines if "stats_file" not in line), f"a line is longer than 80 columns: {text}")
    names = [name for name in lines[2].split() if name not in "=+"]
    return lines, dict(zip(names, map(float, lines[3].split())))


@entry
def stats_summary(runner):
    """The terms add up to the RSS, and objects are where they belong."""
    _, stderr = runner.run([PYTHON, "-c", HOLDS + "; import os; os.environ.clear()"], extra={"TSLAB_STATS": "1", "PYTHONMALLOC": "malloc",
                                                                                            "TSLAB_OPTIONS": "purge=eager,retain_bytes=3M"}, quiet=False)
    lines, terms = summary_of(stderr)
    expect(re.fullmatch(r"python3[\d.]*, process \d+, tslab [\d.]+, up \d+ s; bytes in MiB", lines[1]), lines[1])
    total = sum(value for name, value in terms.items() if name not in ("RSS", "peak"))
    expect(abs(total - terms["RSS"]) < 0.05, f"the terms do not add up: {terms}")
    expect(terms["peak"] >= terms["RSS"] > 8, f"{terms}")
    expect("size classes with most memory, and large objects" in lines, stderr)
    rows = [line.split() for line in lines[6:] if re.match(r" +(\d+|large) ", line)]
    sizes = [float(row[4]) for row in rows if row[0] != "large"]
    expect(0 < len(sizes) <= 10 and sizes == sorted(sizes, reverse=True), f"{rows}")
    expect(lines[-1].split() == ["retain_bytes=3145728", "purge=eager", "stats=1"], f"{lines[-1]}")


@entry
def stats_forms(runner):
    """1 is a summary, 3 has all tables behind it, 2 is JSON."""
    tables = ("\ntotals\n", "\noptions\n", "\nsize classes\n", "\naccounts of memory\n")
    for form, wanted in (("1", False), ("3", True)):
        _, stderr = runner.run(["/bin/bash", "-c", "true"], extra={"TSLAB_STATS": form}, quiet=False)
        expect(stderr.startswith("tslab statistics\n"), stderr)
        expect(all((table in stderr) == wanted for table in tables), f"TSLAB_STATS={form}: {stderr}")
    _, stderr = runner.run([PYTHON, "-c", HOLDS], extra={"TSLAB_STATS": "2"}, quiet=False)
    report = json.loads(stderr)
    expect(report["program"].startswith("python3") and report["pid"] > 1 and report["uptime_ms"] < 100000, f"{report}")
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
            runner.run(["ls", "/"], extra={"TSLAB_STATS_FILE": out.name})
        reports = out.read()
    expect(reports.count("tslab statistics\n") == 2, f"the file does not grow: {reports}")
    runner.run(["ls", "/"], extra={"TSLAB_STATS": "2", "TSLAB_STATS_FILE": "a.%e.%p.%n.100%%.%x.%"})
    (name,) = glob.glob(runner.path("a.*"))
    with open(name, encoding="utf-8") as file:
        report = json.load(file)
    expect(os.path.basename(name) == f"a.ls.{report['pid']}.0.100%.%x.%", name)
    runner.run(["/bin/bash", "-c", "(ls; :); true"], extra={"TSLAB_STATS": "1", "TSLAB_STATS_FILE": "b.%p"})
    expect(len(glob.glob(runner.path("b.*"))) >= 2, "not each process has a file")
    # What cannot be opened is said on stderr.
    for path in ("/nowhere/%p", runner.directory, "x" * 250 + "/", "%e" * 120 + "y" * 15):
        _, stderr = runner.run(["/bin/bash", "-c", ":"], extra={"TSLAB_STATS_FILE": path}, quiet=False)
        summary_of(stderr)
