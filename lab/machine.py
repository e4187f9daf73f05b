"""What a measurement must be read with: machine, kernel, libc, compiler, THP state, commit."""

import os
import platform
import subprocess


def _first_line(path, key=""):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return next((line.strip() for line in file if line.startswith(key)), "")
    except OSError:
        return ""


def _output(argv):
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def thp_state():
    """The bracketed word of the kernel's switch: always, madvise or never."""
    text = _first_line("/sys/kernel/mm/transparent_hugepage/enabled")
    return text.partition("[")[2].partition("]")[0] or "unknown"


def libc_name():
    return os.confstr("CS_GNU_LIBC_VERSION") or "unknown libc"


def facts(root, compiler):
    commit = _output(["git", "-C", str(root), "rev-parse", "HEAD"])
    if commit and _output(["git", "-C", str(root), "status", "--porcelain"]):
        commit += " with changes"
    return {
        "cpu": _first_line("/proc/cpuinfo", "model name").partition(":")[2].strip() or platform.machine(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_kib": int(_first_line("/proc/meminfo", "MemTotal").split()[1]),
        "kernel": platform.release(),
        "libc": libc_name(),
        "compiler": _output([compiler, "--version"]).partition("\n")[0],
        "python": platform.python_version(),
        "thp": thp_state(),
        "load_at_start": os.getloadavg()[0],
        "commit": commit or None,
        "options": {name: value for name, value in os.environ.items() if name.startswith("TSLAB_")},
    }
