"""The rules of words find what breaks them."""

import unittest

import words


class Words(unittest.TestCase):
    def test_files(self):
        known = {"heap.h", "fast.c", "src/malloc/fast.c"}
        self.assertEqual([], list(words.missing_files("as in heap.h and malloc/fast.c; see <stdio.h>, main.c", known)))
        self.assertEqual(["ahead.h"], list(words.missing_files("the second row (ahead.h)", known)))

    def test_names(self):
        text = "`heap_take()` and `heap_gone`, `page`, `--an-option`, `STEP_UNITS`, `TICK_MS`"
        self.assertEqual(["TICK_MS", "heap_gone"], list(words.missing_names(text, {"heap_take", "STEP_UNITS"})))

    def test_what(self):
        self.assertEqual([], list(words.whats("| What is it? | yes |\n\nSay what it is. What-if.\n\n| What | how |")))
        self.assertEqual(["What waits goes back."], list(words.whats("It waits. What waits goes back.")))

    def test_comments(self):
        text = words.comments('int n; /* What a thread\n        * has done. */\nputs("What waits.");\n/* Who\n * asks has it. */\n')
        self.assertEqual(["What a thread has done."], list(words.whats(text)))
        self.assertEqual(["Who asks has it."], list(words.whos(text)))

    def test_who(self):
        self.assertEqual([], list(words.whos("Who may look? The thread who asks. `Who asks`")))
        self.assertEqual(["Who asks has it."], list(words.whos("It waits. Who asks has it.")))

    def test_colons(self):
        well = "One: two.\n\nThree: four.\n\n- a: b\n- c: d\n\n| a: b: c |\n\n    x: y: z\n\n`a: b: c` [d](e: f): 10:20\n"
        self.assertEqual([], list(words.colons(well)))
        self.assertEqual(["One: two, and three: four."], list(words.colons("One: two,\nand three: four.\n")))

    def test_decisions(self):
        for status in ("Decided 2026-11-21. In force.", "Decided 2026-11-21, revised 2026-11-22. Superseded in part by [keeper.md](keeper.md)."):
            self.assertTrue(words.STATUS.match(f"# Title\n\n*{status}*\n\nText"))
        for status in ("Decided lately. In force.", "Decided 2026-11-21. Superseded.", "In force."):
            self.assertFalse(words.STATUS.match(f"# Title\n\n*{status}*\n\nText"))

    def test_subjects(self):
        good = "heap: do not touch unused classes"
        self.assertEqual([], list(words.bad_subjects([good, "tests, lab: share what both need"])))
        long = "heap: " + "x" * 60
        self.assertEqual([long, "Heap is better", "heap: Capital"], list(words.bad_subjects([long, "Heap is better", "heap: Capital"])))


if __name__ == "__main__":
    unittest.main()
