"""What a campaign keeps and says: its plans, pieces as one, whether README and docs say what the pages say, how old pages may
be, and README's picture. usage: test_published.py LIBRARY"""

import json
import unittest

from lab_test import main
from tslab_lab import cli
from tslab_lab.campaign import plan, raw
from tslab_lab.results import merging, published, storage


class Plans(unittest.TestCase):
    def test_all_pages_have_a_step_and_an_age(self):
        steps = [*plan.full(), *plan.long()]
        by_cargo = ["rust"]  # the page that bindings/rust writes
        self.assertEqual(sorted([step.name for step in steps if step.page] + by_cargo), sorted(published.CHANGES))
        for step in steps:
            names = [piece.name for piece in step.pieces]
            self.assertEqual(len(set(names)), len(names))
            for piece in step.pieces:
                if step.name != plan.SOAK:
                    self.assertIn("--strict", piece.words)
                    self.assertEqual(piece.rounds, plan.ROUNDS)

    def test_commands_take_the_words(self):
        for step in (*plan.full(), *plan.long(), *plan.smoke()):
            for piece in step.pieces:
                if step.name != plan.SOAK:
                    cli.LAB.parser([piece.words[0]]).parse_args(piece.words)

    def test_histograms_of_all_rounds_are_one(self):
        lines = [{"kind": "header"}]
        for number, least in ((1, 10), (2, 20)):
            lines.append({"kind": "latency", "case": "c", "allocator": "a", "round": number, "operation": "malloc", "count": 5,
                          "max_ns": 40 * number, "timer_ns": 1, "buckets": [[5, 2], [least, 3]]})  # fmt: skip
        lines.append({"kind": "footer"})
        thin = [json.loads(line) for line in raw.thinned(map(json.dumps, lines))]
        self.assertEqual([line["kind"] for line in thin], ["header", "latency", "footer"])
        self.assertEqual((thin[1]["count"], thin[1]["max_ns"]), (10, 80))
        self.assertEqual(thin[1]["buckets"], [[5, 4], [10, 3], [20, 3]])


class Merging(unittest.TestCase):
    def part(self, case, **machine):
        facts = {"cpu": "x", "commit": "0" * 40, "engine": "e", "load_at_start": 0.0} | machine
        header = {"machine": facts, "marks": ["m"], "allocators": {"tslab": {}}, "cases": {case: {}}, "arguments": []}
        footer = {"rounds": 10, "complete": True, "load_at_end": 1.0, "seconds": 30.0, "others_share": 0.02}
        return storage.Results(case, header, runs=[{"case": case}], footer=footer)

    def test_pieces_are_one(self):
        one = merging.merged([self.part("a"), self.part("b", commit="1" * 40)])
        self.assertEqual(list(one.header["cases"]), ["a", "b"])
        self.assertEqual(one.header["machine"]["commit"], f"{'0' * 40} and {'1' * 40}")
        self.assertEqual((one.footer["seconds"], one.header["marks"]), (60.0, ["m"]))
        self.assertAlmostEqual(one.footer["others_share"], 0.02)


class Ages(unittest.TestCase):
    def test_no_page_is_older_than_it_may_be_without_saying_so(self):
        self.assertEqual([*published.wrong()], [])

    def test_a_page_of_another_engine_must_say_so(self):
        age = published.Age
        for one, well in ((age("matrix", 0, 60, False), True), (age("matrix", 61, 60, False), False),
                          (age("matrix", None, 60, False), False), (age("matrix", 61, 60, True), True)):  # fmt: skip
            self.assertEqual(one.well, well, one)
        self.assertEqual(
            str(age("matrix", 61, 60, True)), "measured 61 changes of the engine ago, at most 60; it says so"
        )


if __name__ == "__main__":
    main()
