"""The order of the lab's folders is the one that its first page says, and the users' command imports nothing of the lab's.
usage: test_structure.py [LIBRARY]"""

import ast
import re
import unittest

import lab_test

PACKAGE = lab_test.LAB / "tslab_lab"
CARD = ast.get_docstring(ast.parse((PACKAGE / "__init__.py").read_text()))
FOLDERS = re.findall(r"^(\w+)  +\S", CARD, re.MULTILINE)


def modules():
    """Every module of a folder, as folder.name, with what it imports of the lab's."""
    for folder in FOLDERS:
        for file in (PACKAGE / folder).glob("*.py"):
            yield f"{folder}.{file.stem}", set(imports(ast.parse(file.read_text())))


def imports(tree):
    """Also those inside of functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("tslab_lab"))
        elif isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").partition(".")[0] == "tslab_lab"):
            yield from (f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names)


def in_folder(name):
    """folder.module of what is imported as tslab_lab.folder.module or tslab_lab.folder.module.name."""
    words = name.split(".")
    return ".".join(words[1:3]) if words[0] == "tslab_lab" and len(words) > 2 else None


class Structure(unittest.TestCase):
    def test_the_card_names_all_folders(self):
        there = sorted(file.parent.name for file in PACKAGE.glob("*/__init__.py"))
        self.assertEqual(sorted(FOLDERS), there)

    def test_no_folder_imports_from_one_below_it(self):
        for name, found in modules():
            folder = name.partition(".")[0]
            for one in map(in_folder, found):
                other = one.partition(".")[0]
                self.assertLessEqual(FOLDERS.index(other), FOLDERS.index(folder), f"{name} imports {one}")
                self.assertFalse(folder == other == "commands", f"{name} imports {one}")

    def test_no_ring_between_modules(self):
        left = {name: set(map(in_folder, found)) for name, found in modules()}
        while left:
            free = [name for name, found in left.items() if not found & left.keys()]
            self.assertTrue(free, f"these import each other: {', '.join(left)}")
            for name in free:
                del left[name]

    def test_the_users_command_imports_nothing_of_the_lab(self):
        for file in (lab_test.ROOT / "tools/tslab_tools").rglob("*.py"):
            self.assertEqual(list(imports(ast.parse(file.read_text()))), [], file)


if __name__ == "__main__":
    lab_test.main()
