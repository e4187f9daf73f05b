"""`tslab ctl` on processes that run: one with a single thread that idles, those of other users, in
other name spaces; and askers that write nonsense.
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

from live_test import IDLE, PATIENCE, Live
from tslab_test import main
from tslab_tools.failure import Failure
from tslab_tools.live import channel

NOBODY = 65534
IS_ROOT = os.geteuid() == 0
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
# It gives its rights up, and then lets its new user look, or not.
DROPS = (
    "import ctypes, os\nos.setgroups([])\nos.setresgid(65534, 65534, 65534)\nos.setresuid(65534, 65534, 65534)\n"
    "ctypes.CDLL(None).prctl(4, {}, 0, 0, 0)\n" + IDLE
)
# A child gives its rights up for good, and tries what there is to command its parent.
ATTACKS = """
import os, sys
print("idle", flush=True)
sys.stdin.readline()
parent = os.getpid()
if os.fork() == 0:
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    folders = [f"/proc/{parent}/task/{task}/fd" for task in os.listdir(f"/proc/{parent}/task")]
    attempts = [(os.listdir, folder) for folder in folders] + [(os.open, f"/proc/{parent}/mem", os.O_RDWR)]
    attempts += [(os.open, f"{folder}/0", way) for folder in folders for way in (os.O_RDWR, os.O_RDONLY, os.O_PATH)]
    for attempt, *words in attempts:
        try:
            print("done", attempt(*words), flush=True)
        except OSError as problem:
            print("refused", problem.errno, flush=True)
    os._exit(0)
