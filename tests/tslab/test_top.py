"""`tslab top`, `stat` and `export` on processes that run: a program, its children, one that closes all descriptors, redis where
it is installed.
usage: test_top.py LIBRARY"""

import fcntl
import json
import mmap
import os
import platform
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
from tslab_tools.live import channel, kernel, metrics, processes

IDLE_CLOSED = IDLE.replace("os.write", "os.closerange(3, 1000)\nos.write")
EPOCHS = """
import ctypes, time
library = ctypes.CDLL(None)
class Options(ctypes.Structure):
    _fields_ = [("label", ctypes.c_char_p), ("parent", ctypes.c_uint64), ("instance", ctypes.c_uint64),
                ("policy", ctypes.c_int), ("flags", ctypes.c_int), ("limit", ctypes.c_size_t)]
opens, allocates, closes = library.tslab_epoch_open, library.tslab_epoch_malloc, library.tslab_epoch_close
opens.restype = ctypes.c_uint64
allocates.restype = ctypes.c_void_p
for label in (b"request", b"request", b"session"):
    epoch = ctypes.c_uint64(opens(ctypes.byref(Options(label=label))))
    allocates(epoch, ctypes.c_size_t(100))
    if label == b"request":
        closes(epoch, 0, None)
    else:
        allocates(epoch, ctypes.c_size_t(10000000))
"""
# The child stops as soon as there is one, and never allocates.
DAEMON = """
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
    for (size_t bytes = 16; bytes < 100000; bytes += 512) {
        if (malloc(bytes) == NULL) {
            return 1;
        }
    }
    puts("idle");
    fflush(stdout);
    getchar();
    const pid_t child = fork();
    if (child == 0) {
        raise(SIGSTOP);
    } else {
        printf("%d\\n", (int)child);
        fflush(stdout);
    }
    for (;;) {
        pause();
    }
}
"""
# Has the kernel refuse a system call from now on, or end the process that makes it (error 0), and becomes the words.
REFUSES = """
import ctypes, os, struct, sys
number, error = map(int, sys.argv[1:3])
rules = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x50000 | error if error else 0x80000000), (0x06, 0, 0, 0x7FFF0000)]
program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
if libc.prctl(22, 2, struct.pack("HxxxxxxQ", len(rules), ctypes.addressof(program))):  # PR_SET_SECCOMP
    sys.exit(77)
os.execvp(sys.argv[3], sys.argv[3:])
"""
CLOSE_RANGE, MEMFD_CREATE = 436, {"x86_64": 319, "aarch64": 279}.get(platform.machine())
MINCORE = {"x86_64": 27, "aarch64": 232}.get(platform.machine())
# Files that a command would look for all over the machine, if it did look.
NAMES_FILES = {"export": "0", "TSLAB_STATS_SIGNAL": "USR1", "TSLAB_PROFILE": "4K,/%n/%n/%n/%n/%n/%n"}
EXECS = "import os\nos.execv('/bin/sleep', ['sleep', '1000'])\n"


