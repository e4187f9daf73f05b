"""Every way to skip a test is seen, and each that is allowed has a reason.
usage: test_skipped.py CTEST"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import skipped

CTEST = sys.argv.pop(1)
TESTS = """
add_test(whole sh -c "echo 'SKIP: no kernel'; exit 77")
add_test(silent sh -c "exit 77")
set_tests_properties(whole silent PROPERTIES SKIP_RETURN_CODE 77)
add_test(python sh -c "echo 'SKIP: test_a: no redis'; echo 'OK (skipped=1)' >&2")
add_test(other sh -c "echo 'OK (skipped=2)' >&2")
add_test(cmocka sh -c "printf '[  SKIPPED ] locks\\n[  SKIPPED ] 1 test(s), listed below:\\n[  SKIPPED ] locks\\n'")
add_test(off true)
set_tests_properties(off PROPERTIES DISABLED TRUE)
add_test(well sh -c "echo 'no test was skipped'")
add_test(long sh -c "yes | head -c 200000; echo 'SKIP: at its end'")
add_test(gone /nowhere)
"""
FOUND = [
    "whole: no kernel", "silent: (notrun)", "python: test_a: no redis", "other: skipped=2", "cmocka: locks", "off: (disabled)",
    "long: at its end", "gone: (notrun)",
]  # fmt: skip


class Skipped(unittest.TestCase):
    def junit(self):
        with tempfile.TemporaryDirectory(prefix="tslab-test-") as folder:
            (pathlib.Path(folder) / "CTestTestfile.cmake").write_text(TESTS)
            makefile = pathlib.Path(__file__).resolve().parents[1] / "Makefile"
            (line,) = [line for line in makefile.read_text().splitlines() if line.startswith("CTEST := ")]
            words = line.split()[5:]  # CTEST := ctest -j $(JOBS)
            subprocess.run([CTEST, *words], cwd=folder, capture_output=True, check=False)
            return (pathlib.Path(folder) / words[words.index("--output-junit") + 1]).read_text()

    def test_each_way(self):
        text = self.junit()
        self.assertEqual(sorted(skipped.skips(text)), sorted(FOUND))
        self.assertEqual(sorted(skipped.complaints([text], ["whole: .*", "off.*", "pyth"])), sorted(set(FOUND) - {FOUND[0], FOUND[5]}))

    def test_the_list(self):
        self.assertGreater(len(skipped.allowed(skipped.LIST.read_text())), 0)
        self.assertRaises(ValueError, skipped.allowed, "unit-lock: .*\n")


if __name__ == "__main__":
    unittest.main()
