"""The request server and the scattered survivors, by themselves. usage: test_server.py self.library"""

import http.client
import json
import subprocess
import threading

from lab_test import LabTest, main
from tslab_lab.base import processes
from tslab_lab.estimates.histogram import Histogram, bucket_of
from tslab_lab.request_server import driver, scattered

TIMEOUT = 60
SESSIONS = 50

# Each is a library to preload that is wrong in one way, for objects of some sizes.
WRITES_BEHIND = """
#include <stddef.h>
void *__libc_malloc(size_t size);
void __libc_free(void *start);
static char *last;
void *malloc(size_t size)
{
    char *start = __libc_malloc(size);
    if (last) last[%d] ^= 1;
    last = size >= 448 && size < 512 ? start : NULL;
    return start;
}
void free(void *start) { if (last == start) last = NULL; __libc_free(start); }
"""


class ServerTest(LabTest):
    @classmethod
    def setUpClass(cls):
        driver.prepare()

    def run_program(self, *argv, preload=None):
        argv = [str(word) for word in argv]
        environment = processes.environment(preload)
        return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False)


class Server(ServerTest):
    def serving(self, preload=None, sessions="paused", policy=None):
        load = driver.Load(1, 50, 3, 20, SESSIONS, 0, 0)
        environment = processes.environment(preload) | ({"TSLAB_EPOCH_POLICY": policy} if policy else {})
        return driver.serving(load, environment, self.own, "the server", sessions)

    def post(self, server, path, body):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=TIMEOUT)
        try:
            connection.request("POST", path, body)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def final_stats(self):
        return json.loads((self.own / "stats.json").read_text())

    def serve_some(self, **how):
        """Three clients at once, 40 requests each; every fourth makes a session. Returns the figures at the end."""
        answers, body = [], driver.body()

        def client(server):
            for i in range(40):
                path = f"/order?user={i}&fields=a,b" + ("&login=1" if i % 4 == 0 else "")
                answers.append(self.post(server, path, body))

        with self.serving(**how) as server:
            server.get("/reset")
            clients = [threading.Thread(target=client, args=(server,)) for _ in range(3)]
            for thread in clients:
                thread.start()
            for thread in clients:
                thread.join()
            server.get("/rotate")
            server.stop()
        self.assertEqual([status for status, _ in answers], [200] * 120)
        for _, answer in answers:
            found = json.loads(answer)
            self.assertEqual((found["items"], found["fields"]), (5, ["a", "b"]))
            self.assertEqual(found["cents"], sum(round(999 * (i + 1)) * (i + 1) for i in range(5)))
            self.assertGreater(len(found["rows"]), 40)
        return self.final_stats()

    def test_what_it_counts(self):
        stats = self.serve_some()
        self.assertEqual((stats["wall"]["count"], stats["cpu"]["count"]), (120, 120))
        self.assertAlmostEqual(stats["objects"] / 120, 200, delta=20)  # this client sends few headers
        self.assertAlmostEqual(stats["bytes"] / 120, 52_000, delta=5000)
        self.assertEqual((stats["sessions"]["live"], stats["sessions"]["created"]), (SESSIONS, 30))
        self.assertAlmostEqual(stats["sessions"]["bytes"] / SESSIONS, 1900, delta=600)
        self.assertEqual(stats["workers"], 3)
        self.assertLessEqual(stats["workers_used"], 3)
        self.assertIsNone(stats["slabs"])

    def test_its_histograms_are_as_ours(self):
        stats = self.serve_some()
        for kind in ("wall", "cpu"):
            found = stats[kind]
            histogram = Histogram.from_json(found)
            self.assertEqual(min(histogram.buckets), bucket_of(found["least_ns"]))
            self.assertEqual(max(histogram.buckets), bucket_of(found["most_ns"]))
            low = sum(1.01**bucket * count for bucket, count in histogram.buckets.items())
            self.assertLessEqual(low, found["sum_ns"] + 1)
            self.assertGreaterEqual(low * 1.0101, found["sum_ns"])
            long_at_least = sum(count for bucket, count in histogram.buckets.items() if 1.01**bucket > 1e6)
            self.assertGreaterEqual(found["long_count"], long_at_least)
        self.assertLessEqual(stats["cpu"]["sum_ns"], stats["wall"]["sum_ns"] * 1.01)

    def test_a_damaged_object_is_seen(self):
        for at in (16, 77, 447):  # the row's first byte, one in its middle, its last word
            done = self.run_program(driver.SERVER, "--probe", preload=self.compiled(WRITES_BEHIND % at))
            self.assertLess(done.returncode, 0)
            self.assertIn("server: an object was damaged while it was alive", done.stderr)


class Scattered(ServerTest):
    def test_what_it_counts(self):
        small = {"requests": 30, "objects": 800, "every": 200, "settle_ms": 1}
        told = json.loads(self.run_program(*scattered.argv(small, False)).stdout)
        found = scattered.record_of(told, small)
        self.assertEqual((found["objects"], found["survivors"]), (24_000, 120))
        self.assertAlmostEqual(found["bytes"] / found["objects"], 264, delta=5)
        self.assertAlmostEqual(found["survivor_bytes"] / 120, 264, delta=60)
        self.assertGreaterEqual(found["peak_kib"] - found["start_kib"], found["bytes"] / 1024 * 0.95)
        for when in ("start", "after", "later", "asked"):
            self.assertGreater(found[f"{when}_kib"], 0)


if __name__ == "__main__":
    main()