class Figures(Live):
    def idle(self, source=IDLE, **more):
        program = self.start(source, **more)
        self.assertEqual(program.stdout.readline(), "idle\n")
        return program

    def test_figures_are_of_now(self):
        """And add up. Without a pid, all processes are asked."""
        busy = self.start(BUSY)
        (found,) = self.figures(
            [busy.pid], lambda process: process.before and process.figures.process["live"] > 1 << 20
        )
        own = found.figures.process
        self.assertEqual((found.inner_pid, found.program), (busy.pid, "python3"))
        self.assertGreater(found.rate("allocations"), 0)
        self.assertEqual(own["allocations"], sum(row["allocations"] for row in found.figures.classes))
        self.assertGreaterEqual(own["allocations"], own["frees"])
        accounts = found.figures.accounts
        whole = sum(value for name, value in accounts.items() if not name.endswith("_untouched"))
        untouched = sum(value for name, value in accounts.items() if name.endswith("_untouched"))
        self.assertEqual(whole - untouched, sum(own[name] for name in processes.TERMS))
        self.assertGreater(own["rss_bytes"], whole - untouched)
        with processes.Watched() as watched:
            self.assertIn(busy.pid, [process.pid for process in watched.look()])

    def test_an_idle_process_answers(self):
        """It has one thread. What it did is told at once."""
        for keeper in ("0", "1", "2"):
            (found,) = self.figures([self.idle(TSLAB_KEEPER=keeper).pid])
            self.assertGreater(found.figures.process["live"], 3000 * 1000)
            self.assertEqual(found.figures.process["threads"], 1)

    def switches(self, pid):
        """How often each thread but the keeper has slept, and how often the keeper has."""
        found = [0, 0]
        for task in os.listdir(f"/proc/{pid}/task"):
            text = Path(f"/proc/{pid}/task/{task}/status").read_text()
            counts = [int(line.split()[1]) for line in text.splitlines() if line.startswith("voluntary")]
            found["tslab-keeper" in text] += sum(counts)
        return found

    def test_nothing_is_done_while_nobody_looks(self):
        """The file stays as it is, and the keeper alone runs, four times a second. An answer takes no thread of the program."""
        idle = self.idle()
        self.figures([idle.pid])
        path = channel.path_of(idle.pid)
        self.soon(lambda: os.stat(path).st_size <= 4096)  # the body goes
        status, content, (others, keeper) = os.stat(path), Path(path).read_bytes(), self.switches(idle.pid)
        time.sleep(1.5)
        self.assertEqual(os.stat(path).st_mtime_ns, status.st_mtime_ns)
        self.assertEqual(Path(path).read_bytes(), content)
        later = self.switches(idle.pid)
        self.assertEqual(later[0], others)
        self.assertLessEqual(later[1] - keeper, 14)
        self.figures([idle.pid])
        self.assertEqual(self.switches(idle.pid)[0], others)
        self.assertNotEqual(os.stat(path).st_mtime_ns, status.st_mtime_ns)

    def compiled_daemon(self):
        path = self.own / "daemon"
        subprocess.run(["cc", "-x", "c", "-", "-o", path, "-O0", "-fno-builtin"], input=DAEMON, text=True, check=True)
        return f"import os\nos.execv({str(path)!r}, ['daemon'])"

    def inodes(self, pid):
        """Of all files of the library that it has open or mapped, in any thread."""
        found = {
            int(line.split()[4]) for line in Path(f"/proc/{pid}/maps").read_text().splitlines() if channel.FILE in line
        }
        for folder in (Path(f"/proc/{pid}/fd"), *Path(f"/proc/{pid}/task").glob("*/fd")):
            found |= {os.stat(entry).st_ino for entry in folder.iterdir() if os.readlink(entry) == channel.FILE}
        return found

    def test_a_child_answers_for_itself(self):
        """From the fork on it has no descriptor and no mapping of its parent's file."""
        for keeper in ("1", "2"):
            parent = self.idle(self.compiled_daemon(), TSLAB_KEEPER=keeper)
            (mother,) = self.figures([parent.pid])
            self.assertEqual(self.inodes(parent.pid), {mother.inode})
            print(file=parent.stdin, flush=True)
            child = int(parent.stdout.readline())
            self.soon(lambda child=child: "State:\tT" in Path(f"/proc/{child}/status").read_text())
            self.assertNotIn(mother.inode, self.inodes(child))
            self.assertRegex(self.tslab("stat", child).stderr, rf"^tslab: process {child}\b.*\n$")
            os.kill(child, signal.SIGCONT)
            self.soon(lambda child=child: channel.path_of(child))
            parent.send_signal(signal.SIGSTOP)
            (found,) = self.figures([child])
            self.assertEqual((found.inner_pid, self.inodes(child)), (child, {found.inode}))
            self.assertNotEqual(found.inode, mother.inode)
            self.assertEqual(found.figures.process["live"], mother.figures.process["live"])
            self.end(parent)

    def test_a_program_that_closes_all_descriptors(self):
        (found,) = self.figures([self.idle(IDLE_CLOSED).pid])
        self.assertGreater(found.figures.process["live"], 3000 * 1000)

    def test_a_program_that_may_have_few_files(self):
        (found,) = self.figures([self.idle("import resource\nresource.setrlimit(7, (3, 3))\n" + IDLE).pid])
        self.assertGreater(found.figures.process["live"], 3000 * 1000)
        short = self.idle("import resource\nresource.setrlimit(1, (5000, 5000))\n" + IDLE)
        said = f"tslab: process {short.pid}: figures could not all be written: memory is short, or files may not be so long\n"
        self.assertEqual(self.tslab("stat", short.pid).stderr, said)

    def test_a_stopped_process_is_named(self):
        """And delays the others by no more than their time."""
        stopped, honest = self.idle(), self.idle()
        stopped.send_signal(signal.SIGSTOP)
        done = self.tslab("stat", stopped.pid)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, f"tslab: process {stopped.pid}: it did not answer within 3.0 s: it is stopped\n")
        done = self.tslab("top", "--once")
        self.assertEqual(done.returncode, 0)
        self.assertIn(f"tslab: process {stopped.pid}: it did not answer within", done.stderr)
        self.assertRegex(done.stdout, rf"(?m)^ *{honest.pid} python3 ")
        self.assertNotRegex(done.stdout, rf"(?m)^ *{stopped.pid} python3 ")

    def test_processes_that_export_nothing(self):
        for more, said in (
            ({"export": "0"}, "runs on tslab and exports no figures: start it with TSLAB_EXPORT=1"),
            (NAMES_FILES, "runs on tslab and exports no figures: start it with TSLAB_EXPORT=1"),
            ({"LD_PRELOAD": ""}, "does not export figures of tslab: start it on tslab with TSLAB_EXPORT=1"),
        ):
            idle = self.idle(**more)
            self.assertIsNone(channel.path_of(idle.pid))
            for words in (("stat", idle.pid), ("doctor", idle.pid), ("profile", idle.pid)):
                done = self.tslab(*words)
                said_at = f"tslab: process {idle.pid} {said}\n"
                self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", said_at))

    @unittest.skipUnless(MEMFD_CREATE, "the numbers of system calls are not known")
    def test_a_system_that_refuses(self):
        """The program runs on, and says it once."""
        for number, error in ((CLOSE_RANGE, 38), (MEMFD_CREATE, 1)):
            with open(self.own / "said", "w+") as said:
                refuses = ["/usr/bin/python3", "-c", REFUSES, str(number), str(error)]
                idle = self.idle("import os\nos.fork()\n" + IDLE, before=refuses, stderr=said)
                self.assertEqual(idle.stdout.readline(), "idle\n")
                time.sleep(0.6)  # the keeper looks twice
                said.seek(0)
                text = (
                    "tslab: option TSLAB_EXPORT has no effect: the system gives the library no thread with descriptors"
                )
                self.assertEqual(said.read().count(text), 1)
            done = self.tslab("stat", idle.pid)
            self.assertIn(f"process {idle.pid} has TSLAB_EXPORT=1, and the system refused what that takes", done.stderr)
            self.end(idle)

    def test_a_service_with_a_filter_answers(self):
        """The filter is like systemd's @system-service, which ends a process that calls mincore."""
        refuses = ["/usr/bin/python3", "-c", REFUSES, str(MINCORE), "0"]
        idle = self.idle(before=refuses)
        (found,) = self.figures([idle.pid])
        self.assertGreater(found.figures.process["rss_bytes"], 0)
        self.assertIsNone(idle.poll())

    def test_epochs_by_label(self):
        program = self.start(EPOCHS + BUSY, TSLAB_EPOCH_LIMITS="session=8M:other=1M")
        (found,) = self.figures([program.pid], lambda process: len(process.figures.labels) == 2)
        rows = {row["label"]: (row["open"], row["draining"], row["live_bytes"]) for row in found.figures.labels}
        self.assertEqual(rows, {"request": (0, 2, 224), "session": (1, 0, 112)})
        text = self.tslab("stat", program.pid).stdout
        self.assertRegex(text, r"2 +2 +\S+ +224B +128K +128K +\S+ +0  request\n")
        self.assertRegex(text, r"8.00M +\S+ +\S+ +1  session\n +1.00M +0B +0B +0  other\n")
        line = next(
            line for line in self.tslab("top", "--once").stdout.splitlines() if line.split()[:1] == [str(program.pid)]
        )
        self.assertIn("2/3", line)

    def test_exec_and_exit_leave_nothing(self):
        execs = self.start(EXECS)
        (found,) = self.figures([execs.pid], lambda process: process.program == "sleep")
        self.assertEqual(found.inner_pid, execs.pid)
        execs.kill()
        execs.wait()
        with processes.Watched([execs.pid]) as watched:
            self.assertEqual(watched.look(), [])

    def test_long_files_of_the_kernel_are_read_whole(self):
        self.assertEqual(kernel.read("/proc/self/limits"), Path("/proc/self/limits").read_bytes())
        kept = [mmap.mmap(-1, 4096, prot=[mmap.PROT_READ, mmap.PROT_WRITE][i % 2]) for i in range(300)]
        self.assertIn(b"[stack]", kernel.read("/proc/self/maps"))
        self.assertEqual(len(kernel.read("/proc/self/maps", 5000)), 5000)
        self.assertEqual(len(kernel.read("/dev/zero")), kernel.FILE_BYTES)
        self.assertEqual(kernel.read("/proc/self/nothing"), b"")
        self.assertEqual(len(kept), 300)


