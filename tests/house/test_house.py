"""The rules of the house find what breaks them."""

import pathlib
import tempfile
import unittest

import house

CARD = "/* A card. */\n"


class Layers(unittest.TestCase):
    def complaints(self, order, includes):
        return list(house.layer_complaints(order, includes))

    def test_downward_is_right(self):
        self.assertEqual([], self.complaints(["a/low", "a/high"], {"a/low": set(), "a/high": {"a/low", "a/high"}}))

    def test_upward(self):
        found = self.complaints(["a/low", "a/high"], {"a/low": {"a/high"}, "a/high": set()})
        self.assertEqual(1, len(found))
        self.assertIn("a/low includes a/high", found[0])

    def test_ring(self):
        self.assertEqual(1, len(self.complaints(["a/x", "a/y"], {"a/x": {"a/y"}, "a/y": {"a/x"}})))

    def test_unlisted_gone_and_twice(self):
        found = self.complaints(["a/x", "a/x", "a/gone"], {"a/x": set(), "a/new": set()})
        self.assertEqual(3, len(found))


class Files(unittest.TestCase):
    def test_card(self):
        self.assertEqual([], list(house.file_complaints("core/x.c", CARD)))
        self.assertIn("no card", "".join(house.file_complaints("core/x.c", "#include <x.h>\n")))

    def test_orders(self):
        text = CARD + "int x = memory_order_relaxed;\n"
        self.assertIn("memory order", "".join(house.file_complaints("core/x.c", text)))
        self.assertEqual([], list(house.file_complaints("base/atomic.h", text)))

    def test_length_of_files(self):
        self.assertEqual([], list(house.file_complaints("core/x.c", CARD + "\n" * (house.FILE_LINES - 1))))
        self.assertIn("two files", "".join(house.file_complaints("core/x.c", CARD + "\n" * house.FILE_LINES)))

    def test_length_of_functions(self):
        def function(lines):
            return CARD + "static int f(int a,\n             int b)\n{\n" + "    g();\n" * (lines - 4) + "}\n"

        self.assertEqual([("f", 60)], list(house.function_lengths(function(60))))
        self.assertEqual([], list(house.file_complaints("core/x.c", function(60))))
        self.assertIn("two functions", "".join(house.file_complaints("core/x.c", function(61))))


class Tree(unittest.TestCase):
    def complaints(self, assertions, recorded):
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            (root / "core").mkdir()
            (root / "LAYERS").write_text("# words\n\ncore/x    what it is\n")
            (root / "core" / "x.h").write_text(CARD + "\n" * 49)
            (root / "core" / "x.c").write_text(CARD + '#include "core/x.h"\n' + "    invariant(1);\n" * assertions + "\n" * (48 - assertions))
            return list(house.complaints(root, recorded))

    def test_enough(self):
        self.assertEqual([], self.complaints(2, 15.0))

    def test_too_few(self):
        self.assertIn("10.0 assertions", self.complaints(1, 15.0)[0])

    def test_fewer_than_on_record(self):
        self.assertIn("at least 25.0", self.complaints(2, 25.0)[0])


if __name__ == "__main__":
    unittest.main()
