"""Figures between marks: found in the pages, filled in, and held to them; pages have no others. usage: test_quoted.py LIBRARY"""

import argparse
import contextlib
import io
import re
import tempfile
import tomllib
import unittest
from pathlib import Path

from lab_test import main
from tslab_lab.base import places
from tslab_lab.commands import show
from tslab_lab.results import quoted

CSV = 'table,row,column,value\n"Time, ns",a,tslab,1.50\n"Time, ns",a,glibc,2.00\n"Peak, MiB",a,tslab,30.0\n'
PAGE = "# m\n\nleast in 7 of 32\n\n|  | time / tslab | ns |\n| --- | ---: | ---: |\n| tslab | 1 | 739 |\n| glibc | 1.90 (1.8-2.0) | 3162 |\n| x | 1.15 | 1 |\n| y | 1.52 | 2 |\n"
FIGURE = re.compile(r"\d[\d.,]* ?(?:%|[KMG]iB\b|us\b|ns\b|ms\b)")


def prose(path):
    """A page without what stands between marks, and without output."""
    text = re.sub(r"^```.*?^```", "", quoted.unmarked(path.read_text(encoding="utf-8")), flags=re.DOTALL | re.MULTILINE)
    return "\n".join(line for line in text.split("\n") if not line.startswith("    "))


class Quoted(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "docs/results").mkdir(parents=True)
        (self.root / "docs/results/m.md").write_text(PAGE)
        (self.root / "docs/results/m.csv").write_text(CSV)

    def value(self, mark):
        return quoted.Pages(self.root).value(mark)

    def test_what_a_mark_means(self):
        for mark, value in (
            ("m; glibc; time", "1.90"),
            ("m; others; time", "1.15 to 1.52"),
            ("m; tslab; ns; us", "0.74"),
            ("m; a; tslab", "1.50"),
            ("m; Peak/a; tslab", "30.0"),
            ("m; worst; time", "1.90 (`glibc`)"),
            (r"m; /least in (\d+) of/", "7"),
        ):
            self.assertEqual(self.value(mark), value, mark)

    def test_texts_are_filled_and_held_to_the_pages(self):
        readme = self.root / "README.md"
        readme.write_text("It takes <!--m; glibc; time-->9<!---->, <!--m; a; tslab-->1.50<!---->.\n")
        self.assertEqual(len(list(quoted.wrong(self.root))), 1)
        self.assertEqual(quoted.fill(self.root), [readme])
        self.assertEqual(
            readme.read_text(), "It takes <!--m; glibc; time-->1.90<!---->, <!--m; a; tslab-->1.50<!---->.\n"
        )
        self.assertEqual((list(quoted.wrong(self.root)), quoted.fill(self.root)), ([], []))

    def test_readme_shows_where_its_figures_are_from(self):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            self.assertEqual(show.run(argparse.Namespace(page="README")), 0)
        marks = quoted.MARK.findall((places.ROOT / "README.md").read_text())
        for mark, told in marks:
            self.assertIn(f"{told}  {mark.replace('; ', ': ', 1)}\n", said.getvalue())
        self.assertIn("lab/lab campaign --pieces matrix", said.getvalue())

    def test_readme_and_docs_have_the_figures_of_the_pages(self):
        self.assertEqual(list(quoted.wrong()), [])

    def test_pages_have_no_other_figures(self):
        known = tomllib.loads((Path(__file__).parent / "constants.toml").read_text(encoding="utf-8"))
        pages = {path.stem: path for path in (places.ROOT / "docs").glob("*.md")} | {
            "README": places.ROOT / "README.md",
            "results": places.ROOT / "docs/results/README.md",
        }
        found = {name: set(FIGURE.findall(prose(path))) for name, path in pages.items() if name != "origins"}
        constants = {name: set(known.get(name, {})) for name in found}
        self.assertEqual({name: have - constants[name] for name, have in found.items() if have - constants[name]}, {})
        self.assertEqual({name: no for name, have in found.items() if (no := constants[name] - have)}, {}, "not needed")
        self.assertLessEqual(set(known), set(pages))

    def test_the_table_of_losses_has_each_row_above_a_tenth(self):
        text = (places.ROOT / "docs/results/README.md").read_text(encoding="utf-8")
        told = re.findall(r"^\| `([\w-]+)` \| <!--matrix; \1; tslab / best-->", text, re.MULTILINE)
        times = quoted.Pages(places.ROOT).tables("matrix")["Time per operation, ns"]
        ratios = {
            row: float(cell.split()[0])
            for row, cells in times.items()
            for head, cell in cells.items()
            if "/ best" in head
        }
        self.assertGreater(len(ratios), 30)
        self.assertEqual(set(told), {row for row, ratio in ratios.items() if ratio > 1.1})
        self.assertEqual([ratios[row] for row in told], sorted((ratios[row] for row in told), reverse=True))


if __name__ == "__main__":
    main()
