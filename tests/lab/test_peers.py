"""The catalogue of allocators, how they are found, and how those from crates are built. Nothing is downloaded."""

import contextlib
import datetime
import hashlib
import io
import os
import tarfile
import unittest.mock
import zipfile
from dataclasses import replace
from pathlib import Path

from lab_test import ONE_PLACE, LabTest, main
from tslab_lab.allocators import catalogue, crates, installed
from tslab_lab.base import cache, processes
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
SERVES_NOTHING = "int nothing;\n"
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

    def serving(self, name="libown.so"):
        path = self.own / name
        self.compiled(SERVES).rename(path)
        return path


class Catalogue(unittest.TestCase):
    def test_each_has_one_origin(self):
        for name, allocator in catalogue.ALLOCATORS.items():
            self.assertEqual(name, allocator.name)
            self.assertEqual(bool(allocator.package), bool(allocator.file), name)
            self.assertEqual(bool(allocator.crate), bool(allocator.version), name)
            own = name in (catalogue.OURS, catalogue.SYSTEM)
            self.assertEqual([own, bool(allocator.package), bool(allocator.crate)].count(True), 1, name)

    def test_every_crate_is_pinned_and_can_be_built(self):
        pinned = {name: allocator.crate for name, allocator in catalogue.ALLOCATORS.items() if allocator.crate}
        self.assertEqual(set(pinned), set(crates.RECIPES))
        for crate in pinned.values():
            self.assertRegex(crate.sha256, "^[0-9a-f]{64}$")


class Found(PeersTest):
    def test_libraries_by_path(self):
        path = self.serving("libown.so.1.2.3")
        link = self.own / "libown.so"
        link.symlink_to(path)
        here, missing = installed.found([f"mine={os.path.relpath(link)}", "glibc", str(path), "glibc"])
        self.assertEqual((list(here), missing), (["mine", "glibc", "own"], {}))
        mine = here["mine"]
        self.assertEqual((mine.path, mine.version, mine.source), (link, "1.2.3", "named by path"))
        self.assertEqual(mine.sha256, hashlib.sha256(path.read_bytes()).hexdigest())
        self.assertEqual((here["glibc"].path, here["glibc"].sha256), (None, None))
        self.assertRegex(here["glibc"].version, r"^\d+\.\d+$")

    def test_names_that_are_not_known(self):
        with self.refuses(
            "no allocator 'jmalloc'. There are: tslab, glibc, .*, google, all, newest, debian; or NAME=PATH"
        ):
            installed.found(["glibc", "jmalloc"])
        for empty in ([], installed.words(" , ")):
            with self.refuses("names none. There are: tslab, glibc"):
                installed.found(empty)

    def test_words_that_mean_nothing(self):
        for word in ("x=", "=/lib.so", "a b=/lib.so", "../x=/lib.so"):
            with self.refuses("neither a name nor NAME=PATH"):
                installed.found([word])
        with self.refuses("gives no name"):
            installed.found(["/lib/.so"])

    def test_names_that_are_taken(self):
        path = self.serving("libjemalloc.so.2")
        for word in (str(path), f"glibc={path}", f"all={path}"):
            with self.refuses("means another one here. Give .*libjemalloc.so.2 a name"):
                installed.found([word])
        with self.refuses("Two allocators are called b: write one as"):
            installed.found([f"b={path}", f"b={path}"])

    def test_files_that_are_no_libraries(self):
        with self.refuses("^There is no library /nowhere/lib.so.$"):
            installed.found(["x=/nowhere/lib.so"])
        with self.refuses(f"^There is no library {self.own}.$"):
            installed.found([f"x={self.own}"])
        text = self.own / "lib.so"
        text.write_text("INPUT(libc.so)\n")
        with self.refuses("lib.so is no shared library"):
            installed.found([f"x={text}"])
        for character in " :$":
            odd = self.own / f"lib{character}x.so"
            odd.touch()
            with self.refuses("no space, colon or dollar"):
                installed.found([f"x={odd}"])

    def test_what_is_missing_says_how_to_get_it(self):
        self.patched(installed, "_debian_path", lambda file: None)
        here, missing = installed.found(["debian", "mimalloc3"])
        self.assertEqual((list(here), list(missing)), (["glibc"], ["jemalloc", "tcmalloc", "mimalloc", "mimalloc3"]))
        self.assertIn("apt-get install libtcmalloc-minimal4", missing["tcmalloc"])
        self.assertIn("lab peers install mimalloc3", missing["mimalloc3"])
        self.assertFalse(self.cache.exists())

    def test_a_debian_package(self):
        path = self.serving()
        self.patched(installed, "_debian_path", {"libjemalloc.so.2": path}.get)
        self.patched(installed, "_output", lambda argv: "5.3.0-1" if argv[-1] == "libjemalloc2" else "")
        found = installed.found(["jemalloc"])[0]["jemalloc"]
        self.assertEqual((found.path, found.version, found.source), (path, "5.3.0-1", "Debian's libjemalloc2"))

    def test_a_built_one(self):
        path = installed.built_path(catalogue.ALLOCATORS["google"])
        self.assertEqual(path, self.cache / "tslab/peers/google-2025-06-16/libgoogle.so")
        path.parent.mkdir(parents=True)
        self.serving().rename(path)
        found = installed.found(["google"])[0]["google"]
        self.assertEqual((found.path, found.version), (path, "2025-06-16"))
        self.assertEqual(found.source, "crate libtcmalloc-sys 0.1.14")
        self.assertEqual(installed.environment(found)["GLIBC_TUNABLES"], "glibc.pthread.rseq=0")


