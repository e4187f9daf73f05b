"""The rules of the house find what breaks them."""

import pathlib
import tempfile
import unittest

import budgets
import house
import layers

CARD = "/* A card. */\n"


class Layers(unittest.TestCase):
    def complaints(self, order, includes):
        return list(house.layer_complaints(order, includes))

    def test_downward_is_right(self):
        self.assertEqual([], self.complaints(["low", "high"], {"low/a": set(), "high/a": {"low/a", "high/a", "high/b"}, "high/b": set()}))

    def test_upward(self):
        found = self.complaints(["low", "high"], {"low/a": {"high/a"}, "high/a": set()})
        self.assertEqual(1, len(found))
        self.assertIn("low/a includes high/a", found[0])

    def test_ring(self):
        found = self.complaints(["a"], {"a/x": {"a/y"}, "a/y": {"a/z"}, "a/z": {"a/x"}})
        self.assertEqual(1, len(found))
        self.assertIn("in a ring", found[0])

    def test_unlisted_gone_and_twice(self):
        found = self.complaints(["a", "a", "gone"], {"a/x": set(), "new/x": set()})
        self.assertEqual(3, len(found))

    def test_files_come_in_order(self):
        includes = {"high/a": {"high/z", "low/a"}, "high/z": set(), "low/a": {"low/b"}, "low/b": set()}
        pairs = layers.pairs_in_order(["low", "high"], includes)
        self.assertEqual(["low/b", "low/a", "high/z", "high/a"], pairs)


class Files(unittest.TestCase):
    def test_card(self):
        self.assertEqual([], list(house.file_complaints("space/x.c", CARD)))
        self.assertIn("no card", "".join(house.file_complaints("space/x.c", "#include <x.h>\n")))

    def test_orders(self):
        text = CARD + "int x = memory_order_relaxed;\n"
        self.assertIn("memory order", "".join(house.file_complaints("space/x.c", text)))
        self.assertEqual([], list(house.file_complaints("base/atomic.h", text)))

    def test_length_of_files(self):
        self.assertEqual([], list(house.file_complaints("space/x.c", CARD + "\n" * (house.FILE_LINES - 1))))
        self.assertIn("two files", "".join(house.file_complaints("space/x.c", CARD + "\n" * house.FILE_LINES)))

    def test_length_of_functions(self):
        def function(lines):
            return CARD + "static int f(int a,\n             int b)\n{\n" + "    g();\n" * (lines - 4) + "}\n"

        self.assertEqual([("f", 60)], list(house.function_lengths(function(60))))
        self.assertEqual([], list(house.file_complaints("space/x.c", function(60))))
        self.assertIn("two functions", "".join(house.file_complaints("space/x.c", function(61))))


class Tree(unittest.TestCase):
    def complaints(self, card="| `x` | what it is |\n"):
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            (root / "space").mkdir()
            (root / "space" / "README.md").write_text(card)
            (root / "LAYERS").write_text("# words\n\nspace    what it is\n")
            (root / "space" / "x.h").write_text(CARD)
            (root / "space" / "x.c").write_text(CARD + '#include "space/x.h"\n')
            return list(house.complaints(root))

    def test_cards_name_each_file_once(self):
        row = "| `x` | what it is |\n"
        self.assertEqual([], self.complaints())
        self.assertIn("0 rows for `x`", self.complaints("")[0])
        self.assertIn("2 rows for `x`", self.complaints(row + row)[0])
        self.assertIn("rows for `gone`", self.complaints(row + "| `gone` | nothing |\n")[0])


class Budgets(unittest.TestCase):
    BUDGETS = {"lines of src": (1000.0, ""), "density of assertions": (30.0, "")}

    def complaints(self, lines, density):
        return list(budgets.complaints(self.BUDGETS, {"lines of src": lines, "density of assertions": density}))

    def test_within(self):
        self.assertEqual([], self.complaints(1000, 30.0))
        self.assertEqual([], self.complaints(985, 31.0))

    def test_more(self):
        self.assertIn("more than the 1000", self.complaints(1001, 30.0)[0])
        self.assertIn("at least 30", self.complaints(1000, 29.9)[0])

    def test_less_is_written_down(self):
        self.assertIn("lower it", self.complaints(900, 30.0)[0])
        written = budgets.read(budgets.written({"lines of src": (1000.0, "asked for")}, {"lines of src": 900}))
        self.assertEqual({"lines of src": (900.0, "asked for")}, written)

    def test_a_figure_without_budget(self):
        self.assertIn("lines of docs", list(budgets.complaints({}, {"lines of docs": 1}))[0])

    def test_nouns(self):
        self.assertEqual(2, budgets.nouns("| file |\n|---|\n| `a` |\n\n| noun | what |\n|---|---|\n| a | b |\n| c | d |\n\nText.\n"))


if __name__ == "__main__":
    unittest.main()
