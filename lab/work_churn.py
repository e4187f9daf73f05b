"""Work: four threads replace random objects of 16 to 2,048 bytes; every fourth is freed by the next thread."""

import json
import os
import subprocess
from pathlib import Path

import compare
import programs

REMOTE_PERCENT = 25


def build(source, target, compiler):
    """Compiles the program when it is missing or older than its source."""
    if target.exists() and target.stat().st_mtime >= source.stat().st_mtime:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(f"{target.name}.{os.getpid()}")
    flags = ["-std=gnu17", "-O2", "-pthread", "-fno-builtin-malloc", "-fno-builtin-free"]
    try:
        argv = [*compiler, *flags, source, "-o", fresh]
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise programs.Failure(f"{source} does not compile with {compiler[0]}:\n{done.stderr.strip()}")
        fresh.replace(target)
    except FileNotFoundError:
        raise programs.Failure(f"There is no C compiler '{compiler[0]}'. Run `make setup` to install one.") from None
    finally:
        fresh.unlink(missing_ok=True)


class Work:
    title, unit = "churn, 4 threads", "objects/s"

    def __init__(self, program, quick):
        self.probe = [str(Path(program)), "0"]
        self._argv = [str(Path(program)), "400" if quick else "2500", str(REMOTE_PERCENT)]

    def run(self, env, who):
        return json.loads(programs.run(self._argv, env, who))

    @staticmethod
    def remark(runs):
        share = compare.spread([100 * run["remote_share"] for run in runs])
        low, high = f"{share.low:.0f}", f"{share.high:.0f}"
        return f"churn: {low if low == high else low + '-' + high} % of the frees are by another thread."
