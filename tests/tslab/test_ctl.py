"""`tslab ctl` on processes that run: an idle one with one thread, a busy one, a parent and its child, one that another user
owns; and writers of nonsense.
usage: test_ctl.py LIBRARY"""

import contextlib
import fcntl
import json
import os
import random
import signal
import struct
import subprocess
import time
import unittest

from live_test import BUSY, IDLE, PATIENCE, Live
from tslab_test import main
from tslab_tools.failure import Failure
from tslab_tools.live import inbox, processes

FORKS = """
import os, time
kept = [bytearray(1000) for _ in range(100)]
child = os.fork()
print('parent' if child else 'child', flush=True)
time.sleep(1000)
"""
DROPS = """
import ctypes, os, time
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
os.execv('/usr/bin/python3', ['python3', '-c', "import time; print('idle', flush=True); time.sleep(1000)"])
"""
KEEPS_ITS_INBOX = """
import ctypes, os, time
kept = [bytearray(3000) for _ in range(1000)]
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
print('idle', flush=True)
time.sleep(1000)
"""
HEAD_AND_REQUEST = 32 + inbox.REQUEST_BYTES


class Ctl(Live):
    def begin(self, source=IDLE, **more):
        """A program of one thread that has its keeper, and its standard error in a file."""
        self.said = self.own / "said"
        with open(self.said, "ab") as file:
            program = self.start(source, stderr=file, **{"TSLAB_KEEPER": "2"} | more)
        if source is not BUSY:
            program.stdout.readline()
        return program

    def ask(self, pid, command, milliseconds=0):
        """As soon as it has an inbox."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                with inbox.Inbox(pid) as opened:
                    return opened.ask(command, milliseconds, PATIENCE)
            except inbox.Refused:
                raise
            except Failure:
                self.assertLess(time.monotonic(), end)
                time.sleep(0.05)

    def refuses(self, pid, command, why):
        with self.assertRaisesRegex(inbox.Refused, why):
            self.ask(pid, command)

    def lines(self, count):
        """The lines that the program has written, when there are so many."""
        end = time.monotonic() + PATIENCE
        while len(found := self.said.read_text().splitlines()) < count:
            self.assertLess(time.monotonic(), end, found)
            time.sleep(0.02)
        return found

    def options(self, pid, wanted):
        self.figures([pid], lambda process: wanted.items() <= process.figures.options.items())


class Commands(Ctl):
    def test_options_change(self):
        idle = self.begin()
        done = self.tslab("ctl", idle.pid, "purge=eager", "soft_limit_bytes=2G", "PURGE_DELAY_MS=7")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        said = ["purge=eager, was adaptive", "soft_limit_bytes=2G, was 0", "purge_delay_ms=7, was 500"]
        self.assertEqual(done.stdout.splitlines(), said)
        lines = self.lines(3)
        for line, answer in zip(lines, said):
            self.assertRegex(line, rf"^tslab: {answer} \(asked by process \d+ of user {os.geteuid()}\)$")
        self.options(idle.pid, {"purge": "eager", "soft_limit_bytes": str(2 << 30), "purge_delay_ms": "7"})
        shown = self.tslab("ctl", idle.pid).stdout.splitlines()
        self.assertIn("purge=eager", shown)
        self.assertIn("keeper=2   (set at the start)", shown)

    def test_an_idle_process_is_woken(self):
        """By the bell: without it, each answer but the first would come with the keeper's next look, 250 ms after the last."""
        idle = self.begin()
        took = []
        for number in range(12):
            began = time.monotonic()
            self.ask(idle.pid, f"purge_delay_ms={number}")
            took.append(time.monotonic() - began)
        self.assertLess(min(took[1:]), 0.1, took)

    def test_a_timeline_begins(self):
        idle = self.begin()
        done = self.tslab("ctl", idle.pid, "trace=x", "--for", "1s")
        self.assertIn("trace has no end: its file keeps the newest events", done.stderr)
        file = self.own / "timeline"
        self.ask(idle.pid, f"trace={file},64K")
        self.ask(idle.pid, f"trace={file},64K")
        self.refuses(idle.pid, f"trace={file}2", f"trace: its file stays, or cannot be written: {file}")
        self.ask(idle.pid, "trim")
        done = self.tslab("timeline", file)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["traceEvents"][0]["pid"], idle.pid)

    def test_trim_and_dump(self):
        idle = self.begin()
        self.assertRegex(self.ask(idle.pid, "trim"), r"^trim: gave back \d+ bytes$")
        file = self.own / "stats"
        done = self.tslab("ctl", idle.pid, "dump-stats=stats")
        self.assertEqual(done.stdout, f"statistics in {file}\n", done.stderr)
        self.assertIn("tslab statistics", file.read_text())
        self.refuses(idle.pid, "dump-profile", "the profile is off; profile=512K switches it on")
        self.ask(idle.pid, "profile=1K")
        self.refuses(idle.pid, "dump-profile", "the profile has no file; dump-profile=FILE names one")
        self.refuses(idle.pid, f"dump-profile={self.own}/none/x", f"no profile, cannot open {self.own}/none/x")
        done = self.tslab("ctl", idle.pid, "dump-profile=%e.%p%%")
        file = self.own / f"python3.{idle.pid}%"
        self.assertEqual(done.stdout, f"profile in {file}\n", done.stderr)
        self.assertTrue(file.read_text().startswith("tslab-profile 1\n"))
        self.assertEqual(self.ask(idle.pid, "dump"), "statistics on standard error")
        self.assertIn("tslab statistics", self.lines(10))
        path = self.own / "both"
        self.ask(idle.pid, f"profile=1K,{path}")
        self.assertEqual(self.ask(idle.pid, "dump"), f"statistics on standard error; profile in {path}")
        self.refuses(idle.pid, f"profile=1K,{path}2", f"profile: its file stays {path}$")

    def test_an_option_for_a_time(self):
        path = self.own / "timed"
        idle = self.begin(TSLAB_PURGE="lazy")
        done = self.tslab("ctl", idle.pid, f"profile=1K,{path}", "--for", "300ms")
        self.assertEqual(done.stdout, f"profile=1K,{path}, was 0, for 300 ms\n", done.stderr)
        self.assertEqual(self.lines(2)[1], "tslab: its time is over: profile=0")
        self.assertIn("\nsampling 1\n", path.read_text())
        self.options(idle.pid, {"profile": f"0,{path}"})
        self.ask(idle.pid, "purge=eager", 60000)
        with self.assertRaisesRegex(inbox.Refused, "purge holds for a time already"):
            self.ask(idle.pid, "retain_bytes=1", 60000)
        self.ask(idle.pid, "purge=never", 200)
        self.options(idle.pid, {"purge": "lazy"})
        self.ask(idle.pid, "purge=eager", 60000)
        self.ask(idle.pid, "purge=never")
        self.ask(idle.pid, "retain_bytes=1", 60000)
        self.options(idle.pid, {"purge": "never", "retain_bytes": "1"})
        done = self.tslab("ctl", idle.pid, "purge=eager", "trim", "--for", "1s")
        self.assertIn("--for goes with one option", done.stderr)
        self.assertIn("is no time such as", self.tslab("ctl", idle.pid, "purge=eager", "--for", "2d").stderr)

    def test_refusals(self):
        idle = self.begin()
        for command, why in (
            ("purg=eager", r"purg: unknown option \(known: limit_bytes, "),
            ("purge=soon", r"purge=soon: unknown value \(adaptive, eager,"),
            ("retain_bytes=2T", r"retain_bytes=2T: not a number like 64 or 64M in its range \(0 to 1T bytes\)"),
            ("keeper=1", "keeper: is read when the program starts"),
            ("", "no such command"),
            ("trim=1", "unknown option"),
            ("dump-stats=", "unknown option"),
            ("fly", "no such command. There are NAME=VALUE, trim, dump, "),
            ("purge=eager\ntrim", "this is no request"),
            ("=", ": unknown option"),
        ):
            self.refuses(idle.pid, command, why)
        self.assertEqual(self.lines(0), [])
        self.assertRaisesRegex(Failure, "too long", self.ask_once, idle.pid, "x" * 2000)
        done = self.tslab("ctl", idle.pid, "purge=soon", "trim")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn(f"tslab: process {idle.pid}: purge=soon: unknown value", done.stderr)
        self.assertIn(
            "dump has no value. Those with a file are dump-stats=", self.tslab("ctl", idle.pid, "dump=x").stderr
        )
        self.assertIn("no process 4194305", self.tslab("ctl", 4194305, "trim").stderr)
        off = self.begin(TSLAB_EXPORT="0")
        self.assertIn("start it with TSLAB_EXPORT=1", self.tslab("ctl", off.pid, "trim").stderr)

    def ask_once(self, pid, command):
        with inbox.Inbox(pid) as opened:
            opened.ask(command)

    def test_a_process_without_a_keeper(self):
        """A busy one answers on its way out of a slow allocation, an idle one not at all."""
        busy = self.begin(BUSY, TSLAB_KEEPER="0")
        self.assertEqual(self.ask(busy.pid, "purge=eager"), "purge=eager, was adaptive")
        idle = self.begin(TSLAB_KEEPER="0")
        done = self.tslab("ctl", idle.pid, "trim", "--wait", "0.3")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("did not answer within 0.3 s: one with a single thread answers at its next", done.stderr)