class Ours(PeersTest):
    def setUp(self):
        super().setUp()
        self.checkout, self.named, self.installed = (self.serving(f"lib{name}.so") for name in ("c", "n", "i"))
        self.patched(drop_in, "BUILT", self.checkout)
        listing = f"2 libs found\n\tlibx.so (libc6) => /x.so\n\tlibtslab-malloc.so (libc6,x86-64) => {self.installed}\n"
        self.patched(drop_in, "_output", lambda argv: listing if argv[-1] == "-p" else "")

    def ours(self, library=None):
        found = installed.found(["tslab"], library)[0]["tslab"]
        return found.path, found.source

    def test_the_nearest_wins(self):
        self.assertEqual(self.ours(), (self.checkout, "the checkout's release build"))
        os.environ[drop_in.VARIABLE] = str(self.named)
        self.assertEqual(self.ours(), (self.named, "TSLAB_LIBRARY"))
        self.assertEqual(self.ours(self.installed), (self.installed, "--library"))

    def test_the_installed_one(self):
        self.checkout.unlink()
        self.assertEqual(self.ours(), (self.installed, "installed"))
        self.patched(drop_in, "BUILT", None)
        self.assertEqual(self.ours(), (self.installed, "installed"))

    def test_none(self):
        self.checkout.unlink()
        self.installed.unlink()
        with self.refuses("There is no library .*libc.so. Run `make build` to build it, or name one with --library"):
            self.ours()
        os.environ[drop_in.VARIABLE] = "/nowhere/lib.so"
        with self.refuses("There is no library /nowhere/lib.so"):
            self.ours()


class Environments(PeersTest):
    def test_what_the_lab_alone_reads_is_taken_out(self):
        os.environ |= {drop_in.VARIABLE: "/x.so", "TSLAB_STATS": "1", "GLIBC_TUNABLES": "glibc.rtld.nns=3"}
        path = self.serving()
        env = installed.environment(installed.found([f"x={path}"])[0]["x"])
        self.assertEqual((env["LD_PRELOAD"], env["TSLAB_STATS"]), (str(path), "1"))
        self.assertFalse({drop_in.VARIABLE, "GLIBC_TUNABLES"} & set(env))
        self.assertNotIn("LD_PRELOAD", installed.environment(installed.found(["glibc"])[0]["glibc"]))

    def test_proof(self):
        good, bad = self.serving(), self.compiled(SERVES_NOTHING)
        here, _ = installed.found([f"good={good}", f"bad={bad}", "glibc"])
        argv = ["/usr/bin/env"]
        self.assertEqual(installed.proven_environment(here["good"], argv, "env")["LD_PRELOAD"], str(good))
        self.assertNotIn("LD_PRELOAD", installed.proven_environment(here["glibc"], argv, "env"))
        with self.refuses("env does not run on .*libbad.so although it is preloaded"):
            installed.proven_environment(here["bad"], argv, "env")


