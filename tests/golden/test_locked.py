"""The table of locked operations is read as it is written, and what differs from it is found."""

import unittest

import locked

OUTPUT = "a: pair of 1-2 KiB\t1000\t2000\t10\tgate 250\tlist 500\tdepot 4\nb\t10\t0\t0\n"


class Table(unittest.TestCase):
    def setUp(self):
        self.rows = locked.figures_of(OUTPUT)

    def found(self, operation, **figures):
        changed = self.rows | {operation: self.rows[operation] | figures}
        return list(locked.differences(self.rows, changed))

    def test_figures_are_those_of_one_operation(self):
        expected = {"locked": 2.0, "stores": 0.01, "gate": 0.25, "shared": 0.504, "list": 0.5, "depot": 0.004}
        self.assertEqual(expected, self.rows["a: pair of 1-2 KiB"])
        self.assertEqual({"locked": 0.0, "stores": 0.0, "gate": 0.0, "shared": 0.0}, self.rows["b"])

    def test_read_as_written(self):
        self.assertEqual(self.rows, locked.read_table(locked.table_of(self.rows)))

    def test_the_same(self):
        self.assertEqual([], self.found("b"))

    def test_a_little(self):
        for figures in ({"locked": 2.2}, {"locked": 1.8}, {"depot": 0.0}, {"depot": 0.009}, {"meta": 0.005}):
            [(_, fails)] = self.found("a: pair of 1-2 KiB", **figures)
            self.assertFalse(fails, figures)

    def test_more(self):
        for figures in ({"locked": 2.201}, {"stores": 0.016}, {"list": 0.551}, {"meta": 0.006}):
            [(sentence, fails)] = self.found("a: pair of 1-2 KiB", **figures)
            self.assertTrue(fails, figures)
            self.assertIn("more than allowed", sentence)

    def test_less(self):
        for figures in ({"locked": 1.799}, {"stores": 0.004}, {"list": 0.0}):
            [(sentence, fails)] = self.found("a: pair of 1-2 KiB", **figures)
            self.assertTrue(fails, figures)
            self.assertIn("write the table", sentence)

    def test_operations_that_only_one_side_has(self):
        more = self.rows | {"c": self.rows["b"]}
        for sides in ((self.rows, more), (more, self.rows)):
            [(_, fails)] = locked.differences(*sides)
            self.assertTrue(fails)


unittest.main()