os.wait()
print("end", flush=True)
sys.stdin.readline()
"""


class Ctl(Live):
    def begin(self, source=IDLE, **more):
        """A program that idles, and its standard error in a file."""
        self.said = self.own / "said"
        with open(self.said, "ab") as file:
            program = self.start(source, stderr=file, **more)
        if program.stdout.readline() != "idle\n":
            self.assertIn("unshare", more.get("before", ()))
            self.skipTest("users get no name spaces here")
        return program

    def ask(self, pid, command, milliseconds=0):
        """As soon as it has its file."""
        self.soon(lambda: channel.path_of(pid))
        with channel.Channel(pid) as opened:
            return opened.ask(command, milliseconds, PATIENCE)

    def refuses(self, pid, command, why):
        with self.assertRaisesRegex(channel.Refused, why):
            self.ask(pid, command)

    def lines(self, count):
        """The lines that programs have written, when there are so many."""
        self.soon(lambda: len(self.said.read_text().splitlines()) >= count, self.said.read_text)
        return self.said.read_text().splitlines()

    def options(self, pid, wanted):
        self.figures([pid], lambda process: wanted.items() <= process.figures.options.items())

    def by(self, who, *words):
        """`tslab` as another user, or in another name space."""
        return self.run_argv([*who, *self.argv(*words)], cwd="/")


class Commands(Ctl):
    def test_options_change(self):
        idle = self.begin()
        done = self.tslab("ctl", idle.pid, "purge=eager", "soft_limit_bytes=2G", "PURGE_DELAY_MS=7")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        said = ["purge=eager, was adaptive", "soft_limit_bytes=2G, was 0", "purge_delay_ms=7, was 500"]
        self.assertEqual(done.stdout.splitlines(), said)
        for line, answer in zip(self.lines(3), said):
            self.assertRegex(line, rf"^tslab: {answer} \(asked by process \d+ of user {os.geteuid()}\)$")
        self.options(idle.pid, {"purge": "eager", "soft_limit_bytes": str(2 << 30), "purge_delay_ms": "7"})
        shown = self.tslab("ctl", idle.pid).stdout.splitlines()
        self.assertIn("purge=eager", shown)
        self.assertIn("export=1   (set at the start)", shown)
        self.assertEqual(len(self.lines(3)), 3)

    def test_files_are_the_askers(self):
        """Whatever the directory of the process: it hands the contents over."""
        idle = self.begin()
        self.assertRegex(self.ask(idle.pid, "trim"), r"^trim: gave back \d+ bytes$")
        done = self.tslab("ctl", idle.pid, "dump-stats=stats")
        self.assertEqual(done.stdout, "statistics in stats\n", done.stderr)
        self.assertEqual(json.loads((self.own / "stats").read_text())["pid"], idle.pid)
        for name in (f"python3.{idle.pid}.json", f"python3.{idle.pid}-2.json"):
            self.assertEqual(self.tslab("ctl", idle.pid, "dump-stats").stdout, f"statistics in {name}\n")
            self.assertEqual((self.own / name).stat().st_mode & 0o777, 0o600)
        self.refuses(idle.pid, "profile", "the profile is off; profile=512K switches it on")
        self.ask(idle.pid, "profile=1K")
        done = self.tslab("ctl", idle.pid, "dump-profile")
        name = f"python3.{idle.pid}.heap"
        self.assertEqual(done.stdout, f"profile in {name}\n", done.stderr)
        self.assertTrue((self.own / name).read_text().startswith("tslab-profile 1\n"))
        done = self.tslab("ctl", idle.pid, "dump-profile=none/x")
        self.assertEqual(done.stderr, "tslab: cannot write none/x: No such file or directory\n")
        path = self.own / "own"
        self.ask(idle.pid, f"profile=1K,{path}")
        self.refuses(idle.pid, f"profile=1K,{path}2", f"profile: its file stays {path}$")
        self.assertFalse(path.exists())

    def test_an_option_for_a_time(self):
        path = self.own / "timed"
        idle = self.begin(TSLAB_PURGE="adaptive")
        done = self.tslab("ctl", idle.pid, f"profile=1K,{path}", "--for", "300ms")
        self.assertEqual(done.stdout, f"profile=1K,{path}, was 0, for 300 ms\n", done.stderr)
        self.assertEqual(self.lines(2)[1], "tslab: its time is over: profile=0")
        self.assertIn("\nsampling 1\n", path.read_text())
        self.options(idle.pid, {"profile": f"0,{path}"})
        self.ask(idle.pid, "purge=eager", 60000)
        with self.assertRaisesRegex(channel.Refused, "purge holds for a time already"):
            self.ask(idle.pid, "retain_bytes=1", 60000)
        self.ask(idle.pid, "purge=never", 200)
        self.options(idle.pid, {"purge": "adaptive"})
        self.ask(idle.pid, "purge=eager", 60000)
        self.ask(idle.pid, "purge=never")
        self.ask(idle.pid, "retain_bytes=1", 60000)
        self.options(idle.pid, {"purge": "never", "retain_bytes": "1"})
        done = self.tslab("ctl", idle.pid, "purge=eager", "trim", "--for", "1s")
        self.assertIn("--for goes with one option", done.stderr)
        self.assertIn("--for goes with an option", self.tslab("ctl", idle.pid, "dump-stats", "--for", "1s").stderr)
        self.assertIn("is no time such as", self.tslab("ctl", idle.pid, "purge=eager", "--for", "2d").stderr)

    def test_refusals(self):
        idle = self.begin()
        for command, why in (
            ("purg=eager", r"purg: unknown option \(known: limit_bytes, "),
            ("purge=soon", r"purge=soon: unknown value \(adaptive, eager,"),
            ("retain_bytes=2T", r"retain_bytes=2T: not a number like 64 or 64M in its range \(0 to 1T bytes\)"),
            ("keeper=1", "keeper: is read when the program starts"),
            ("export=0", "export: is read when the program starts"),
            ("", "no such command"),
            ("trim=1", "unknown option"),
            ("profile=", "not a number"),
            ("fly", "no such command. There are NAME=VALUE, trim, figures, statistics, profile$"),
            ("purge=eager\ntrim", "this is no request"),
            ("=", ": unknown option"),
        ):
            self.refuses(idle.pid, command, why)
        with channel.Channel(idle.pid) as opened:
            self.assertRaisesRegex(Failure, "too long", opened.ask, "x" * 2000)
        self.assertEqual(self.lines(0), [])
        done = self.tslab("ctl", idle.pid, "purge=soon", "trim")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn(f"tslab: process {idle.pid}: purge=soon: unknown value", done.stderr)
        self.assertIn("dump-stats takes a FILE", self.tslab("ctl", idle.pid, "dump-stats=").stderr)
        self.assertIn("no process 4194305", self.tslab("ctl", 4194305, "trim").stderr)
        off = self.begin(TSLAB_EXPORT="0")
        self.assertIn("start it with TSLAB_EXPORT=1", self.tslab("ctl", off.pid, "trim").stderr)

    def test_many_ask_at_once(self):
        """One after the other."""
        idle = self.begin()
        self.ask(idle.pid, "retain_bytes=0")
        argv = [self.argv("ctl", idle.pid, f"retain_bytes={number}", "--wait", str(PATIENCE)) for number in range(1, 5)]
        askers = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for words in argv]
        said = {asker.communicate()[0].rstrip() for asker in askers}
        changes = [line[len("tslab: ") :].partition(" (")[0] for line in self.lines(5)[1:]]
        self.assertEqual(said, set(changes))
        values = ["0", *(change[len("retain_bytes=") :].partition(",")[0] for change in changes)]
        self.assertEqual(changes, [f"retain_bytes={new}, was {old}" for old, new in zip(values, values[1:])])
        self.assertEqual(sorted(values), list("01234"))

    def test_a_stopped_process(self):
        """It does not do later what it did not do in time."""
        idle = self.begin()
        self.ask(idle.pid, "retain_bytes=77")
        idle.send_signal(signal.SIGSTOP)
        done = self.tslab("ctl", idle.pid, "retain_bytes=78", "--wait", "0.3")
        said = f"tslab: process {idle.pid} did not answer within 0.3 s: it is stopped\n"
        self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", said))
        idle.send_signal(signal.SIGCONT)
        time.sleep(0.6)  # the keeper looks twice
        self.assertEqual(self.ask(idle.pid, "retain_bytes=79"), "retain_bytes=79, was 77")


class Others(Ctl):
    @unittest.skipUnless(IS_ROOT, "only root can give rights up")
    def test_a_child_has_no_hand_on_its_parent(self):
        """It gave its rights up. (It has no descriptor and no mapping: test_top.py.)"""
        parent = self.begin(ATTACKS)
        self.ask(parent.pid, "retain_bytes=11")
        print(file=parent.stdin, flush=True)
        found = [line.rstrip() for line in iter(parent.stdout.readline, "end\n")]
        self.assertEqual(found, ["refused 13"] * (2 * 4 + 1))  # one of two tasks is the keeper
        self.assertEqual(self.ask(parent.pid, "retain_bytes=12"), "retain_bytes=12, was 11")

    @unittest.skipUnless(IS_ROOT, "only root can be another user")
    def test_users(self):
        """The same user and root ask; whoever gave rights up, and did not let anybody look, is asked by root alone."""
        for dumpable, why in (1, "has changed its user, so root alone may ask it"), (0, "lets nobody look at it"):
            theirs = self.begin(DROPS.format(dumpable))
            self.assertEqual(self.ask(theirs.pid, "purge=eager"), "purge=eager, was adaptive")
            self.assertRegex(self.lines(1)[-1], r"\(asked by process \d+ of user 0\)$")
            done = self.by(AS_NOBODY, "ctl", theirs.pid, "purge=eager")
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertRegex(done.stderr, rf"^tslab: process {theirs.pid}:? .*{why}\n$")
        own = self.begin(before=AS_NOBODY)
        for user, code in ((NOBODY, 0), (NOBODY - 1, 1)):
            who = [word.replace(str(NOBODY), str(user)) for word in AS_NOBODY]
            done = self.by(who, "ctl", own.pid, f"retain_bytes={user}")
            self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stderr, f"tslab: process {own.pid} belongs to another user, or lets nobody look at it\n")
        self.assertRegex(self.lines(1)[-1], rf"retain_bytes={NOBODY}, was .* of user {NOBODY}\)$")

    def test_name_spaces(self):
        """Processes in a user name space of another user's, in containers, are asked by that user and by root."""
        user = AS_NOBODY if IS_ROOT else ()
        for spaces in ("-Ur", "-Urmpf"):
            program = self.begin(before=[*user, "unshare", spaces, "--"])
            pid = next(iter(self.children(program.pid)), 0) if "f" in spaces else program.pid
            for number, who in enumerate((user, ())):
                done = self.by(who, "ctl", pid, f"retain_bytes={number}")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
            (process,) = json.loads(self.by(user, "top", pid, "--once", "--json").stdout)["processes"]
            self.assertEqual((process["pid"], process["program"]), (pid, "python3"))
            self.end(program)
        said = self.lines(4)
        self.assertRegex(said[0], r"\(asked by process \d+ of user \d+\)$")
        self.assertEqual(said[-1], "tslab: retain_bytes=1, was 0 (asked from outside of the container)")

    @unittest.skipUnless(IS_ROOT, "only root can change its root directory")
    def test_a_root_directory_without_proc(self):
        """It shows its process to nobody inside, and root outside asks it."""
        script = (
            f"cd {self.own} && mkdir usr && ln -s usr/lib usr/lib64 usr/bin . && mount --rbind /usr usr && "
            f'cp {self.library} libtslab.so && exec chroot . "$@"'
        )
        program = self.begin(before=["unshare", "-m", "--", "sh", "-c", script, "sh"], LD_PRELOAD="/libtslab.so")
        self.assertEqual(self.ask(program.pid, "purge=eager"), "purge=eager, was adaptive")
        done = self.tslab("stat", program.pid)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class Hostile(Ctl):
    """Whoever may open the file may write anything into it."""

    def opened(self, pid):
        file = os.open(channel.path_of(pid), os.O_RDWR)
        self.addCleanup(os.close, file)
        return file

    def test_who_asks_is_known(self):
        """Without a lock nobody is asking. One of an open file description belongs to nobody, and would be inherited."""
        idle = self.begin()
        self.ask(idle.pid, "retain_bytes=77")
        file = self.opened(idle.pid)
        self.assertEqual(os.fstat(file).st_mode & 0o777, 0o600)
        number = 1000
        for locks in (False, True):
            if locks:
                fcntl.fcntl(file, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))  # F_OFD_SETLK
            for request in (b"0 purge=eager", b"0 trim", b"0 figures"):
                number += 1
                os.pwrite(file, request + b"\0", 40)
                os.pwrite(file, struct.pack("<I", number), 24)
                self.soon(lambda number=number: struct.unpack("<I", os.pread(file, 4, 28))[0] == number)
                said = os.pread(file, 100, 40 + 1024).split(b"\0")[0]
                self.assertEqual(said, b"refused: nobody holds a lock on the file")
        self.assertEqual(len(self.lines(1)), 1)

    def test_nonsense(self):
        """Anything in the request, then anything anywhere, under the lock or not, and at last any length of the file. The program
        lives, and answers as soon as the file is as it was."""
        idle = self.begin()
        self.ask(idle.pid, "retain_bytes=77")
        file = self.opened(idle.pid)
        head = os.pread(file, 40, 0)
        dice = random.Random(5)
        words = (
            b"0 retain_bytes=",
            b"4294967296 ",
            b"0 ",
            b"=",
            b"9" * 40,
            b"retain_bytes",
            b"\xff",
            b"\0",
            b"%n" * 300,
        )
        tried, began = 0, time.monotonic()
        while (now := time.monotonic() - began) < 3:
            if dice.random() < 0.5:
                with contextlib.suppress(OSError):
                    fcntl.lockf(file, dice.choice((fcntl.LOCK_EX | fcntl.LOCK_NB, fcntl.LOCK_UN)))
            if dice.random() < 0.5:
                os.pwrite(file, b"".join(dice.choices(words, k=dice.randrange(12)))[:1024], 40)
                os.pwrite(file, dice.randbytes(4), 24)
            elif now < 2:
                os.pwrite(file, dice.randbytes(dice.randrange(200)), dice.randrange(2088))
            else:
                os.ftruncate(file, dice.choice((0, 1, 24, 39, 40, 1000, 1064, 2087, 2088, 4096, 1 << 20)))
            tried += 1
        self.assertGreater(tried, 1000)
        os.ftruncate(file, 0)
        os.ftruncate(file, 2088)
        os.pwrite(file, head, 0)
        fcntl.lockf(file, fcntl.LOCK_UN)
        self.assertIsNone(idle.poll())
        self.assertEqual(self.ask(idle.pid, "retain_bytes=78"), "retain_bytes=78, was 77")
        self.assertEqual(len(self.lines(2)), 2)


if __name__ == "__main__":
    main()