class Cache(PeersTest):
    def test_where_it_is(self):
        self.assertEqual(cache.folder("things"), self.cache / "tslab/things")
        self.assertTrue((self.cache / "tslab/things").is_dir())
        for value in ("", "relative"):
            os.environ["XDG_CACHE_HOME"] = value
            self.assertEqual(cache.root(), self.own / ".cache/tslab")

    def test_where_there_can_be_none(self):
        self.cache.write_text("a file is in its place")
        with self.refuses("cannot be made .*Name another in XDG_CACHE_HOME"):
            cache.folder("peers")


class Build(PeersTest):
    """A crate of a few lines in place of the real ones, with a recipe that compiles it."""

    def setUp(self):
        super().setUp()
        self.fetches = 0
        self.use({"source.c": SERVES})

    def use(self, files, recipe=compile_it, strange=None):
        """Makes the crate of these files, and of a `strange` member of the archive."""
        top = "own-sys-1.0.0"
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w:gz") as tar:
            for name, text in files.items():
                member = tarfile.TarInfo(f"{top}/{name}")
                member.size = len(text)
                tar.addfile(member, io.BytesIO(text.encode()))
            if strange:
                tar.addfile(strange)
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

    def test_what_cannot_be_unpacked(self):
        self.data = b"no archive"
        crate = replace(self.allocator.crate, sha256=hashlib.sha256(self.data).hexdigest())
        self.allocator = replace(self.allocator, crate=crate)
        with self.refuses("cannot be unpacked"):
            self.build()
        self.assertEqual(self.rest(), [])

    def test_files_that_lead_out_of_the_crate(self):
        link = tarfile.TarInfo("own-sys-1.0.0/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc"
        above, other = tarfile.TarInfo("own-sys-1.0.0/../../x"), tarfile.TarInfo("/tmp/x")
        for strange in (link, above, other):
            self.use({"source.c": SERVES}, strange=strange)
            with self.refuses("has a strange file in it"):
                self.build()
            self.assertEqual(self.rest(), [])

    def test_sources_that_do_not_compile(self):
        self.use({"source.c": "this is no C\n"})
        code, output = self.install("own", "own")
        self.assertEqual(code, 1)
        self.assertIn("own: 1.0 ... failed.\n  cc ended with exit code 1. The log is ", output)
        self.assertIn("source.c:1:1: error", output)
        self.assertIn("Not installed: own.", output)
        log = self.cache / "tslab/peers/own-1.0.log"
        self.assertIn(str(log), output)
        self.assertIn("error", log.read_text())
        self.assertEqual(self.rest(), ["lock"])

    def test_an_interrupted_build(self):
        def interrupted(crate, work, log):
            compile_it(crate, work, log)
            raise KeyboardInterrupt

        self.use({"source.c": SERVES}, interrupted)
        output = io.StringIO()
        with self.assertRaises(KeyboardInterrupt), contextlib.redirect_stdout(output):
            peers.install(["own"])
        self.assertIn("interrupted; nothing of it is left", output.getvalue())
        self.assertEqual(self.rest(), ["lock"])

    def test_a_killed_build_is_cleared_away(self):
        rest = cache.folder("peers") / ".making-killed"
        rest.mkdir()
        (rest / "file").touch()
        with crates.only_one():
            self.assertFalse(rest.exists())
            with self.refuses("Another `lab peers install` is at work"), crates.only_one():
                self.fail("two at a time")

    def test_the_others_go_on(self):
        broken = replace(self.allocator, name="broken")
        self.patch(unittest.mock.patch.dict(catalogue.ALLOCATORS, {"broken": broken}))
        self.patch(unittest.mock.patch.dict(crates.RECIPES, {"broken": lambda *_: Path("/nowhere/made.so")}))
        code, output = self.install("broken", "own")
        self.assertEqual(code, 1)
        self.assertRegex(output, r"broken: 1.0 ... failed.\n.*\nown: 1.0 ... installed in \d+ s\nNot installed: broken")
        self.assertEqual(self.rest(), ["lock", "own-1.0"])

    def test_a_library_that_serves_nothing(self):
        self.use({"source.c": SERVES_NOTHING})
        with self.refuses("env does not run on .*although it is preloaded"):
            self.build()
        self.assertEqual(self.rest(), [])

    def test_a_library_that_gives_one_place_twice(self):
        self.use({"source.c": ONE_PLACE % (2500, 3001)})
        with self.refuses("A program with threads gave a wrong result on libown.so"):
            self.build()
        self.assertEqual(self.rest(), [])

    def test_no_compiler(self):
        os.environ["CXX"] = "no-such-compiler --flag"
        with self.refuses("needs no-such-compiler. To install it: apt-get install build-essential cmake"):
            self.build()
        self.assertEqual(self.fetches, 0)

    def test_a_folder_that_cannot_be_preloaded_from(self):
        os.environ["XDG_CACHE_HOME"] = str(self.own / "a cache")
        with self.refuses("Name another folder in XDG_CACHE_HOME"):
            self.build()
        self.assertEqual(self.fetches, 0)

    def test_flags_of_the_caller_do_not_get_in(self):
        os.environ |= {"CFLAGS": "-O0", "MAKEFLAGS": "-j9", "LD_PRELOAD": "/nowhere.so", "CC": "cc"}
        log = self.own / "log"
        crates.step(["/usr/bin/env"], log)
        names = {line.partition("=")[0] for line in log.read_text().splitlines()}
        self.assertFalse({"CFLAGS", "MAKEFLAGS", "LD_PRELOAD"} & names)
        self.assertTrue({"CC", "PATH"} <= names)


class Fetch(PeersTest):
    CRATE = catalogue.Crate("own-sys", "1.0.0+2", hashlib.sha256(b"the crate").hexdigest())

    def setUp(self):
        super().setUp()
        self.patched(crates, "REGISTRY", (self.own / "registry").as_uri())
        self.work = self.own / "work"
        self.work.mkdir()
        self.programs = self.own / "programs"
        self.programs.mkdir()
        os.environ["PATH"] = f"{self.programs}:/usr/bin:/bin"
        self.patched(crates.shutil, "which", lambda name: next(map(str, self.programs.glob(name)), None))

    def publish(self):
        file = self.own / "registry/own-sys/1.0.0+2/download"
        file.parent.mkdir(parents=True)
        file.write_bytes(b"the crate")

    def cargo(self, script):
        file = self.programs / "cargo"
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)

    def fetched(self):
        for way in crates.WAYS:
            with contextlib.suppress(processes.Failure):
                return way(self.CRATE, self.work), way.__name__
        return None

    def test_without_cargo(self):
        self.publish()
        self.assertEqual(self.fetched(), (b"the crate", "by_https"))

    def test_through_cargo(self):
        place = "$HOME/.cargo/registry/cache/somewhere"
        asks = 'grep -q \'^own-sys = { version = "=1.0.0", default-features = false }$\' "$4" || exit 1\n'
        self.cargo(f'{asks}mkdir -p "{place}"\nprintf "the crate" > "{place}/own-sys-1.0.0+2.crate"')
        self.assertEqual(self.fetched(), (b"the crate", "by_cargo"))

    def test_cargo_fails(self):
        self.cargo("echo 'error: no network' >&2; exit 101")
        self.publish()
        self.assertEqual(self.fetched(), (b"the crate", "by_https"))

    def test_nothing_gives_it(self):
        self.cargo("echo 'error: no network' >&2; exit 101")
        first = r"crate own-sys 1.0.0\+2 cannot be fetched. cargo did not fetch it \(error: no network\). "
        with self.refuses(first + "file:.*/own-sys/1.0.0.2/download does not give it"):
            crates.unpacked(self.CRATE, self.work)

    def test_a_wheel(self):
        """Whatever pip brings, the library in it is used only where the checksum is the one that is known."""
        wheel = io.BytesIO()
        with zipfile.ZipFile(wheel, "w") as file:
            file.writestr("own.prefix/lib/libown.so", "the library")
        data = wheel.getvalue()
        brought = self.patched(crates, "by_pip", unittest.mock.Mock(return_value=data, __name__="by_pip"))
        good = catalogue.Crate("own-wheel", "1.0", hashlib.sha256(data).hexdigest(), "wheel")
        folder = crates.unpacked(good, self.work)
        self.assertEqual((folder / "own.prefix/lib/libown.so").read_text(), "the library")
        self.assertEqual(brought.call_count, 1)
        with self.refuses("The wheel own-wheel 1.0 is not the one that was published"):
            crates.unpacked(replace(good, sha256="0" * 64), self.work)


