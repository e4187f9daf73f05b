"""Python does its work on a library without reports, and options that ask for some are of no effect.

usage: preloaded.py LIBRARY
"""

import os
import subprocess
import sys

PROGRAM = "import json, threading; threading.Thread(target=print).start(); print(len(json.dumps(list(range(100_000)))))"
environment = dict(os.environ, LD_PRELOAD=sys.argv[1], TSLAB_STATS="1", TSLAB_PROFILE="64K", TSLAB_EXPORT="1")
result = subprocess.run(["/usr/bin/python3", "-c", PROGRAM], env=environment, capture_output=True, text=True)
if (result.returncode, result.stdout.strip(), result.stderr) != (0, "688890", ""):
    sys.exit(f"{result.returncode}: {result.stdout}{result.stderr}")
