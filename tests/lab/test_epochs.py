"""What `make epochs` says, against known answers; a tiny run; what is refused. usage: test_epochs.py LIBRARY"""

import json

from lab_test import ROOT, LabTest, main
from tslab_lab.epoch_cost import ways


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


if __name__ == "__main__":
    main()
