"""What reads the boards of processes, beside processes that lie: `tslab top`, `stat` and `export` show the others, say that
these cannot be read, and neither wait nor read more than a board has. Where the test is root, the liars are another user's.
usage: test_hostile.py [LIBRARY]"""

import collections
import contextlib
import gzip
import json
import os
import resource
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest
import unittest.mock

import prometheus_client

import tslab_test
from boards import LIES, SEALS, true
from tslab_tools.failure import Failure
from tslab_tools.live import exporter, inbox, processes, shared_memory

NOBODY = 65534
# A process that has what it is sent in a memfd, as the library would: argv is its size at least, its seals, its owner
# and its name.
SHARES = """
import fcntl, os, sys, time
size, seals, owner = map(int, sys.argv[1:4])
data = sys.stdin.buffer.read()
if os.geteuid() == 0 and owner:
    os.setegid(owner)
    os.seteuid(owner)
file = os.memfd_create(sys.argv[4], os.MFD_ALLOW_SEALING)
if os.geteuid() == owner != 0:
    os.seteuid(0)
    os.setuid(65534)
os.ftruncate(file, max(size, len(data)))
os.pwrite(file, data, 0)
fcntl.fcntl(file, 1033, seals)
os.dup2(file, 100)
print("ready", flush=True)
time.sleep(1000)
"""
# A process with a descriptor whose link reads as a board's does. It is a name in a root directory of its own.
PRETENDS = """
import ctypes, os, sys, time
kind, folder = sys.argv[1:]
name = "memfd:tslab-export" + (kind != "file") * " (deleted)"
libc = ctypes.CDLL(None, use_errno=True)
def must(result):
    if result:
        sys.exit(77)
uid, gid = os.geteuid(), os.getegid()
must(libc.unshare(0x10000000 | 0x00020000))  # CLONE_NEWUSER, CLONE_NEWNS
open("/proc/self/setgroups", "w").write("deny")
open("/proc/self/uid_map", "w").write(f"0 {uid} 1")
open("/proc/self/gid_map", "w").write(f"0 {gid} 1")
must(libc.mount(b"none", folder.encode(), b"tmpfs", 0, None))
os.chdir(folder)
os.mkdir("old")
if kind == "fifo":
    os.mkfifo(name)
else:
    open(name, "w").close()
if kind == "device":
    must(libc.mount(b"/dev/tty", name.encode(), None, 4096, None))  # MS_BIND
must(libc.mount(b"/", b"old", None, 4096 | 16384, None))
file = os.open(name, os.O_PATH)
if kind == "file":
    os.unlink(name)  # the kernel says that it is deleted
libc.syscall(155, b".", b"old")  # pivot_root
os.dup2(file, 100)
print("ready", flush=True)
time.sleep(1000)
"""


