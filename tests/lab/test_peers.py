"""The catalogue of allocators, how they are found, and how those from crates are built. Nothing is downloaded."""

import contextlib
import hashlib
import io
import os
import tarfile
import unittest.mock

from lab_test import ONE_PLACE, LabTest, main
from tslab_lab.allocators import catalogue, crates, installed
from tslab_lab.base import processes
from tslab_lab.commands import peers
from tslab_tools import drop_in

SERVES = """
#include <stddef.h>
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *start, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *start);
void *malloc(size_t size) { return __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return __libc_calloc(count, size); }
void *realloc(void *start, size_t size) { return __libc_realloc(start, size); }
void *aligned_alloc(size_t alignment, size_t size) { return __libc_memalign(alignment, size); }
void free(void *start) { __libc_free(start); }
"""
COMPILE = ["cc", "-shared", "-fPIC", "-w", "-O1", "-fno-builtin"]


def compile_it(crate, work, log):
    """What a recipe does, at its smallest."""
    made = work / "made.so"
    crates.step([*COMPILE, "-o", made, crate / "source.c"], log)
    return made


class PeersTest(LabTest):
    """With a cache folder of its own, and a home that has no cargo in it."""

    def setUp(self):
        super().setUp()
        self.cache = self.own / "cache"
        self.environment |= {"XDG_CACHE_HOME": str(self.cache), "HOME": str(self.own)}
        self.patch(unittest.mock.patch.dict(os.environ, self.environment, clear=True))
        os.environ.pop(drop_in.VARIABLE, None)
        os.environ.pop("CARGO_HOME", None)

    def patch(self, patcher):
        self.addCleanup(patcher.stop)
        return patcher.start()

    def patched(self, owner, name, value):
        return self.patch(unittest.mock.patch.object(owner, name, value))

    def refuses(self, pattern):
        return self.assertRaisesRegex(processes.Failure, pattern)


class Catalogue(unittest.TestCase):
    def test_each_has_one_origin(self):
        for name, allocator in catalogue.ALLOCATORS.items():
            self.assertEqual(name, allocator.name)
            self.assertEqual(bool(allocator.package), bool(allocator.file), name)
            self.assertEqual(bool(allocator.crate), bool(allocator.version), name)
            own = name in (catalogue.OURS, catalogue.SYSTEM)
            self.assertEqual([own, bool(allocator.package), bool(allocator.crate)].count(True), 1, name)

    def test_every_crate_is_pinned_dated_and_can_be_built(self):
        pinned = {name: allocator for name, allocator in catalogue.ALLOCATORS.items() if allocator.crate}
        self.assertEqual(set(pinned), set(crates.RECIPES))
        for allocator in pinned.values():
            self.assertRegex(allocator.crate.sha256, "^[0-9a-f]{64}$")
            self.assertRegex(allocator.released, r"^20\d\d-\d\d-\d\d$")


class Build(PeersTest):
    """A crate of a few lines in place of the real ones, with a recipe that compiles it."""

    def setUp(self):
        super().setUp()
        self.fetches = 0
        self.use({"source.c": SERVES})

    def use(self, files, recipe=compile_it):
        """Makes the crate of these files."""
        top = "own-sys-1.0.0"
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w:gz") as tar:
            for name, text in files.items():
                member = tarfile.TarInfo(f"{top}/{name}")
                member.size = len(text)
                tar.addfile(member, io.BytesIO(text.encode()))
        self.data = data.getvalue()
        crate = catalogue.Crate("own-sys", "1.0.0", hashlib.sha256(self.data).hexdigest())
        self.allocator = catalogue.Allocator("own", "own", crate=crate, version="1.0")
        self.patch(unittest.mock.patch.dict(catalogue.ALLOCATORS, {"own": self.allocator}))
        self.patch(unittest.mock.patch.dict(crates.RECIPES, {"own": recipe}))
        self.patched(crates, "WAYS", (self.fetch,))

    def fetch(self, crate, work):
        self.assertEqual(crate.name, "own-sys")
        self.fetches += 1
        return self.data

    def build(self):
        return crates.build(self.allocator)

    def rest(self):
        """What is in the folder but the logs."""
        return sorted(path.name for path in (self.cache / "tslab/peers").iterdir() if path.suffix != ".log")

    def install(self, *names):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            code = peers.install(list(names))
        return code, output.getvalue()

    def test_it_is_put_in_place_and_built_once(self):
        self.assertEqual(self.install("own")[0], 0)
        path = self.cache / "tslab/peers/own-1.0/libown.so"
        self.assertEqual(self.rest(), ["lock", "own-1.0"])
        self.assertEqual([file.name for file in path.parent.iterdir()], ["libown.so"])
        self.assertEqual(installed.found(["own"])[0]["own"].path, path)
        self.assertIn("$ cc -shared", (self.cache / "tslab/peers/own-1.0.log").read_text())
        before = path.stat()
        self.assertEqual(self.install("own"), (0, "own: is here\n"))
        self.assertEqual((self.fetches, path.stat().st_mtime_ns), (1, before.st_mtime_ns))

    def test_another_checksum(self):
        self.data += b"\n"
        with self.refuses("not the one that was published: its sha256 is .*Nothing of it was used"):
            self.build()
        self.assertEqual(self.rest(), [])

    def test_a_library_that_gives_one_place_twice(self):
        self.use({"source.c": ONE_PLACE % (2500, 3001)})
        with self.refuses("A program with threads gave a wrong result on libown.so"):
            self.build()
        self.assertEqual(self.rest(), [])


if __name__ == "__main__":
    main()
