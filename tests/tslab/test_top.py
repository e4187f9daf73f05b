"""`tslab top`, `stat` and `export` on processes that run: a program, its children, one that closes all descriptors, redis where
it is installed.
usage: test_top.py LIBRARY"""

import fcntl
import json
import mmap
import os
import pty
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import termios
import time
import unittest
import urllib.request
from pathlib import Path

from prometheus_client import parser as plain_text
from prometheus_client.openmetrics import parser as openmetrics

from live_test import BUSY, IDLE, PATIENCE, Live
from tslab_test import main
from tslab_tools.live import board, metrics, processes, shared_memory

FORKS = """
import os, time
kept = [bytearray(1000) for _ in range(100)]
child = os.fork()
while True:
    kept.append(bytearray(len(kept) % 5000 + 600))
    time.sleep(0.0005)
"""
CLOSES = "import os, sys, time\nos.closerange(3, 1000)\n" + BUSY
IDLE_CLOSED = IDLE.replace("print", "os.closerange(3, 1000)\nprint")
EPOCHS = """
import ctypes, time
library = ctypes.CDLL(None)
class Options(ctypes.Structure):
    _fields_ = [("label", ctypes.c_char_p), ("parent", ctypes.c_uint64), ("instance", ctypes.c_uint64),
                ("policy", ctypes.c_int), ("flags", ctypes.c_int), ("limit", ctypes.c_size_t)]
opens, allocates, closes = library.tslab_epoch_open_sized, library.tslab_epoch_malloc, library.tslab_epoch_close_sized
opens.restype = ctypes.c_uint64
allocates.restype = ctypes.c_void_p
for label in (b"request", b"request", b"session"):
    epoch = ctypes.c_uint64(opens(ctypes.byref(Options(label=label)), ctypes.sizeof(Options)))
    allocates(epoch, ctypes.c_size_t(100))
    if label == b"request":
        closes(epoch, 0, None, ctypes.c_size_t(64))
    else:
        allocates(epoch, ctypes.c_size_t(10000000))
"""
# The child never allocates. Many mappings come before those of libraries.
DAEMON = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
    for (int i = 0; i < 200; i++) {
        mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    for (size_t bytes = 16; bytes < 100000; bytes += 512) {
        if (malloc(bytes) == NULL) {
            return 1;
        }
    }
    const pid_t child = fork();
    if (child != 0) {
        printf("%d\\n", (int)child);
        fflush(stdout);
    }
    for (;;) {
        pause();
    }
}
"""
EXECS = "import os\nos.execv('/bin/sleep', ['sleep', '1000'])\n"


class Boards(Live):
    def test_a_busy_program_posts_while_it_is_watched(self):
        busy = self.start(BUSY)
        (found,) = self.figures([busy.pid], lambda process: process.before and process.figures.number > 4, mapped=False)
        own = found.figures.process
        self.assertEqual((found.figures.pid, found.program), (busy.pid, "python3"))
        self.assertGreater(found.rate("allocations") + 1, 1)
        self.assertGreater(own["live"], 1 << 20)
        self.assertEqual(own["allocations"], sum(row["allocations"] for row in found.figures.classes))
        accounts = found.figures.accounts
        whole = sum(value for name, value in accounts.items() if not name.endswith("_untouched"))
        untouched = sum(value for name, value in accounts.items() if name.endswith("_untouched"))
        self.assertEqual(whole - untouched, sum(own[name] for name in processes.TERMS))
        self.assertGreater(own["rss_bytes"], whole - untouched)

    def test_nobody_can_write_to_it(self):
        busy = self.start(BUSY)
        self.figures([busy.pid])
        path = processes.descriptor(busy.pid)
        file = os.open(path, os.O_RDWR)
        self.addCleanup(os.close, file)
        for attempt in (
            lambda: os.pwrite(file, b"x", 0),
            lambda: os.ftruncate(file, 0),
            lambda: os.ftruncate(file, 1 << 20),
        ):
            self.assertRaises(PermissionError, attempt)
        flags = fcntl.fcntl(file, fcntl.F_GET_SEALS)
        self.assertEqual(flags & 7, fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)

    def test_a_reader_that_never_rests_sees_no_mixture(self):
        """The library writes each time that it may, and each of many reads finds whole figures."""
        busy = self.start(BUSY)
        (found,) = self.figures([busy.pid])
        numbers = set()
        with processes.Watched([busy.pid]) as watched:
            least, most = time.monotonic() + 1.5, time.monotonic() + PATIENCE
            while time.monotonic() < least or (len(numbers) < 2 and time.monotonic() < most):
                (found,) = watched.look()
                numbers.add(found.figures.number)
                own = found.figures.process
                self.assertGreaterEqual(own["allocations"], own["frees"])
        self.assertGreaterEqual(len(numbers), 2)

    def test_a_child_has_a_board_of_its_own(self):
        for keeper in ("1", "2"):
            parent = self.start(FORKS, TSLAB_KEEPER=keeper)
            end = time.monotonic() + PATIENCE
            children = []
            while not children and time.monotonic() < end:
                with open(f"/proc/{parent.pid}/task/{parent.pid}/children") as file:
                    children = [int(word) for word in file.read().split()]
                time.sleep(0.05)
            mother, child = self.figures([parent.pid, *children], mapped=False)
            self.assertEqual((mother.figures.pid, child.figures.pid), (parent.pid, children[0]))
            os.kill(parent.pid, signal.SIGSTOP)
            (later,) = self.figures(children, lambda process, seen=child.figures.number: process.figures.number > seen)
            self.assertEqual(later.figures.pid, children[0])
            os.killpg(parent.pid, signal.SIGKILL)

    def daemon(self, **variables):
        """The child of a program, which has posted nothing."""
        path = self.own / "daemon"
        subprocess.run(["cc", "-x", "c", "-", "-o", path, "-O0", "-fno-builtin"], input=DAEMON, text=True, check=True)
        return int(self.start(f"import os\nos.execv({str(path)!r}, ['daemon'])", **variables).stdout.readline())

    def test_a_child_that_has_posted_nothing(self):
        for export, said in (
            ("1", "has posted no figures yet: it does at its next slow allocation"),
            ("0", "runs on tslab and exports no figures: start it with TSLAB_EXPORT=1. If it was, "),
        ):
            child = self.daemon(export=export)
            for words in (("stat", child), ("doctor", child), ("top", child, "--once")):
                done = self.tslab(*words)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertIn(f"tslab: process {child} {said}", done.stderr)
            if export == "1":
                self.assertIn("has posted no figures yet", self.tslab("profile", child).stderr)

    def test_a_program_that_does_not_run_on_tslab(self):
        for export, said in (("1", "has TSLAB_EXPORT=1 and no figures: start it on tslab, or wait"), ("0", "does not")):
            other = self.start(IDLE, export=export, LD_PRELOAD="")
            self.assertEqual(other.stdout.readline(), "idle\n")
            self.assertIn(f"tslab: process {other.pid} {said}", self.tslab("stat", other.pid).stderr)

    def test_long_files_of_the_kernel_are_read_whole(self):
        self.assertEqual(shared_memory.read("/proc/self/limits"), Path("/proc/self/limits").read_bytes())
        kept = [mmap.mmap(-1, 4096, prot=[mmap.PROT_READ, mmap.PROT_WRITE][i % 2]) for i in range(300)]
        self.assertIn(b"[stack]", shared_memory.read("/proc/self/maps"))
        self.assertEqual(len(shared_memory.read("/proc/self/maps", 5000)), 5000)
        self.assertEqual(len(kept), 300)

    def test_a_program_that_closes_all_descriptors(self):
        """It makes another board when it posts next. One that does not is found by its mapping if it is asked for."""
        closes = self.start(CLOSES)
        self.figures([closes.pid], mapped=False)
        idle = self.start(IDLE_CLOSED)
        self.assertEqual(idle.stdout.readline(), "idle\n")
        self.assertIsNone(processes.descriptor(idle.pid))
        with processes.Watched([idle.pid]) as watched:
            found = watched.look()
            if found:  # the system lets us read its memory
                self.assertEqual(found[0].figures.pid, idle.pid)
            else:
                self.assertNotEqual(os.geteuid(), 0)

    def test_an_idle_program_keeps_what_it_posted_last(self):
        """With keeper=2 its keeper posts what is so now."""
        idle, kept = self.start(IDLE), self.start(IDLE, TSLAB_KEEPER="2")
        for program in (idle, kept):
            program.stdout.readline()
        (found,) = self.figures([kept.pid], lambda process: process.figures.process["live"] > 3000 * 1000)
        self.assertEqual(found.figures.process["threads"], 1)
        (fresh,) = self.figures([kept.pid], lambda process: process.figures.number > found.figures.number + 1)
        self.assertLess(fresh.age, PATIENCE)
        (old,) = self.figures([idle.pid])
        number = old.figures.number
        (old,) = self.figures([idle.pid], lambda process: process.age > 1)
        self.assertEqual(old.figures.number, number)

    def test_epochs_by_label(self):
        program = self.start(EPOCHS + BUSY, TSLAB_KEEPER="2", TSLAB_EPOCH_LIMITS="session=8M:other=1M")
        (found,) = self.figures([program.pid], lambda process: len(process.figures.labels) == 2)
        rows = {row["label"]: (row["open"], row["draining"], row["live_bytes"]) for row in found.figures.labels}
        self.assertEqual(rows, {"request": (0, 2, 224), "session": (1, 0, 112)})
        text = self.tslab("stat", program.pid).stdout
        self.assertRegex(text, r"2 +2 +\S+ +224B +128K  request\n")
        self.assertRegex(text, r"8.00M +\S+ +1  session\n +1.00M +0B +0  other\n")
        line = next(
            line for line in self.tslab("top", "--once").stdout.splitlines() if line.split()[:1] == [str(program.pid)]
        )
        self.assertIn("2/3", line)

    def test_exec_and_exit_leave_nothing(self):
        execs = self.start(EXECS)
        end = time.monotonic() + PATIENCE
        (found,) = self.figures([execs.pid], lambda process: process.program == "sleep")
        self.assertEqual(found.figures.pid, execs.pid)
        execs.kill()
        execs.wait()
        with processes.Watched([execs.pid]) as watched:
            self.assertEqual(watched.look(), [])
        self.assertLess(time.monotonic(), end)

    def test_without_the_option_there_is_none(self):
        idle = self.start(IDLE, "0")
        idle.stdout.readline()
        self.assertIsNone(processes.descriptor(idle.pid))
        done = self.tslab("stat", idle.pid)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("start it with TSLAB_EXPORT=1", done.stderr)

    def test_too_few_descriptors(self):
        done = self.run_argv(
            ["sh", "-c", "ulimit -n 50; exec /bin/echo hello"],
            env=self.environment | {"LD_PRELOAD": self.library, "TSLAB_EXPORT": "1"},
        )
        self.assertEqual(done.stdout, "hello\n")
        self.assertEqual(
            done.stderr,
            "tslab: option TSLAB_EXPORT has no effect for now: the system gives no memfd, or no number above 99 for it\n",
        )


class Commands(Live):
    def test_once(self):
        busy = self.start(BUSY, TSLAB_KEEPER="2")
        self.figures([busy.pid], lambda process: process.figures.process["live"] > 1 << 20)
        done = self.tslab("top", busy.pid, "--once", "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = json.loads(done.stdout)
        self.assertEqual((found["schema"], found["version"]), ("tslab-top", 1))
        (process,) = found["processes"]
        self.assertEqual((process["pid"], process["program"]), (busy.pid, "python3"))
        self.assertGreater(process["rates"]["allocations"], 0)
        self.assertLess(process["age_ms"], 1000 * PATIENCE)
        everybody = json.loads(self.tslab("top", "--once", "--json").stdout)["processes"]
        self.assertIn(busy.pid, [process["pid"] for process in everybody])
        text = self.tslab("top", "--once", "--sort", "live").stdout.splitlines()
        self.assertTrue(any(str(busy.pid) in line for line in text))
        self.assertLessEqual(max(map(len, text)), 80)

    def test_stat(self):
        busy = self.start(BUSY, TSLAB_KEEPER="2")
        self.figures([busy.pid], lambda process: process.figures.process["live"] > 1 << 20)
        text = self.tslab("stat", busy.pid).stdout.splitlines()
        self.assertIn(f"python3, process {busy.pid}, tslab", text[0])
        self.assertLessEqual(max(map(len, text)), 80)
        done = self.tslab("stat", busy.pid, "--openmetrics")
        names = set()
        for family in openmetrics.text_string_to_metric_families(done.stdout):
            for sample in family.samples:
                self.assertEqual((sample.labels["pid"], sample.labels["program"]), (str(busy.pid), "python3"))
                names.add(sample.name)
        self.assertLess(names, metrics.names())
        self.assertGreater(names, {"tslab_rss_bytes", "tslab_allocations_total", "tslab_class_misses_total"})
        self.assertEqual(json.loads(self.tslab("stat", busy.pid, "--json").stdout)["pid"], busy.pid)

    def test_stat_of_a_report(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/report"
            for size in (300, 3000):
                source = f"x = [bytes({size}) for _ in range(9000)]"
                environment = self.environment | {
                    "LD_PRELOAD": self.library,
                    "TSLAB_STATS": f"2,{path}",
                    "TSLAB_PURGE": "eager",
                }
                self.assertEqual(self.run_argv(["/usr/bin/python3", "-c", source], env=environment).returncode, 0)
            done = self.tslab("stat", path)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertRegex(done.stdout, r"^python3[\d.]*, process \d+, tslab [\d.]+, up ")
            for line in (
                "totals",
                "options",
                "accounts of memory",
                "size classes",
                "size classes that waste most",
                "threads",
            ):
                self.assertIn(f"\n{line}\n", done.stdout)
            self.assertRegex(done.stdout, r"(?m)^purge +eager$")
            self.assertRegex(done.stdout, r"(?m)^3,\d\d\d +9,\d\d\d ", "the newest report is not the one shown")
            with open(path, "w", encoding="utf-8") as file:
                file.write("tslab statistics\n")
            self.assertIn("no whole report", self.tslab("stat", path).stderr)
        self.assertIn(f"There is no file {path}", self.tslab("stat", path).stderr)

    def test_refusals(self):
        for words, said in ((("stat", 4194305), "no process 4194305"), (("top", 4194305, "--once"), "no process")):
            done = self.tslab(*words)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(said, done.stderr)
        self.assertIn("needs a terminal", self.tslab("top").stderr)
        self.assertIn("--json goes with --once", self.tslab("top", "--json").stderr)
        self.assertIn("no address", self.tslab("export", "--listen", "nonsense").stderr)

    def exporter(self, *words):
        """One, and its address."""
        server = subprocess.Popen(
            self.argv("export", "--listen", "127.0.0.1:0", *words),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # who runs tests behind & ignores it
        )
        self.addCleanup(server.stderr.close)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        return server, server.stdout.readline().split()[-1]

    def test_how_an_exporter_ends(self):
        for number, wanted in ((signal.SIGTERM, (0, "")), (signal.SIGINT, (130, "tslab: interrupted\n"))):
            server, _ = self.exporter()
            server.send_signal(number)
            self.assertEqual((server.wait(PATIENCE), server.stderr.read()), wanted)

    def test_exporter(self):
        busy = [self.start(BUSY, TSLAB_KEEPER="2") for _ in range(2)]
        pids = [program.pid for program in busy]
        self.figures(pids)
        for more, labels in (
            ((), {("python3", None)}),
            (("--per-process",), {("python3", str(pid)) for pid in pids}),
        ):
            _, url = self.exporter(*more, *pids)
            for accept, read in (("application/openmetrics-text", openmetrics), ("text/plain", plain_text)):
                request = urllib.request.Request(url, headers={"Accept": accept})
                with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                    self.assertTrue(answer.headers["Content-Type"].startswith(accept))
                    text = answer.read().decode()
                samples = [sample for family in read.text_string_to_metric_families(text) for sample in family.samples]
                value = {sample.name: sample.value for sample in samples if not sample.labels}
                exporter = {"processes": 2, "unreadable": 0, "unseen": 0}
                self.assertEqual(value, {f"tslab_exporter_{name}": number for name, number in exporter.items()})
                of = {(s.labels["program"], s.labels.get("pid")) for s in samples if "program" in s.labels}
                self.assertEqual(of, labels)
                self.assertEqual(sum(s.value for s in samples if s.name == "tslab_processes"), 2)
                self.assertTrue(all(s.labels["unit"] for s in samples if s.labels))
                self.assertEqual(bool(more), "tslab_class_slab_bytes" in {sample.name for sample in samples})

    def test_on_a_terminal(self):
        busy = self.start(BUSY, TSLAB_KEEPER="2")
        self.figures([busy.pid])
        pid, terminal = pty.fork()
        if pid == 0:
            os.environ["TERM"] = "xterm-256color"
            os.environ["TMPDIR"] = str(self.temporary)
            os.environ.pop("COLUMNS", None)
            os.execv(self.argv("top")[0], self.argv("top", busy.pid, "--interval", "0.2"))
        self.addCleanup(os.close, terminal)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))
        before = termios.tcgetattr(terminal)

        def wait_for(text):
            seen, end = b"", time.monotonic() + PATIENCE
            while text not in seen:
                self.assertLess(time.monotonic(), end, seen[-4000:])
                seen += os.read(terminal, 65536)

        for key, text in (
            (b"", b"arrows choose"),
            (b"h", b"back"),
            (b"h", b"retnd"),
            (b"\r", b"t: trim"),
            (b"t", b"gave back"),
            (b"p", b"for 60000 ms"),
            (b"d", b"profile in /"),
            (b"\x1b", b"retnd"),
        ):
            os.write(terminal, key)
            wait_for(text)
        os.write(terminal, b"q")
        wait_for(b"\x1b[?1049l")
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assertEqual(termios.tcgetattr(terminal)[3], before[3])

    @unittest.skipUnless(shutil.which("redis-server"), "redis is not here")
    def test_redis(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        variables = {"LD_PRELOAD": self.library, "TSLAB_EXPORT": "1"}
        server = subprocess.Popen(
            ["redis-server", "--port", str(port), "--save", "", "--enable-debug-command", "yes", "--dir", str(self.own)],
            env=self.environment | variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        end = time.monotonic() + PATIENCE
        while self.run_argv(["redis-cli", "-p", port, "ping"]).stdout != "PONG\n":
            self.assertLess(time.monotonic(), end)
        done = self.run_argv(["redis-cli", "-p", port, "debug", "populate", "50000", "key", "200"])
        self.assertEqual(done.stdout, "OK\n", done.stderr)
        (found,) = self.figures([server.pid], lambda process: process.figures.process["live"] > 10 << 20)
        self.assertEqual(found.program, "redis-server")
        process = json.loads(self.tslab("top", server.pid, "--once", "--json").stdout)["processes"][0]
        self.assertGreater(process["process"]["live"], 10 << 20)
        self.assertLess(abs(process["not_ours"]), 40 << 20)
        self.assertIn("takes no samples", self.tslab("profile", server.pid).stderr)
        self.assertEqual(self.tslab("ctl", server.pid, "profile=16K").returncode, 0)
        self.run_argv(["redis-cli", "-p", port, "debug", "populate", "90000", "other", "200"])
        done = self.tslab("profile", server.pid)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"(?m)^ *\d+\.\d\d +\d")

    @unittest.skipUnless(shutil.which("nginx") or os.path.exists("/usr/sbin/nginx"), "nginx is not here")
    def test_nginx(self):
        """Its processes have titles. The worker is a child that has an inbox of its own."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        (self.own / "n.conf").write_text(
            f"daemon off; worker_processes 1; pid {self.own}/pid; error_log /dev/null;\nevents {{}}\n"
            f"http {{ access_log off; server {{ listen 127.0.0.1:{port}; root {self.own}; }} }}\n"
        )
        variables = {"LD_PRELOAD": self.library, "TSLAB_EXPORT": "1", "TSLAB_KEEPER": "2", "TSLAB_PROFILE": "1K"}
        server = subprocess.Popen(
            [shutil.which("nginx") or "/usr/sbin/nginx", "-p", self.own, "-c", self.own / "n.conf"],
            env=self.environment | variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        workers = []
        end = time.monotonic() + PATIENCE
        while not workers:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
            with open(f"/proc/{server.pid}/task/{server.pid}/children") as file:
                workers = [int(word) for word in file.read().split()]
        self.figures([server.pid, *workers], mapped=False)
        for pid in (server.pid, *workers):
            done = self.tslab("ctl", pid, "purge=eager", "trim")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("purge=eager, was adaptive\n", done.stdout)
            done = self.tslab("profile", pid, env=self.environment | {"TMPDIR": "/tmp"})
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertRegex(done.stdout, rf"^\S.* {pid}: in use\n")


if __name__ == "__main__":
    assert board.VERSION == 2
    main()
