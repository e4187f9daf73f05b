"""`lab variants`: its questions, its tables from figures that are known, and what it refuses. usage: test_variants.py LIBRARY"""

import subprocess
import unittest

from lab_test import ROOT, main
from tslab_lab.allocators import variants
from tslab_lab.commands import variants as command
from tslab_lab.measure import case_runner


class Questions(unittest.TestCase):
    def test_each_patch_fits_the_sources(self):
        patches = {path.stem for path in variants.PATCHES.glob("*.patch")}
        every = [variants.DEFERRED, *(one for question in command.QUESTIONS.values() for one in question.variants)]
        self.assertEqual({variant.patch for variant in every if variant.patch}, patches)
        for name in patches:
            argv = ["patch", "--dry-run", "-d", ROOT, "-p1", "-s", "-f", "-i", variants.PATCHES / f"{name}.patch"]
            done = subprocess.run(argv, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (0, ""), name)

    def test_the_workloads_are_there_and_differ(self):
        for question in command.QUESTIONS.values():
            cases = case_runner.select(question.workloads)
            self.assertEqual(len(cases), len(question.workloads))

    def test_the_counted_operations_are_there(self):
        table = (ROOT / "tests/golden/locked.txt").read_text().splitlines()
        for question in command.QUESTIONS.values():
            for beginning in question.counted:
                self.assertTrue(any(line.startswith(beginning) for line in table), beginning)


if __name__ == "__main__":
    main()
