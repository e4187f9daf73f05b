"""The order of the lab's folders is the one that its first page says, and the users' command imports nothing of the lab's.
usage: test_structure.py [LIBRARY]"""

import ast
import re
import unittest

import lab_test

PACKAGE = lab_test.LAB / "tslab_lab"
FOLDERS = re.findall(r"^(\w+)  +\S", ast.get_docstring(ast.parse((PACKAGE / "__init__.py").read_text())), re.MULTILINE)


def imports(file):
    """folder.module of what a file imports of the lab's, also inside of functions."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tslab_lab"):
            yield from (".".join(f"{node.module}.{alias.name}".split(".")[1:3]) for alias in node.names)


class Structure(unittest.TestCase):
    def test_the_card_names_all_folders(self):
        self.assertEqual(sorted(FOLDERS), sorted(file.parent.name for file in PACKAGE.glob("*/__init__.py")))

    def test_no_folder_imports_from_one_below_it_and_no_modules_each_other(self):
        left = {}
        for file in PACKAGE.glob("*/*.py"):
            folder, found = file.parent.name, set(imports(file))
            left[f"{folder}.{file.stem}"] = found
            for other in (one.partition(".")[0] for one in found):
                self.assertLessEqual(FOLDERS.index(other), FOLDERS.index(folder), f"{file} imports {other}")
                self.assertFalse(folder == other == "commands", file)
        while left:
            free = [name for name, found in left.items() if not found & left.keys()]
            self.assertTrue(free, f"these import each other: {', '.join(left)}")
            left = {name: found for name, found in left.items() if name not in free}

    def test_the_users_command_imports_nothing_of_the_lab(self):
        for file in (lab_test.ROOT / "tools/tslab_tools").rglob("*.py"):
            self.assertEqual(list(imports(file)), [], file)


if __name__ == "__main__":
    lab_test.main()