class Hostile(tslab_test.TslabTest):
    def started(self, source, *words):
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        return self.of([sys.executable, "-c", source, *map(str, words)], **user)

    def of(self, argv, **options):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "cwd": "/"}
        process = subprocess.Popen(argv, **pipes, **options)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def sharing(self, data=true, size=0, seals=SEALS, name="tslab-export", process=None):
        process = process or self.started(SHARES, size, seals, 0, name)
        with process.stdin as file:
            file.write(data(process.pid))
        return process

    def wait_for(self, *there):
        for process in there:
            self.assertEqual(process.stdout.readline(), b"ready\n")

    def look(self, *there):
        """Looks at these processes alone. Returns the PIDs of those with figures, and what is said of others."""
        with processes.Watched([process.pid for process in there]) as watched:
            found = watched.look_afresh(0)
            return {one.pid for one in found}, watched.unreadable

    def test_lies_are_said_and_do_no_harm(self):
        honest = self.sharing()
        liars = {name: self.sharing(data, size, seals) for name, (data, size, seals, _) in LIES.items()}
        self.wait_for(honest, *liars.values())
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        found, problems = self.look(honest, *liars.values())
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, before + (64 << 10))
        self.assertEqual(found, {honest.pid})
        for name, liar in liars.items():
            self.assertRegex(problems[liar.pid], LIES[name][-1], name)
        with exporter.Server(("127.0.0.1", 0), [honest.pid, *(liar.pid for liar in liars.values())]) as server:
            value = {sample.name: sample.value for metric in server.collect() for sample in metric.samples}
        self.assertEqual((value["tslab_exporter_processes"], value["tslab_exporter_unreadable"]), (1, len(liars)))
        done = self.tslab("top", "--once", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        shown = {process["pid"] for process in json.loads(done.stdout)["processes"]}
        self.assertIn(honest.pid, shown)
        self.assertFalse(shown & {liar.pid for liar in liars.values()})
        for liar in liars.values():
            self.assertIn(f"process {liar.pid}: ", done.stderr)
        done = self.tslab("stat", liars["no written_ms"].pid)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("no written_ms", done.stderr)

    def test_links_that_lie(self):
        """None of these files is opened: a FIFO would wait for ever, a terminal would become ours."""
        honest = self.sharing()
        liars = {}
        for kind in ("fifo", "device", "file"):
            folder = self.own / kind
            folder.mkdir()
            self.own.chmod(0o755)
            folder.chmod(0o777)
            liar = self.started(PRETENDS, kind, folder)
            liar.stdin.close()
            if liar.stdout.readline() != b"ready\n":
                self.assertEqual(liar.wait(), 77)
                self.skipTest("users get no name spaces here")
            liars[kind] = liar
            self.assertEqual(os.readlink(f"/proc/{liar.pid}/fd/100"), processes.FILE)
        self.wait_for(honest)
        found, problems = self.look(honest, *liars.values())
        self.assertEqual(found, {honest.pid})
        for kind, liar in liars.items():
            self.assertIn("a file of another kind", problems[liar.pid], kind)
        done = self.tslab("top", "--once", "--json")
        self.assertEqual(done.returncode, 0)
        self.assertIn(f'"pid": {honest.pid}, ', done.stdout)

    def test_inboxes_that_lie(self):
        """`tslab ctl` writes only into memory that is an inbox, and what it is told is text."""

        def told(answer, size):
            head = struct.pack("<8sIIQII", inbox.MAGIC, inbox.VERSION, 0, 0, 0, 1)
            data = (head + bytes(inbox.REQUEST_BYTES) + answer).ljust(inbox.BYTES, b"\0")[:size]
            return lambda pid: data[:16] + struct.pack("<Q", pid) + data[24:]

        for answer, size, seals, said in (
            (b"done: a\x1b[2J\xc2\x9b", inbox.BYTES, SEALS, r"^a\\x1b\[2J\\x9b\n$"),
            (b"refused: \xe2\x80\xae[/bold]", inbox.BYTES, SEALS, r"^tslab: process \d+: \\u202e\[/bold\]\n$"),
            (b"", 100, SEALS, "cut off"),
            (b"", inbox.BYTES, 0, "may change its size"),
            (b"", 1 << 30, SEALS, "too large"),
        ):
            liar = self.sharing(told(answer, size), size, seals, "tslab-ctl")
            self.wait_for(liar)
            done = self.tslab("ctl", liar.pid, "trim")
            self.assertRegex(done.stdout + done.stderr, said)
            self.assertNotIn("Traceback", done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "only root can have boards of two users")
    def test_the_board_of_another_user(self):
        liar = self.of([sys.executable, "-c", SHARES, "0", str(SEALS), "65533", "tslab-export"])
        self.sharing(process=liar)
        self.wait_for(liar)
        found, problems = self.look(liar)
        self.assertEqual(found, set())
        self.assertIn("another user", problems[liar.pid])

    def test_what_a_scrape_costs(self):
        """Each board is found and opened once, however long the scrape waits for figures of now; /proc is listed once."""
        many = [self.sharing(lambda pid: true(pid, 1)) for _ in range(12)]
        self.wait_for(*many)
        counted = collections.Counter()
        paths = [f"/proc/{process.pid}/" for process in many]

        def count(event, arguments):
            if counting and event in ("open", "os.listdir", "os.scandir"):
                path = str(arguments[0])
                ours = next((path.removeprefix(part) for part in paths if path.startswith(part)), None)
                if ours is not None or path == "/proc":
                    counted[event, ours or path] += 1

        counting = True
        sys.addaudithook(count)
        with exporter.Server(("127.0.0.1", 0), patience=0.4) as server:
            value = {sample.name: sample.value for metric in server.collect() for sample in metric.samples}
        counting = False
        self.assertGreaterEqual(value["tslab_exporter_processes"], len(many))
        once = {("open", name): len(many) for name in ("fd/100", "status", "uid_map", "comm", "cgroup", "statm")}
        self.assertEqual(counted, once | {("os.listdir", "/proc"): 1})

    def test_a_scrape_has_a_deadline(self):
        honest = self.sharing()
        self.wait_for(honest)
        with exporter.Server(("127.0.0.1", 0), patience=0) as server:
            for deadline, there in ((-1, False), (1000, True)):
                with unittest.mock.patch.object(exporter, "DEADLINE", deadline):
                    value = {sample.name: sample.value for metric in server.collect() for sample in metric.samples}
                self.assertEqual(value["tslab_exporter_processes"] > 0, there)
                self.assertEqual(value["tslab_exporter_unseen"] == 0, there)

    def test_nothing_is_read_beyond_a_board(self):
        self.assertEqual(shared_memory.read("/proc/self/environ")[:0], b"")
        self.assertLessEqual(len(shared_memory.read("/dev/zero")), 1 << 16)
        self.assertEqual(shared_memory.read("/proc/self/nothing"), b"")


class Requests(unittest.TestCase):
    """Those of anybody who can reach the exporter."""

    def setUp(self):
        self.server = exporter.Server(("127.0.0.1", 0), [os.getpid()], patience=0)
        thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        thread.start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(self.server.shutdown)

    def send(self, request):
        connection = socket.create_connection(self.server.server_address, timeout=60)
        self.addCleanup(connection.close)
        connection.sendall(request)
        return connection

    def answer(self, request):
        """Its first line, and what comes."""
        with self.send(request) as connection, connection.makefile("rb") as file:
            return file.readline().decode(), file.read().decode()

    def test_hosts(self):
        """A page in a browser that calls this machine by its own name is refused."""
        port = self.server.server_address[1]
        for host in (
            "127.0.0.1",
            f"127.0.0.1:{port}",
            "localhost",
            f"LocalHost:{port}",
            "[::1]:9447",
            "10.1.2.3",
            None,
        ):
            line = f"Host: {host}\r\n" if host else ""
            status, text = self.answer(f"GET /metrics HTTP/1.1\r\n{line}\r\n".encode())
            self.assertIn(" 200 ", status, host)
            self.assertIn("tslab_exporter_processes 0.0", text)
        for host in ("rebound.example", f"rebound.example:{port}", "127.0.0.1.example", "localhost.example", "[", ""):
            status, text = self.answer(f"GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            self.assertIn(" 421 ", status, host)
            self.assertNotIn("tslab_exporter", text)
        self.assertTrue(exporter.is_meant("monitor.example:1", {"monitor.example"}))

    def test_paths(self):
        for path, wanted in (("/metrics", " 200 "), ("/metrics?a=b", " 200 "), ("/", " 404 "), ("/metrics/x", " 404 ")):
            status, text = self.answer(f"GET {path} HTTP/1.1\r\n\r\n".encode())
            self.assertIn(wanted, status, path)
            self.assertEqual("The figures are at /metrics" in text, "404" in wanted)

    def test_an_address_that_is_taken(self):
        port = self.server.server_address[1]
        with self.assertRaisesRegex(Failure, f"^cannot listen at 127.0.0.1:{port}: Address already in use$"):
            exporter.Server(("127.0.0.1", port))

    def test_the_size_of_a_request(self):
        most = b"GET /metrics HTTP/1.1\r\nX: " + b"x" * exporter.HEAD_MOST
        self.assertIn(" 431 ", self.answer(most[: exporter.HEAD_MOST])[0])
        self.assertIn(" 200 ", self.answer(most[: exporter.HEAD_MOST - 4] + b"\r\n\r\n")[0])

    def test_half_a_request_takes_a_place_for_a_while_only(self):
        before = threading.active_count()
        with unittest.mock.patch.object(exporter, "REQUEST_SECONDS", 0.3):
            halves = [self.send(b"GET /metrics HTTP/1.1\r\n") for _ in range(3 * exporter.CONNECTIONS_MOST)]
            self.assertLessEqual(threading.active_count(), before + exporter.CONNECTIONS_MOST)
            for half in halves:  # all are closed
                with contextlib.suppress(ConnectionResetError):
                    self.assertEqual(half.recv(1), b"")
        self.assertIn(" 200 ", self.answer(b"GET /metrics HTTP/1.0\r\n\r\n")[0])

    def test_halves_of_requests_do_not_keep_whole_ones_out(self):
        with unittest.mock.patch.object(exporter, "REQUEST_SECONDS", 1000):
            halves = [self.send(b"GET /metrics HTTP/1.1\r\n") for _ in range(3 * exporter.CONNECTIONS_MOST)]
            self.assertIn(" 200 ", self.answer(b"GET /metrics HTTP/1.0\r\n\r\n")[0])
            for half in halves[: -exporter.CONNECTIONS_MOST]:
                self.assertEqual(half.recv(1), b"")
            for half in halves:
                half.close()

    def whole(self, request=b"GET /metrics HTTP/1.0\r\n\r\n"):
        """An honest scrape: as many bytes as there are."""
        status, text = self.answer(request)
        self.assertIn(" 200 ", status)
        return len(text)

    def test_those_who_ask_and_never_read_keep_nobody_out(self):
        """More than there is room for. Their answers are longer than the system takes for them, and their time is not
        over: they make room."""
        metric = prometheus_client.Metric("tslab_long", "x" * (1 << 23), "gauge")
        metric.add_sample("tslab_long", {}, 1)
        with (
            unittest.mock.patch.object(self.server, "_scrape", lambda: [metric]),
            unittest.mock.patch.object(exporter, "ANSWER_SECONDS", 10000),
            unittest.mock.patch.object(exporter, "CONNECTIONS_MOST", 16),
        ):
            silent = []
            for turn in range(8):
                for _ in range(40):
                    connection = socket.socket()
                    self.addCleanup(connection.close)
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                    connection.settimeout(60)
                    connection.connect(self.server.server_address)
                    connection.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
                    silent.append(connection)
                self.assertGreater(self.whole(), 1 << 23, turn)
            self.assertLessEqual(len(self.server._connections), 16)

    def test_those_who_ask_and_go_keep_nobody_out(self):
        scrapes, go = [], threading.Event()

        def scrape():
            scrapes.append(1)
            go.wait(60)
            return []

        with (
            unittest.mock.patch.object(self.server, "_scrape", scrape),
            unittest.mock.patch.object(exporter, "CONNECTIONS_MOST", 16),
        ):
            for _ in range(400):
                with socket.create_connection(self.server.server_address, timeout=60) as connection:
                    connection.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            with self.send(b"GET /metrics HTTP/1.0\r\n\r\n") as honest, honest.makefile("rb") as file:
                threading.Timer(0.2, go.set).start()
                self.assertIn(b" 200 ", file.readline())
        self.assertLessEqual(len(scrapes), 400)

    def test_when_all_wait_the_next_wait_in_turn(self):
        scrapes, go = [], threading.Event()

        def scrape():
            scrapes.append(1)
            go.wait(60)
            return []

        with (
            unittest.mock.patch.object(self.server, "_scrape", scrape),
            unittest.mock.patch.object(exporter, "CONNECTIONS_MOST", 4),
        ):
            all_of_them = [self.send(b"GET /metrics HTTP/1.0\r\n\r\n") for _ in range(30)]
            threading.Timer(0.2, go.set).start()
            for connection in all_of_them:
                with connection.makefile("rb") as file:
                    self.assertIn(b" 200 ", file.readline())
        self.assertLess(len(scrapes), 30)

    def test_who_reads_slowly_has_a_time_for_all_of_it(self):
        metric = prometheus_client.Metric("tslab_long", "x" * (1 << 23), "gauge")
        metric.add_sample("tslab_long", {}, 1)
        with (
            unittest.mock.patch.object(self.server, "_scrape", lambda: [metric]),
            unittest.mock.patch.object(exporter, "ANSWER_SECONDS", 0.3),
        ):
            slow = self.send(b"GET /metrics HTTP/1.0\r\n\r\n")
            self.assertEqual(len(slow.recv(1)), 1)
            while self.server._connections:  # the test would time out
                slow.recv(100)
                time.sleep(0.01)

    def test_one_scrape_is_written_once_in_each_form(self):
        calls = collections.Counter()
        real = exporter.choose_encoder

        def counting(accept):
            encoder, kind = real(accept)

            def write(found):
                calls[kind] += 1
                return encoder(found)

            return write, kind

        go = threading.Event()
        with (
            unittest.mock.patch.object(self.server, "_scrape", lambda: [] if go.wait(60) else []),
            unittest.mock.patch.object(exporter, "choose_encoder", counting),
        ):
            first = self.send(b"GET /metrics HTTP/1.0\r\n\r\n")
            time.sleep(0.1)  # it has a scrape of its own
            some = [self.send(b"GET /metrics HTTP/1.0\r\nAccept: a/%d\r\n\r\n" % number) for number in range(50)]
            time.sleep(0.3)
            go.set()
            for connection in (first, *some):
                with connection.makefile("rb") as file:
                    self.assertIn(b" 200 ", file.readline())
        self.assertLess(sum(calls.values()), 25)

    def test_gzip_and_openmetrics(self):
        with (
            self.send(
                b"GET /metrics HTTP/1.1\r\nAccept-Encoding: gzip\r\nAccept: application/openmetrics-text\r\n\r\n"
            ) as connection,
            connection.makefile("rb") as file,
        ):
            head, _, body = file.read().partition(b"\r\n\r\n")
        self.assertIn(b"Content-Encoding: gzip", head)
        self.assertIn(b"application/openmetrics-text", head)
        self.assertTrue(gzip.decompress(body).endswith(b"# EOF\n"))

    def test_other_methods(self):
        for method in (b"POST", b"HEAD", b"DELETE", b"\x00"):
            status, text = self.answer(method + b" /metrics HTTP/1.1\r\n\r\n")
            self.assertRegex(status, " (400|501) ")
            self.assertNotIn("tslab_exporter", text)

    def test_those_who_come_together_get_the_same(self):
        scrapes, go = [], threading.Event()

        def scrape():
            scrapes.append(1)
            go.wait(60)
            return []

        with unittest.mock.patch.object(self.server, "_scrape", scrape):
            threads = [threading.Thread(target=self.server.collect) for _ in range(5)]
            for thread in threads:
                thread.start()
            while not scrapes:
                time.sleep(0.001)
            time.sleep(0.05)  # so that all wait
            go.set()
            for thread in threads:
                thread.join()
        self.assertLessEqual(len(scrapes), 2)  # one more if a thread was late


if __name__ == "__main__":
    tslab_test.main()
