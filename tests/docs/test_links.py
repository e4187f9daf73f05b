"""links.py finds what it is for. usage: test_links.py"""

import pathlib
import tempfile
import unittest

import links


class Links(unittest.TestCase):
    def complaints(self, **pages):
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            for page, text in ({"README": "# One\n[a](docs/a.md)\n", "a": "# A\n"} | pages).items():
                path = root / "README.md" if page == "README" else root / "docs" / f"{page}.md"
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
            return list(links.complaints(root))

    def test_what_is_right_passes(self):
        text = "# A\n\n## Where it goes: `to_here`, again\n\n## Twice\n\n## Twice\n[x](#where-it-goes-to_here-again) [y](#twice-1) [z](../README.md#one)\n"
        self.assertEqual(self.complaints(a=text), [])

    def test_a_link_that_leads_nowhere_is_found(self):
        self.assertEqual(self.complaints(a="# A\n[x](b.md)\n"), ["docs/a.md: b.md is not there"])
        self.assertEqual(self.complaints(a="# A\n[![picture](p.svg)](../README.md)\n"), ["docs/a.md: p.svg is not there"])

    def test_an_anchor_that_leads_nowhere_is_found(self):
        self.assertEqual(self.complaints(a="# A\n[x](#b)\n"), ["docs/a.md: #b: there is no such heading"])
        self.assertEqual(self.complaints(a="# A\n[x](../README.md#two)\n"), ["docs/a.md: ../README.md#two: there is no such heading"])

    def test_a_page_that_nobody_links_to_is_found(self):
        self.assertEqual(self.complaints(b="# B\n[itself](b.md)\n"), ["docs/b.md: no page links to it"])

    def test_code_has_no_links(self):
        text = "# A\n\n```\n[x](b.md)\n# No heading\n```\n\n    [y](c.md)\n\n`[z](d.md)`\n"
        self.assertEqual(self.complaints(a=text), [])
        self.assertNotIn("no-heading", set(links.anchors(text)))


if __name__ == "__main__":
    unittest.main()
