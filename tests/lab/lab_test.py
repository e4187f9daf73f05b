"""What the tests of the lab have beside those of the command `tslab`: the lab's own command, a bad library to preload."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "lab"
sys.path[:0] = [str(LAB), str(ROOT / "tests/tslab")]

from tslab_test import TIMEOUT as TIMEOUT  # noqa: E402
from tslab_test import TslabTest  # noqa: E402
from tslab_test import main as main  # noqa: E402

# The source of a library to preload. Sizes from %d up to %d get one place for all objects.
ONE_PLACE = """
#include <stddef.h>
void *__libc_malloc(size_t size);
void __libc_free(void *start);
static _Alignas(16) char place[65536];
void *malloc(size_t size) { return size >= %d && size <= %d ? place : __libc_malloc(size); }
void free(void *start) { if (start != place) __libc_free(start); }
"""


class LabTest(TslabTest):
    def lab_argv(self, *words):
        """Of the command `lab`."""
        return [str(word) for word in (LAB / "lab", *words)]

    def lab(self, *words, **options):
        return self.run_argv(self.lab_argv(*words), **options)