class Debian(PeersTest):
    def install(self, name, user, step):
        library, output = self.serving(), io.StringIO()
        self.there, self.commands = False, []
        self.patched(installed, "_debian_path", lambda file: library if self.there else None)
        self.patched(os, "geteuid", lambda: user)
        self.patched(crates, "step", step)
        with contextlib.redirect_stdout(output):
            code = peers.install([name])
        return code, output.getvalue()

    def apt(self, argv, log):
        self.commands.append(argv)
        self.there = True

    def test_as_root(self):
        code, output = self.install("jemalloc", 0, self.apt)
        self.assertEqual(code, 0)
        self.assertRegex(output, r"^jemalloc: libjemalloc2 ... installed in \d+ s\n$")
        (command,) = self.commands
        self.assertEqual(command[-4:], ["install", "-y", "--no-install-recommends", "libjemalloc2"])

    def test_as_another_user(self):
        code, output = self.install("tcmalloc", 1000, self.apt)
        self.assertEqual((code, self.commands), (1, []))
        self.assertIn("Only root can. Run: sudo apt-get install libtcmalloc-minimal4", output)

    def test_apt_fails(self):
        failure = processes.Failure("env ended with exit code 100.")
        code, output = self.install("mimalloc", 0, unittest.mock.Mock(side_effect=failure))
        self.assertEqual(code, 1)
        self.assertIn("ended with exit code 100.", output)
        self.assertIn("apt-get update", output)


