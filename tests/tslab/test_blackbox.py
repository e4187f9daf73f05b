"""The option blackbox, in programs that end at their limit: a file is left, and `tslab doctor` says what grew.
usage: test_blackbox.py LIBRARY PATIENTS"""

import json
import os
import re
import signal
import subprocess
import sys

import tslab_test
from tslab_tools.live import report

PATIENTS = os.path.abspath(sys.argv.pop(2)) if len(sys.argv) > 2 else ""
LIMIT = 48 << 20
OPENAT = 257 if os.uname().machine == "x86_64" else 56
# Threads take blocks until one is refused, which ends all. The peak is then in the line that names the limit.
ENDS_AT_ITS_LIMIT = """
import ctypes, os, signal, sys, threading, time
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.realloc.restype, libc.realloc.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t]
libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
block, threads, pause, realloc = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4] == "realloc"
def grow():
    try:
        p, size = None, 0
        while True:
            size += block
            p = libc.realloc(p, size) if realloc else libc.malloc(block)
            if not p:
                break
            libc.memset(p, 1, size if realloc else block)
            if pause:
                time.sleep(pause)
    finally:
        os.kill(os.getpid(), signal.SIGKILL)
for _ in range(threads - 1):
    threading.Thread(target=grow).start()
grow()
"""
# SECCOMP_MODE_FILTER: openat ends the process by SIGSYS. Then it waits until the keeper has seen that.
CONFINED = f"""
import ctypes, os, signal, sys, threading, time
filters = (ctypes.c_uint64 * 4)(0x20, {OPENAT} << 32 | 0x01000015, 0x8000000000000006, 0x7fff000000000006)
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filters", ctypes.c_void_p)]
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(Program(4, ctypes.addressof(filters)))) == 0
print("confined", flush=True)
time.sleep(1)
"""
PATTERNS = (
    ("64", "1", "0", "malloc"),
    ("1000", "1", "0", "malloc"),
    ("1000", "6", "0", "malloc"),
    ("20000", "1", "0.001", "malloc"),
    ("100000", "1", "0", "malloc"),
    ("100000", "4", "0.001", "malloc"),
    ("300000", "1", "0", "malloc"),
    ("3000000", "1", "0", "malloc"),
    ("9000000", "1", "0.01", "malloc"),
    ("700000", "1", "0.001", "realloc"),
)


