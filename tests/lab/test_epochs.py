"""What `make epochs` says, against known answers; a tiny run; what is refused. usage: test_epochs.py LIBRARY"""

import json

from lab_test import ROOT, LabTest, main
from tslab_lab.epoch_cost import ways

# Gives every object of one size the same place.
ONE_PLACE_A_SIZE = """
#include <stddef.h>
void *__libc_malloc(size_t size);
void __libc_free(void *start);
static _Alignas(16) char places[512][512];
void *malloc(size_t size) { return size < 512 ? places[size] : __libc_malloc(size); }
void free(void *start) { if ((char *)start < places[0] || (char *)start > places[511]) __libc_free(start); }
"""


class Command(LabTest):
    def command(self, *options):
        return self.lab("epochs", "--quick", "--rounds", "1", *options)

    def test_everything_runs(self):
        page = self.own / "page.md"
        options = ("--library", self.library, "--allocators", "glibc,tslab")
        done = self.command(*options, "--output", "out", "--markdown", page)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assert_narrow(done.stdout.partition("Results:")[0])

        lines = list(map(json.loads, (self.own / "out/results.jsonl").read_text().splitlines()))
        self.assertEqual((lines[0]["command"], list(lines[0]["cases"])), ("epochs", list(ways.GROUPS)))
        runs = {(line["case"], line["allocator"]): line for line in lines if line["kind"] == "run"}
        self.assertEqual(set(runs), {(way.group, way.name) for way in ways.every(["glibc", "tslab"])})
        asked = {run["asked_bytes"] for (group, _), run in runs.items() if group == "request"}
        self.assertEqual(len(asked), 1)  # all serve the same request
        closed = runs["reclaim", "close, release"]
        self.assertLess(closed["left_kib"], closed["grown_kib"] / 2)
        text = page.read_text()
        for words in ("A request of 225 objects", "Close with reclaim", "times the fastest pool of APR"):
            self.assertIn(words, text)
        self.assertNotIn(str(ROOT), text)

    def test_objects_that_overlap_are_seen(self):
        library = self.compiled(ONE_PLACE_A_SIZE)
        done = self.command("--library", library, "--allocators", "tslab", "--groups", "request")
        self.assertEqual(done.returncode, 1)
        self.assertIn("died of SIGABRT", done.stderr)
        self.assertIn("objects overlap", done.stderr)


if __name__ == "__main__":
    main()