class Command(PeersTest):
    def shown(self, width, library):
        self.environment["COLUMNS"] = str(width)
        done = self.lab("peers", "--library", library)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_the_table(self):
        path = self.serving("libx.so.7.8")
        text = self.shown(200, path)
        rows = [line.split() for line in text.splitlines() if line.strip()]
        self.assertEqual([row[0] for row in rows[2:]], list(catalogue.ALLOCATORS))
        self.assertEqual(rows[2], ["tslab", "7.8", "0", "days", "--library", str(path)])
        self.assertEqual(rows[3][3:], ["years", "the", "system", "(the", "C", "library's", "own)"])
        for row in rows[7:]:
            self.assertEqual((row[1:4], row[-4:]), (["-", "-", "-"], ["lab", "peers", "install", row[0]]))
        self.assertFalse(self.cache.exists(), "looking makes nothing")

    def test_ages(self):
        today = datetime.date.today()
        known = {0: "0 days", 59: "59 days", 200: "6 months", 730: "2.0 years"}
        found = {days: installed.age((today - datetime.timedelta(days)).isoformat()) for days in known}
        self.assertEqual(found, known)
        self.assertEqual(installed.age(""), "")
        days = [installed._libc_released(version) for version in ("2.36", "2.37", "2.35", "2.42", "3.1", "odd")]
        self.assertEqual(days, ["2022-08-01", "2023-02-01", "2022-02-01", "2025-08-01", "", ""])

    def test_a_narrow_terminal(self):
        path = self.serving()
        text = self.shown(80, path)
        self.assertIn(f"\n  {path}\n", text)
        self.assertIn("\n  It is not built yet. To build it: lab peers install jemalloc5\n", text)
        self.assert_narrow(text, max(80, len(str(path)) + 2))


if __name__ == "__main__":
    main()
