"""Statistics of real programs: the summary, where it goes, and when."""

import json
import re

from run import PYTHON, entry, expect

HOLDS = "x = [bytes(1000) for i in range(30000)]; y = bytes(20 << 20); y = y.replace(b'\\0', b'1')"


def summary_of(text):
    """The lines of a summary, and the terms of the sum by their names."""
    lines = text.splitlines()
    expect(lines[0] == "tslab statistics", f"this is no summary: {text!r}")
    expect(all(len(line) <= 80 for line in lines), f"a line is longer than 80 columns: {text}")
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