class BlackBox(tslab_test.TslabTest):
    def setUp(self):
        super().setUp()
        self.boxes = self.own / "boxes"
        self.boxes.mkdir()

    def ends(self, *argv, **options):
        """A program that is to end by itself."""
        options = {"blackbox": self.boxes} | options
        variables = {f"TSLAB_{name.upper()}": str(value) for name, value in options.items()}
        return self.run_argv(argv, env=self.environment | variables | {"LD_PRELOAD": self.library})

    def box(self):
        """The one file."""
        (file,) = self.boxes.iterdir()
        self.assertRegex(file.name, r"^tslab\.[\w.-]+\.\d+\.0$")
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        return file

    def doctor(self, file):
        done = self.tslab("doctor", file)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return " ".join(done.stdout.split())

    def test_the_last_report_is_near_the_peak(self):
        for pattern in PATTERNS:
            with self.subTest(pattern):
                done = self.ends("/usr/bin/python3", "-c", ENDS_AT_ITS_LIMIT, *pattern, limit_bytes=LIMIT)
                self.assertEqual(done.returncode, -signal.SIGKILL, done.stderr)
                peak = int(re.search(r"the limit of the process is \d+, and it has (\d+)", done.stderr)[1])
                file = self.box()
                last = report.last_in(str(file))
                self.assertEqual((last["near"]["of"], last["near"]["limit_bytes"]), ("process", LIMIT))
                self.assertGreaterEqual(last["near"]["used_bytes"], 0.95 * peak)
                self.assertGreaterEqual(last["totals"]["committed_bytes"], 0.95 * peak)
                self.assertLess(file.stat().st_size, 64 << 10)
                self.assertLessEqual(file.read_text().count(report.START), 2)
                file.unlink()

    def test_the_doctor_says_what_grew(self):
        for options, what in (({}, r"objects of up to 1,024 bytes"), ({"profile": "16K"}, r"remember")):
            with self.subTest(options):
                patient = subprocess.Popen(
                    [PATIENTS, "grows"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                    env=self.environment | {f"TSLAB_{name.upper()}": value for name, value in options.items()}
                    | {"LD_PRELOAD": self.library, "TSLAB_BLACKBOX": str(self.boxes), "TSLAB_LIMIT_BYTES": "40M"},
                )  # fmt: skip
                for cleanup in (patient.stdin.close, patient.wait, patient.kill):
                    self.addCleanup(cleanup)
                self.assertNotEqual(patient.wait(timeout=tslab_test.TIMEOUT), 0)
                file = self.box()
                text = self.doctor(file)
                self.assertRegex(text, rf"^tslab-patients, process {patient.pid}: RSS [34]\d\.\d MiB")
                self.assertRegex(text, r"1\. 3[89]\.\d MiB of 40\.0 MiB are used, which limit_bytes allows")
                self.assertRegex(text, rf"it grew by [1-4]\.\d MiB in .*? [1-4]\.\d MiB {what}")
                self.assertEqual("A heap profile would name the places" in text, not options)
                self.cut_off(file)
                file.unlink()

    def cut_off(self, file):
        """As when the process is killed while it writes: what is whole is read. A profile is read by its tool, too."""
        whole = file.read_bytes()
        for length in (len(whole) - 100, whole.rindex(report.START.encode()) + 300):
            file.write_bytes(whole[:length])
            self.assertRegex(self.doctor(file), r"of 40\.0 MiB are used, which limit_bytes allows")
        self.assertIn("is live", self.doctor(file))
        if b"tslab-profile" in whole:
            self.assertIn("import_rows", self.tslab("profile", file).stdout)

    def test_a_label(self):
        done = self.ends(PATIENTS, "near_its_label", epoch_limits="request=8M")
        self.assertEqual(done.returncode, 0)
        text = self.doctor(self.box())
        self.assertRegex(text, r"1\. 7\.\d MiB of 8\.0 MiB were used, the limit of the label request\.")
        found = json.loads(self.tslab("doctor", self.box(), "--json").stdout)["findings"]
        self.assertEqual(found[0]["name"], "near")

    def test_a_program_that_may_open_no_files(self):
        """It confined itself after the start, by a filter that ends it. The keeper writes."""
        done = self.ends(
            "/usr/bin/python3", "-c", CONFINED + ENDS_AT_ITS_LIMIT, "300000", "1", "0.03", "malloc", limit_bytes=LIMIT
        )
        self.assertEqual((done.returncode, done.stdout), (-signal.SIGKILL, "confined\n"), done.stderr)
        self.assertGreaterEqual(report.last_in(str(self.box()))["near"]["used_bytes"], 0.9 * LIMIT)

    def test_nobody_notices(self):
        """Where no limit is near, there is no file. No descriptor is left, and where there is no such directory, the program
        goes on."""
        done = self.ends("/usr/bin/python3", "-c", "import os; kept = bytearray(40 << 20); print(os.listdir('/proc/self/fd'))",
                         limit_bytes="1G")  # fmt: skip
        self.assertEqual((done.returncode, list(self.boxes.iterdir())), (0, []))
        near = self.ends("/usr/bin/python3", "-c", "import os; kept = bytearray(40 << 20); print(os.listdir('/proc/self/fd'))",
                         limit_bytes="46M")  # fmt: skip
        self.assertEqual((near.returncode, near.stdout), (0, done.stdout))
        self.box().unlink()
        done = self.ends(
            "/usr/bin/python3", "-c", "kept = bytearray(40 << 20); print(1)", limit_bytes="46M", blackbox="/nowhere"
        )
        self.assertEqual((done.returncode, done.stdout), (0, "1\n"))
        self.assertRegex(
            done.stderr, r"^tslab: no black box in /nowhere/tslab\.python3\.\d+\.0: its directory is not there\n$"
        )


if __name__ == "__main__":
    tslab_test.main()