class Processes(Ctl):
    def test_parent_and_child(self):
        """Each answers for itself."""
        parent = self.begin(FORKS)
        parent.stdout.readline()
        with open(f"/proc/{parent.pid}/task/{parent.pid}/children") as file:
            child = int(file.read())
        self.ask(parent.pid, "retain_bytes=11")
        self.ask(child, "retain_bytes=22")
        self.options(parent.pid, {"retain_bytes": "11"})
        self.options(child, {"retain_bytes": "22"})
        os.kill(parent.pid, signal.SIGSTOP)
        self.assertEqual(self.ask(child, "retain_bytes=33"), "retain_bytes=33, was 22")

    def test_a_child_that_has_no_inbox_yet(self):
        """It has its parent's descriptor. Who asks notices, and so does the child."""
        parent = self.begin(FORKS.replace("kept =", "os.environ['x'] = 'y'; kept ="), TSLAB_KEEPER="0")
        parent.stdout.readline()
        with open(f"/proc/{parent.pid}/task/{parent.pid}/children") as file:
            child = int(file.read())
        done = self.tslab("ctl", child, "purge=eager", "--wait", "0.3")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, "has no inbox yet|did not answer")

    def test_a_program_that_closes_all_descriptors(self):
        closes = self.begin(IDLE.replace("print", "os.closerange(3, 1000)\nprint"))
        self.assertEqual(self.ask(closes.pid, "purge=eager"), "purge=eager, was adaptive")

    @unittest.skipUnless(os.geteuid() == 0, "only root can be another user")
    def test_other_users(self):
        theirs = self.begin(DROPS)
        self.assertEqual(self.ask(theirs.pid, "purge=eager"), "purge=eager, was adaptive")
        self.assertRegex(self.lines(1)[0], r"\(asked by process \d+ of user 0\)$")
        words = [*self.argv("ctl", theirs.pid, "purge=lazy")]
        for user, code in ((65534, 0), (65533, 1)):
            done = subprocess.run(
                ["/usr/bin/setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups", *words],
                capture_output=True, text=True, check=False, env=self.environment, cwd="/",
            )  # fmt: skip
            self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn("belongs to another user", done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "only root can be another user")
    def test_a_process_that_has_changed_its_user(self):
        """Its new user may look at it. The inbox is still root's."""
        theirs = self.begin(KEEPS_ITS_INBOX)
        self.assertEqual(self.ask(theirs.pid, "purge=eager"), "purge=eager, was adaptive")
        new_user = ["/usr/bin/setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        self.assertEqual(self.run_argv([*new_user, *self.argv("stat", theirs.pid)], cwd="/").returncode, 0)
        done = self.run_argv([*new_user, *self.argv("ctl", theirs.pid, "trim")], cwd="/")
        said = f"tslab: process {theirs.pid}: only root and the user that started it may ask it\n"
        self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", said))


class Hostile(Ctl):
    """Who may write to the inbox may write anything."""

    def opened(self, pid):
        file = os.open(processes.descriptor(pid, inbox.FILE), os.O_RDWR)
        self.addCleanup(os.close, file)
        return file

    def test_the_file(self):
        idle = self.begin()
        file = self.opened(idle.pid)
        self.assertEqual(os.fstat(file).st_mode & 0o777, 0o600)
        for size in (0, 1 << 20):
            self.assertRaises(PermissionError, os.ftruncate, file, size)
        for request in (b"1 0 purge=lazy", b"1 0 trim"):  # without the lock
            os.pwrite(file, request + b"\0", 32)
            number = struct.unpack("<I", os.pread(file, 4, 24))[0] + 1
            os.pwrite(file, struct.pack("<I", number), 24)
            end = time.monotonic() + PATIENCE
            while struct.unpack("<I", os.pread(file, 4, 28))[0] != number:
                self.assertLess(time.monotonic(), end)
            self.assertEqual(
                os.pread(file, 100, 32 + 1024).split(b"\0")[0], b"refused: nobody holds a lock on the inbox"
            )
        self.assertEqual(self.lines(0), [])

    def test_nonsense(self):
        """Anything in the request, and then anything anywhere, under the lock or not. The program lives, nothing changes, and it
        answers as soon as the head is as it was."""
        idle = self.begin()
        self.ask(idle.pid, "retain_bytes=77")
        file = self.opened(idle.pid)
        head = os.pread(file, 32, 0)
        dice = random.Random(5)
        words = [
            b"1 0 retain_bytes=",
            b"4294967296 ",
            b"0 ",
            b"=",
            b"9" * 40,
            b"retain_bytes",
            b"\xff",
            b"\0",
            b"%n" * 300,
            b" ",
        ]
        end = time.monotonic() + 1.0
        tried = 0
        while time.monotonic() < end:
            if dice.random() < 0.5:
                with contextlib.suppress(OSError):
                    fcntl.lockf(file, dice.choice((fcntl.LOCK_EX | fcntl.LOCK_NB, fcntl.LOCK_UN)))
            if dice.random() < 0.5:
                os.pwrite(file, b"".join(dice.choices(words, k=dice.randrange(12)))[: inbox.REQUEST_BYTES], 32)
                os.pwrite(file, dice.randbytes(4), 24)
            else:
                at = dice.randrange(inbox.BYTES)
                os.pwrite(file, dice.randbytes(dice.randrange(200))[: inbox.BYTES - at], at)
            os.pwrite(file, dice.randbytes(4), 12)
            tried += 1
        self.assertGreater(tried, 1000)
        fcntl.lockf(file, fcntl.LOCK_UN)
        os.pwrite(file, head, 0)
        self.assertIsNone(idle.poll())
        self.assertEqual(self.ask(idle.pid, "retain_bytes=78"), "retain_bytes=78, was 77")
        self.assertEqual(len(self.lines(2)), 2)

    def test_the_keeper_does_not_spin(self):
        """A bell that never rests: the program still sleeps most of the time."""
        idle = self.begin()
        file = self.opened(idle.pid)
        before = self.switches(idle.pid)
        rings = 0
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            rings += 1
            os.pwrite(file, struct.pack("<I", rings), 12)
            time.sleep(0.0001)
        self.assertLess(self.switches(idle.pid) - before, rings / 2)

    def switches(self, pid):
        """How often its threads fell asleep."""
        count = 0
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/status") as file:
                count += sum(int(line.split()[1]) for line in file if line.startswith("voluntary"))
        return count


if __name__ == "__main__":
    main()
