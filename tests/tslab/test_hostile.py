"""`tslab top`, `stat`, `ctl`, `doctor` and `export` beside processes that lie, or say nothing: they show the others, say that
these cannot be asked, and neither wait nor read more than there may be. Where the test is root, the liars are another
user's.
usage: test_hostile.py LIBRARY"""

import collections
import contextlib
import gzip
import json
import os
import resource
import socket
import sys
import threading
import time
import unittest
import unittest.mock

import prometheus_client

import channels
import tslab_test
from live_test import IDLE, Live
from tslab_tools.failure import Failure
from tslab_tools.live import channel, exporter, processes

CROWD = 300
MANY = {f"k{number}": (1 << 63) + number for number in range(3600)}  # numbers: what takes the reader most memory
LARGE = json.dumps(channels.document() | {"classes": [channels.document()["classes"][0] | MANY]})
STORM = "import os\nwhile True:\n    if os.fork() == 0:\n        os.fork()\n        os._exit(0)\n    os.wait()\n"
LOOKS = (("stat",), ("doctor", "--watch", "0"), ("profile",), ("top", "--once"))
TOLD_AT_ONCE = ("silent", "sealed", "the lock held", "refuses", "refuses without a word", "no answer")
WHOLE = b"GET /metrics HTTP/1.0\r\n\r\n"
PRETENDED = ("fifo", "device", "file", "folder", "fuse")


