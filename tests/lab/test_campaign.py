"""The campaign: a tiny plan, from the runs to the pages; what it goes on with, what it leaves and what it refuses.
usage: test_campaign.py LIBRARY"""

import json
import re
import shutil

from lab_test import LabTest, main
from tslab_lab.base import machine
from tslab_lab.campaign import plan
from tslab_lab.commands import campaign
from tslab_lab.results import published

STEPS = {step.name: step for step in plan.smoke()}
PAGES = [name for name, step in STEPS.items() if step.page]


class Campaign(LabTest):
    def setUp(self):
        super().setUp()
        self.environment["TSLAB_LIBRARY"] = self.library

    def campaign(self, *words):
        return self.lab("campaign", "--plan", "smoke", "--output", self.own / "runs", *words)

    def test_from_the_runs_to_the_pages_and_again(self):
        done = self.campaign()
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout[-2000:])
        pages = self.own / "runs/pages"
        texts = {name: (pages / f"{name}.md").read_text() for name in PAGES}
        for name, words in (
            ("matrix", "| pair:operations=20000 | "),
            ("matrix", "| replace:operations=20000,live=100 | "),  # of another piece
            ("latency", "| pair:operations=20000: malloc | "),
            ("epochs", "A request of 225 objects"),
            ("rss", "![RSS over time](rss.png)"),
            ("checked", "*Verdict*: **"),
        ):
            self.assertIn(words, texts[name])
            self.assertNotIn(str(self.own), texts[name])
            self.assertIn(f", engine {machine.engine()}", texts[name])
        for name, step in STEPS.items():
            for piece in step.pieces:
                raw = (pages / f"raw/{name}/{piece.name}.jsonl.zst").read_bytes()
                self.assertTrue(raw.startswith(b"\x28\xb5\x2f\xfd"))
        for name in ("matrix", "latency", "epochs", "rss"):
            _, answer, *rest = texts[name].split("\n\n")
            self.assertRegex(answer, r"^.*\*\*.*\*\*", name)
            images = re.findall(r"!\[.*?\]\((.*?)\)", "".join(rest[:2]))
            self.assertEqual(images, [f"{name}.png"])
            self.assertTrue((pages / images[0]).is_file())

        # In another clone: what is left of a campaign is beside its pages, and only what is not there is measured.
        shutil.rmtree(self.own / "runs/latency")
        (pages / "raw/latency/pair.jsonl.zst").unlink()
        done = self.campaign()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.count(": is there\n"), sum(len(step.pieces) for step in STEPS.values()) - 1)
        self.assertIn("latency:pair: took ", done.stdout)

        # The pages are what the raw results say.
        texts = {name: (pages / f"{name}.md").read_text() for name in PAGES}
        for name in PAGES:
            (pages / f"{name}.md").write_text("something else")
        self.assertEqual(len(list(campaign.changed(pages, plan.smoke()))), len(PAGES))
        done = self.campaign("--only-pages")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual({name: (pages / f"{name}.md").read_text() for name in PAGES}, texts)
        self.assertEqual(list(campaign.changed(pages, plan.smoke())), [])

        # What is of another engine is measured anew; until then its page stays as it is.
        index = pages / "raw/index.json"
        known = json.loads(index.read_text())
        known["matrix:pair"]["engine"] = "0" * 12
        index.write_text(json.dumps(known))
        (pages / "matrix.md").write_text("something else")
        self.assertEqual(list(campaign.changed(pages, plan.smoke())), [])
        listed = self.campaign("--list", "--pieces", "matrix")
        self.assertIn("another engine", listed.stdout)
        self.assertIn("1 piece of 2 to measure, 0 minutes", listed.stdout)
        done = self.campaign("--pieces", "matrix:pair*", "--minutes", "1")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertNotIn("replace", done.stdout)
        self.assertIn("| pair:operations=20000 | ", (pages / "matrix.md").read_text())
        self.assert_nothing_left()

    def test_the_pages_are_what_their_raw_results_say(self):
        self.assertEqual(list(campaign.changed(published.FOLDER, [*plan.full(), *plan.long()])), [])


if __name__ == "__main__":
    main()
