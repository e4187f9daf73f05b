"""The campaign: a tiny plan, from the runs to the pages; what it goes on with and what it refuses; whether README and docs
say what the pages say. usage: test_campaign.py LIBRARY"""

import json
import unittest
from xml.etree import ElementTree

from lab_test import LabTest, main
from tslab_lab.commands import campaign
from tslab_lab.report import scatter
from tslab_lab.results import published

PAGES = ("matrix", "latency", "epochs", "rss", "checked")


class Campaign(LabTest):
    def setUp(self):
        super().setUp()
        self.environment["TSLAB_LIBRARY"] = self.library

    def campaign(self, *words):
        return self.tslab("campaign", "--plan", "smoke", "--output", self.own / "runs", *words)

    def test_from_the_runs_to_the_pages_and_again(self):
        done = self.campaign()
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout[-2000:])
        pages = self.own / "runs/pages"
        texts = {name: (pages / f"{name}.md").read_text() for name in PAGES}
        for name, words in (
            ("matrix", "| pair:operations=20000 | "),
            ("latency", "pair:operations=20000: malloc:"),
            ("epochs", "A request of 225 objects"),
            ("rss", "![RSS over time](rss.png)"),
            ("checked", "*Verdict*: **"),
        ):
            self.assertIn(words, texts[name])
            self.assertNotIn(str(self.own), texts[name])
            self.assertTrue((pages / f"raw/{name}.jsonl.zst").read_bytes().startswith(b"\x28\xb5\x2f\xfd"))
        self.assertTrue((pages / "rss.png").is_file())
        self.assertIn("<title>Time and peak RSS of 2 allocators</title>", (pages / "matrix.svg").read_text())

        # One step was stopped before its end: only it is measured again.
        results = self.own / "runs/latency/results.jsonl"
        lines = results.read_text().splitlines()
        self.assertNotIn(str(self.own), lines[0])
        results.write_text("\n".join(lines[:-1]) + "\n")
        done = self.campaign()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for name in PAGES:
            self.assertEqual(f" {name}: is complete\n" in done.stdout, name != "latency", done.stdout)

        # The pages are what the raw results say.
        texts = {name: (pages / f"{name}.md").read_text() for name in PAGES}
        for name in PAGES:
            (pages / f"{name}.md").write_text("something else")
        self.assertEqual(len(list(campaign._changed(pages))), len(PAGES))
        done = self.campaign("--only-pages")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual({name: (pages / f"{name}.md").read_text() for name in PAGES}, texts)
        self.assertEqual(list(campaign._changed(pages)), [])

        # It is of one commit.
        state = self.own / "runs/campaign.json"
        state.write_text(json.dumps(json.loads(state.read_text()) | {"commit": "0" * 40}))
        done = self.campaign()
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"holds a campaign of plan smoke on commit {'0' * 40}: name another --output.", done.stderr)
        self.assert_nothing_left()

    def test_refusals(self):
        done = self.campaign("--steps", "matrix,nosuch")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--steps: there is no nosuch", done.stderr)


class Plans(unittest.TestCase):
    def test_all_pages_have_a_step_and_an_age(self):
        self.assertEqual([step.name for step in campaign.full()], list(published.DAYS))
        for step in campaign.full():
            if step.name != "soak":
                self.assertIn("--strict", step.words)
                self.assertGreaterEqual(int(step.words[step.words.index("--rounds") + 1]), 10)


class Quotations(unittest.TestCase):
    pages = {"matrix": "| tslab | 1.52 | 28.1 |\n| glibc | 1,717 | 533 |", "epochs": "| release | 1452 (1440-1460) | 0.1 |"}

    def wrong(self, text):
        return [figure for figure, _ in published.unsupported(text, self.pages)]

    def test_what_a_page_says_is_found(self):
        matrix, epochs = "([m](docs/results/matrix.md))", "[e](results/epochs.md)"
        for text in (
            f"It takes 1.5 of it {matrix}.",
            f"| 28.1 MiB | 533 MiB | {matrix} |",
            f"28 to 533 MiB {matrix}",
            f"1.45 to 1.46 us {epochs}, of which 99.9 % is gone",
            f"1,717 MiB {matrix}",
            f"- 24 workloads, 8 programs {matrix}",  # neither decimals nor a unit
            "9.99 of nothing",  # no page is named
            f"```\n9.99 {matrix}\n```",
        ):
            self.assertEqual(self.wrong(text), [], text)

    def test_what_it_does_not_say_is_told(self):
        matrix = "([m](docs/results/matrix.md))"
        self.assertEqual(self.wrong(f"It takes 1.6 of it {matrix}."), ["1.6"])
        self.assertEqual(self.wrong(f"| 29 MiB | 1.52 | {matrix} |\n| 30 MiB | x |"), ["29 MiB"])
        self.assertEqual(self.wrong(f"- 1.45 us {matrix}\n- 7.7 s"), ["1.45 us"])  # it is in another page

    def test_readme_and_docs_say_what_the_pages_say(self):
        self.assertEqual([*campaign._unsupported(), *campaign._changed(published.FOLDER), *campaign._redrawn(published.FOLDER)], [])


class Picture(unittest.TestCase):
    page = """\
| peers | mimalloc 2.0.9+ds-2, mimalloc3 3.3.2, google 2025-06-16 |

|  | time / tslab | fastest in | peak RSS / tslab | leanest in |
| --- | ---: | ---: | ---: | ---: |
| tslab | 1 | 4 | 1 | 7 |
| glibc | 1.70 (1.63-1.76) | 2 | 0.88 (0.87-0.88) | 22 |
| mimalloc | 1.12 | 2 | - | 0 |
| mimalloc3 | 1.20 (1.12-1.23) | 2 | 2.07 (2.01-2.11) | 0 |
| google | 1.21 (1.12-1.23) | 2 | 2.06 (2.01-2.11) | 0 |

| another | 5 | 1 | 5 | 1 |
"""

    def test_it_says_what_the_page_says(self):
        picture = ElementTree.fromstring(scatter.of(self.page))
        space = {"svg": "http://www.w3.org/2000/svg"}
        self.assertEqual(len(picture.findall("svg:circle", space)), 4)  # mimalloc has no peak
        texts = {text.text: text for text in picture.findall("svg:text", space)}
        self.assertLessEqual({"tslab", "glibc", "mimalloc 3.3.2", "tcmalloc, Google"}, set(texts))
        self.assertIn("glibc 1.7 and 0.88", picture.find("svg:desc", space).text)
        # Two points beside each other: their names do not meet.
        first, second = texts["mimalloc 3.3.2"], texts["tcmalloc, Google"]
        self.assertTrue(
            first.get("text-anchor") != second.get("text-anchor") or abs(float(first.get("y")) - float(second.get("y"))) > 12
        )

    def test_there_is_none_without_an_overview(self):
        self.assertIsNone(scatter.of("# A page\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"))
        self.assertIsNone(scatter.of(self.page.replace("| tslab |", "| other |")))


if __name__ == "__main__":
    main()