class Commands(Live):
    def test_once(self):
        busy = self.start(BUSY)
        self.figures([busy.pid], lambda process: process.figures.process["live"] > 1 << 20)
        done = self.tslab("top", busy.pid, "--once", "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = json.loads(done.stdout)
        self.assertEqual((found["schema"], found["version"]), ("tslab-top", 1))
        (process,) = found["processes"]
        self.assertEqual((process["pid"], process["program"]), (busy.pid, "python3"))
        self.assertGreater(process["rates"]["allocations"], 0)
        everybody = json.loads(self.tslab("top", "--once", "--json").stdout)["processes"]
        self.assertIn(busy.pid, [process["pid"] for process in everybody])
        text = self.tslab("top", "--once", "--sort", "live").stdout.splitlines()
        self.assertTrue(any(str(busy.pid) in line for line in text))
        self.assertLessEqual(max(map(len, text)), 80)

    def test_stat(self):
        busy = self.start(BUSY)
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
        busy = [self.start(BUSY) for _ in range(2)]
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
        busy = self.start(BUSY)
        self.figures([busy.pid])
        pid, terminal = pty.fork()
        if pid == 0:
            os.environ["TERM"] = "xterm-256color"
            os.environ["TMPDIR"] = str(self.temporary)
            os.environ.pop("COLUMNS", None)
            os.chdir(self.own)
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
            (b"p", b"Press p again"),
            (b" ", b"t: trim"),
            (b"p", b"profile in python3."),
            (b"d", b"statistics in python3."),
            (b"\x1b", b"retnd"),
        ):
            os.write(terminal, key)
            wait_for(text)
        os.write(terminal, b"q")
        wait_for(b"\x1b[?1049l")
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assertEqual(termios.tcgetattr(terminal)[3], before[3])

    @unittest.skipUnless(shutil.which("nginx") or os.path.exists("/usr/sbin/nginx"), "nginx is not here")
    def test_nginx(self):
        """Its processes have titles. The worker is a child that has a file of its own."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        (self.own / "n.conf").write_text(
            f"daemon off; worker_processes 1; pid {self.own}/pid; error_log /dev/null;\nevents {{}}\n"
            f"http {{ access_log off; server {{ listen 127.0.0.1:{port}; root {self.own}; }} }}\n"
        )
        variables = {"LD_PRELOAD": self.library, "TSLAB_EXPORT": "1", "TSLAB_PROFILE": "1K"}
        server = subprocess.Popen(
            [shutil.which("nginx") or "/usr/sbin/nginx", "-p", self.own, "-c", self.own / "n.conf"],
            env=self.environment | variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        workers = self.children(server.pid)
        self.assertEqual({one.program for one in self.figures([server.pid, *workers])}, {"nginx"})
        for pid in (server.pid, *workers):
            done = self.tslab("ctl", pid, "purge=eager", "trim")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("purge=eager, was adaptive\n", done.stdout)
            done = self.tslab("profile", pid)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertRegex(done.stdout, rf"^\S.* {pid}: in use\n")


if __name__ == "__main__":
    main()