class Hostile(Live):
    def look(self, *pids):
        """Asks these processes alone. Returns those with figures, and what is said of others."""
        with processes.Watched(pids) as watched:
            return {one.pid for one in watched.look(patience=1)}, watched.unreadable

    def scraped(self, *words, **options):
        with exporter.Server(("127.0.0.1", 0), *words, **options) as server:
            return {sample.name: sample.value for metric in server.scrape().found for sample in metric.samples}

    def test_lies_are_said_and_do_no_harm(self):
        honest, *liars = channels.start(self, [channels.HONEST, *(told for told, _ in channels.LIES.values())])
        liar = dict(zip(channels.LIES, liars))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        found, problems = self.look(honest, *liars)
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, before + (64 << 10))
        self.assertEqual(found, {honest})
        for name, (_, said) in channels.LIES.items():
            self.assertRegex(problems[liar[name]], rf"^process {liar[name]}: .*({said})", name)
        value = self.scraped([honest, *liars], patience=1)
        self.assertEqual((value["tslab_exporter_processes"], value["tslab_exporter_unreadable"]), (1, len(liars)))
        for name, words in (
            *((name, words) for name in ("a figure that lacks", "sealed") for words in LOOKS),
            *((name, ("ctl", "trim", "--wait", "0.5")) for name in TOLD_AT_ONCE),
        ):
            done = self.tslab(words[0], liar[name], *words[1:])
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertRegex(done.stderr, rf"^tslab: [^\n]*({channels.LIES[name][1]})[^\n]*\n$")
            self.assertIn(f"process {liar[name]}", done.stderr)

    def test_what_is_written(self):
        """A file of bounded size, with a name that is one."""
        own = {"said": "done: a\x1b[2J\xc2\x9b", "body": channels.body(), "names": "../\xff\x1b"}
        large, small = channels.start(self, [own | {"length": 1 << 40}, own | {"length": 100}])
        self.assertEqual(self.tslab("ctl", small, "trim").stdout, r"a\x1b[2J\x9b" + "\n")
        (self.own / "x").write_text("mine")
        self.assertRegex(
            self.tslab("ctl", large, "dump-stats=x").stderr, f"^tslab: process {large}: .* are read at most\n$"
        )
        self.assertEqual((self.own / "x").read_text(), "mine")
        self.assertEqual(self.tslab("ctl", small, "dump-stats=x").stdout, "statistics in x\n")
        self.assertEqual((self.own / "x").read_text(), channels.body()[:100])
        done = self.tslab("ctl", small, "dump-profile")
        self.assertRegex(done.stdout, rf"^profile in [\w._-]+\.{small}\.heap\n$", done.stderr)
        self.assertIn(done.stdout.split()[-1], os.listdir(self.own))

    def test_what_a_process_names_is_not_opened(self):
        """Whatever its answer and its name say. What it hands over is read, and is no profile."""
        os.mkfifo(self.own / "fifo")
        profiles = {
            "a path": ({"said": f"done: profile in {self.own}/fifo", "profile": ""}, "is no profile of tslab"),
            "another form": ({"profile": "tslab-profile 1\nstack x\n"}, "this line is none of a profile: stack x"),
            "a sparse file": ({"size": 1 << 40, "profile length": 1 << 27}, "is no profile of tslab"),
            "more of it": ({"size": 1 << 40, "profile length": 1 << 40}, "are read at most"),
        }
        more = {"names": "\xff\xfe\x1b]0;a\x07", "figures": channels.body()}
        pids = channels.start(self, [channels.HONEST | more | told for told, _ in profiles.values()])
        for (name, (_, said)), pid in zip(profiles.items(), pids):
            done = self.tslab("profile", pid)
            self.assertEqual((done.returncode, done.stdout), (1, ""), name)
            self.assertRegex(done.stderr, rf"^tslab: [^\x1b\n]*{said}[^\x1b\n]*\n$")
        for words in (("stat", pid), ("top", pid, "--once"), ("doctor", pid, "--watch", "0")):
            done = self.tslab(*words)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertNotRegex(done.stdout, "[\x00-\x09\x0b-\x1f\x7f-\x9f]")

    def test_links_that_lie(self):
        """None of these files is opened or asked: a FIFO would wait for ever, a terminal would become ours, and a file
        system of a user's need not answer."""
        self.own.chmod(0o755)
        for kind in PRETENDED:
            (self.own / kind).mkdir()
        told = [{"open": kind, "folder": str(self.own / kind)} for kind in PRETENDED]
        honest, *liars = channels.start(self, [channels.HONEST, *told])
        if not all(liars[: PRETENDED.index("fuse")]):
            self.skipTest("users get no name spaces here")
        there = [pid for pid in liars if pid]
        for pid in there:
            self.assertEqual(channel.path_of(pid) is not None, True)
        found, problems = self.look(honest, *there)
        self.assertEqual(found, {honest})
        for kind, pid in zip(PRETENDED, liars):
            if pid:
                self.assertIn("a file of another kind", problems[pid], kind)
        done = self.tslab("top", "--once", "--json")
        self.assertEqual(done.returncode, 0)
        self.assertIn(f'"pid": {honest}, ', done.stdout)

    @unittest.skipUnless(os.geteuid() == 0, "only root can have files of two users")
    def test_the_file_of_another_user(self):
        (liar,) = channels.start(self, [channels.HONEST | {"owner": 65533}])
        found, problems = self.look(liar)
        self.assertEqual(found, set())
        self.assertIn("belongs to another user", problems[liar])

    def test_many_threads_and_descriptors(self):
        """However many a process has, it costs no more than a few."""
        few, many, open_ones = channels.start(
            self, [{"before": 80}, {"before": 80, "threads": 2000}, channels.HONEST | {"descriptors": 900}]
        )
        counts = []
        for pid in (few, many):
            with unittest.mock.patch.object(os, "readlink", wraps=os.readlink) as read:
                self.assertEqual(self.look(pid), (set(), {}))
                counts.append(read.call_count)
        self.assertGreater(counts[0], 0)
        self.assertLessEqual(counts[1], 8 * counts[0])
        self.assertEqual(self.look(open_ones)[0], {open_ones})

    def test_a_crowd(self):
        """Others lie, are silent, or answer as much as they may. Who asks about honest programs gets their figures."""
        honest = [self.start(IDLE) for _ in range(2)]
        for program in honest:
            program.stdout.readline()
        pids = [program.pid for program in honest]
        large = {"said": "done: ", "body": LARGE}
        lies = [told for told, _ in channels.LIES.values()]
        each = [{}, large, *lies[: len(lies) // 2], {}, large, {}, *lies[len(lies) // 2 :]]
        told = (each * CROWD)[:CROWD]
        crowd = channels.start(self, told)
        silent = {pid for pid, one in zip(crowd, told) if one != large}
        began = time.monotonic()
        done = self.tslab("top", "--once", "--json")
        took = {"top": time.monotonic() - began}
        shown = {one["pid"]: one for one in json.loads(done.stdout)["processes"]}
        self.assertLessEqual(set(pids), set(shown))
        self.assertFalse(silent & set(shown))
        self.assertEqual(sum(f"tslab: process {pid}: " in done.stderr for pid in silent), len(silent))
        for pid in pids:
            self.assertGreater(shown[pid]["process"]["live"], 3000 * 1000)
        for words, says in (
            (("stat", pids[0]), f"python3, process {pids[0]}, "),
            (("ctl", pids[0], "trim"), "trim: gave back "),
            (("doctor", pids[0], "--watch", "0"), f"python3, process {pids[0]}: RSS "),
        ):
            began = time.monotonic()
            done = self.tslab(*words)
            took[words[0]] = time.monotonic() - began
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertTrue(done.stdout.startswith(says), done.stdout)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = time.monotonic()
        with exporter.Server(("127.0.0.1", 0), per_process=True) as server:
            samples = [sample for metric in server.scrape().found for sample in metric.samples]
        took["scrape"] = time.monotonic() - began
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        value = {(sample.name, sample.labels.get("pid"), sample.labels.get("use")): sample.value for sample in samples}
        for pid in pids:
            self.assertGreater(value["tslab_memory_bytes", str(pid), "live"], 3000 * 1000)
        self.assertGreaterEqual(value["tslab_exporter_unreadable", None, None], len(silent))
        self.assertEqual(value["tslab_exporter_unseen", None, None], 0)
        self.assertLess(grown, CROWD << 10)
        print(*(f"{name}: {seconds:.2f} s" for name, seconds in took.items()), f"memory of a scrape: {grown >> 10} MiB")

    def test_processes_that_come_and_go(self):
        """Children on the library that end, or become another program, while they are asked."""
        for source in (STORM, STORM.replace("os._exit(0)", "os.execv('/bin/sleep', ['sleep', '0.1'])")):
            self.start(source)
        honest = self.start(IDLE)
        honest.stdout.readline()
        with processes.Watched() as watched:
            for _ in range(10):
                self.assertIn(honest.pid, [process.pid for process in watched.look()])
                for why in watched.unreadable.values():
                    self.assertRegex(why, "did not answer|has another form")

    def test_what_a_scrape_costs(self):
        """Each process is found and opened once, however long the scrape waits for others; /proc is listed once."""
        many = channels.start(self, [channels.HONEST] * 12 + [{}])[:12]
        counted = collections.Counter()
        paths = [f"/proc/{pid}/" for pid in many]

        def count(event, arguments):
            if counting and event in ("open", "os.listdir", "os.scandir"):
                path = str(arguments[0])
                ours = next((path.removeprefix(part) for part in paths if path.startswith(part)), None)
                if ours is not None or path == "/proc":
                    counted[event, "/".join(part for part in (ours or path).split("/") if not part.isdecimal())] += 1

        counting = True
        sys.addaudithook(count)
        value = self.scraped()
        counting = False
        self.assertGreaterEqual(value["tslab_exporter_processes"], len(many))
        once = {("open", name): len(many) for name in ("task/fd", "status", "uid_map", "comm", "cgroup", "statm")}
        once |= {("os.scandir", name): len(many) for name in ("task", "task/fd")}
        self.assertEqual(counted, once | {("open", "task/comm"): 2 * len(many), ("os.listdir", "/proc"): 1})

    def test_a_scrape_has_a_deadline(self):
        channels.start(self, [channels.HONEST])
        for deadline, there in ((-1, False), (1000, True)):
            with unittest.mock.patch.object(exporter, "DEADLINE", deadline):
                value = self.scraped()
            self.assertEqual(value["tslab_exporter_processes"] > 0, there)
            self.assertEqual(value["tslab_exporter_unseen"] == 0, there)


class Requests(unittest.TestCase):
    """Those of anybody who can reach the exporter."""

    def setUp(self):
        self.server = exporter.Server(("127.0.0.1", 0), [os.getpid()], patience=0)
        thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        thread.start()
        for cleanup in (self.server.server_close, thread.join, self.server.shutdown):
            self.addCleanup(cleanup)

    def send(self, request=WHOLE, buffer=0):
        connection = socket.socket()
        self.addCleanup(connection.close)
        if buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        connection.settimeout(60)
        connection.connect(self.server.server_address)
        connection.sendall(request)
        return connection

    def answer(self, request=WHOLE, connection=None):
        """Its first line, and what comes."""
        with connection or self.send(request) as connection, connection.makefile("rb") as file:
            return file.readline().decode(), file.read().decode(errors="replace")

    def patched(self, **values):
        """Numbers of the exporter's."""
        for name, value in values.items():
            patch = unittest.mock.patch.object(exporter, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def looks(self, wait=None, long=0):
        """The looks at processes that are to come: each waits for this, and finds so much."""
        metric = prometheus_client.Metric("tslab_long", "x" * long, "gauge")
        metric.add_sample("tslab_long", {}, 1)
        begun = []

        def look():
            begun.append(1)
            if wait:
                wait.wait(60)
            return [metric]

        patch = unittest.mock.patch.object(self.server, "_look", look)
        patch.start()
        self.addCleanup(patch.stop)
        return begun

    def test_hosts(self):
        """A page in a browser that calls this machine by its own name is refused."""
        port = self.server.server_address[1]
        meant = ("127.0.0.1", f"127.0.0.1:{port}", "localhost", f"LocalHost:{port}", "[::1]:9447", "10.1.2.3", None)
        for host in meant:
            line = f"Host: {host}\r\n" if host else ""
            status, text = self.answer(f"GET /metrics HTTP/1.1\r\n{line}\r\n".encode())
            self.assertIn(" 200 ", status, host)
            self.assertIn("tslab_exporter_processes 0.0", text)
        for host in ("rebound.example", f"rebound.example:{port}", "127.0.0.1.example", "localhost.example", "[", ""):
            status, text = self.answer(f"GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            self.assertIn(" 421 ", status, host)
            self.assertNotIn("tslab_exporter", text)
        self.assertTrue(exporter.is_meant("monitor.example:1", {"monitor.example"}))

    def test_paths_and_methods(self):
        for path, wanted in (("/metrics", " 200 "), ("/metrics?a=b", " 200 "), ("/", " 404 "), ("/metrics/x", " 404 ")):
            status, text = self.answer(f"GET {path} HTTP/1.1\r\n\r\n".encode())
            self.assertIn(wanted, status, path)
            self.assertEqual("The figures are at /metrics" in text, "404" in wanted)
        for method in (b"POST", b"HEAD", b"DELETE", b"\x00"):
            status, text = self.answer(method + b" /metrics HTTP/1.1\r\n\r\n")
            self.assertRegex(status, " (400|501) ")
            self.assertNotIn("tslab_exporter", text)

    def test_gzip_and_openmetrics(self):
        asked = b"Accept-Encoding: gzip\r\nAccept: application/openmetrics-text"
        with self.send(b"GET /metrics HTTP/1.1\r\n" + asked + b"\r\n\r\n").makefile("rb") as file:
            head, _, body = file.read().partition(b"\r\n\r\n")
        self.assertIn(b"Content-Encoding: gzip", head)
        self.assertIn(b"application/openmetrics-text", head)
        self.assertTrue(gzip.decompress(body).endswith(b"# EOF\n"))

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
        self.patched(REQUEST_SECONDS=0.3)
        halves = [self.send(b"GET /metrics HTTP/1.1\r\n") for _ in range(3 * exporter.CONNECTIONS_MOST)]
        self.assertLessEqual(threading.active_count(), before + 2 * exporter.CONNECTIONS_MOST)
        for half in halves:  # all are closed
            with contextlib.suppress(ConnectionResetError):
                self.assertEqual(half.recv(1), b"")
        self.assertIn(" 200 ", self.answer()[0])

    def test_halves_of_requests_do_not_keep_whole_ones_out(self):
        self.patched(REQUEST_SECONDS=1000)
        halves = [self.send(b"GET /metrics HTTP/1.1\r\n") for _ in range(3 * exporter.CONNECTIONS_MOST)]
        self.assertIn(" 200 ", self.answer()[0])
        for half in halves[: -exporter.CONNECTIONS_MOST]:
            self.assertEqual(half.recv(1), b"")

    def test_those_who_ask_and_never_read_keep_nobody_out(self):
        """More than there is room for. Their answers are longer than the system takes for them, and their time is not
        over: they make room."""
        self.looks(long=1 << 23)
        self.patched(ANSWER_SECONDS=10000, CONNECTIONS_MOST=16)
        for _ in range(8):
            self.silent = [self.send(buffer=4096) for _ in range(40)]
            status, text = self.answer()
            self.assertIn(" 200 ", status)
            self.assertGreater(len(text), 1 << 23)
        self.assertLessEqual(len(self.server._connections), 16)

    def test_those_who_ask_and_go_keep_nobody_out(self):
        go = threading.Event()
        self.looks(go)
        self.patched(CONNECTIONS_MOST=16)
        for _ in range(400):
            self.send().close()
        honest = self.send()
        threading.Timer(0.2, go.set).start()
        self.assertIn(" 200 ", self.answer(connection=honest)[0])

    def test_when_all_wait_the_next_wait_in_turn(self):
        go = threading.Event()
        begun = self.looks(go)
        self.patched(CONNECTIONS_MOST=4)
        all_of_them = [self.send() for _ in range(30)]
        threading.Timer(0.2, go.set).start()
        for connection in all_of_them:
            self.assertIn(" 200 ", self.answer(connection=connection)[0])
        self.assertLess(len(begun), 30)

    def test_who_reads_slowly_has_a_time_for_all_of_it(self):
        self.looks(long=1 << 23)
        self.patched(ANSWER_SECONDS=0.3)
        slow = self.send()
        self.assertEqual(len(slow.recv(1)), 1)
        while self.server._connections:  # the test would time out
            slow.recv(100)
            time.sleep(0.01)

    def test_one_look_is_for_all_who_wait_and_written_once_in_each_form(self):
        calls, go, real = collections.Counter(), threading.Event(), exporter.choose_encoder

        def counting(accept):
            encoder, kind = real(accept)
            return lambda found: (calls.update([kind]), encoder(found))[1], kind

        begun = self.looks(go)
        self.patched(choose_encoder=counting)
        some = [self.send(b"GET /metrics HTTP/1.0\r\nAccept: a/%d\r\n\r\n" % number) for number in range(50)]
        time.sleep(0.3)
        go.set()
        for connection in some:
            self.assertIn(" 200 ", self.answer(connection=connection)[0])
        self.assertLess(len(begun), 25)
        self.assertEqual(sum(calls.values()), len(begun))


if __name__ == "__main__":
    tslab_test.main()
