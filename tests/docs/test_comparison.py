"""What tools/comparison.py is to find in the cells of docs/comparison.toml, it finds. usage: test_comparison.py TOOLS"""

import datetime
import sys
import unittest

sys.path.insert(0, sys.argv.pop(1))
import comparison  # noqa: E402

TODAY = datetime.date(2026, 11, 28)
CELL = {"is": "yes", "source": "README", "checked": TODAY}
MATRIX = "| system | Linux 6.18, glibc 2.36, THP madvise |\n| peers | one 1.0 (2026-01-02), two 3 |\n"


def data(**changes):
    """A table of two columns and one of one, with the cell of `a` in the first changed."""
    cell = {name: value for name, value in (CELL | changes).items() if value is not None}
    return {
        "peers": {"tslab": {"title": "tslab", "read": "-"}, "a": {"title": "A", "read": "a 1.0"}, "b": {"title": "B", "read": "b"}},
        "tables": {"general": ["tslab", "a"], "large": ["tslab", "b"]},
        "ages": dict.fromkeys(("glibc", "one", "two"), CELL),
        "general": {"fast": {"tslab": CELL, "a": cell}},
        "large": {"fast": {"b": CELL}},
    }  # fmt: skip


class Comparison(unittest.TestCase):
    def found(self, **changes):
        return list(comparison.complaints(data(**changes), TODAY))

    def test_a_cell_has_value_source_and_day(self):
        self.assertEqual(self.found(), [])
        for changes in ({"source": " "}, {"source": None}, {"is": None}, {"checked": None}):
            self.assertEqual(len(self.found(**changes)), 1, changes)

    def test_a_cell_grows_old(self):
        for days, wrong in ((comparison.DAYS_MOST, 0), (comparison.DAYS_MOST + 1, 1), (-1, 1)):
            self.assertEqual(len(self.found(checked=TODAY - datetime.timedelta(days))), wrong, days)

    def test_a_row_has_all_columns_and_no_other(self):
        for table, peer in (("general", "a"), ("large", "b")):
            some = data()
            some[table]["fast"]["c"] = some[table]["fast"].pop(peer)
            self.assertEqual(len(list(comparison.complaints(some, TODAY))), 2)

    def test_the_page(self):
        places = "".join(comparison.BEGIN.format(name) + comparison.END for name in ("general", "large", "ages", "sources"))
        text = comparison.page(places, data(), MATRIX)
        for row in ("| fast | yes | yes |", "| | tslab | B |", "| glibc | 2.36 | yes |", "| one | 1.0 (2026-01-02) | yes |", "| A | a 1.0 |"):
            self.assertIn(row, text)
        self.assertEqual(comparison.page(text, data(), MATRIX), text)
        with self.assertRaises(AssertionError):
            comparison.page("", data(), MATRIX)


if __name__ == "__main__":
    unittest.main()
