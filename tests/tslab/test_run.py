"""`tslab run` and tslab-run: the program in its place, tslab's options as flags, and what cannot be preloaded.
usage: test_run.py LIBRARY"""

import json
import os
import shutil
import signal
import stat
import subprocess
import unittest.mock
from pathlib import Path

from tslab_test import TIMEOUT, TOOLS, TslabTest, main
from tslab_tools import preloading
from tslab_tools.failure import Failure

STATIC = "int main(void) { return 0; }"


class Options(TslabTest):
    def run_with(self, *words):
        return self.tslab("run", "--library", self.library, *words, "--", "echo", "ran")

    def test_the_library_is_asked_before_the_program_starts(self):
        for flag, value, why in (
            ("--limit-bytes", "2000T", "not a number like 64 or 64M in its range (0 to 1024T bytes)"),
            ("--retain-bytes", "2T", "not a number like 64 or 64M in its range (0 to 1T bytes)"),
            ("--retain-bytes", "1.5M", "not a number like 64 or 64M in its range"),
            ("--retain-bytes", "", "not a number like 64 or 64M in its range"),
            ("--keeper", "3", "not a number like 64 or 64M in its range (0 to 2)"),
            ("--export", "2", "not a number like 64 or 64M in its range (0 to 1)"),
            ("--purge", "soon", "unknown value (adaptive, eager"),
            ("--epoch-policy", "batch-0", "unknown value (never, per-request"),
            ("--epoch-limits", "a=1K", "not a list of limits (LABEL=BYTES"),
            ("--stats-signal", "KILL", "not a usable signal (USR1 USR2"),
            ("--stats", "3", "not a number, and a file (FORM[,FILE]"),
            ("--profile", "x" * 300, "not a number, and a file (BYTES[,FILE]"),
        ):
            with self.subTest(flag=flag, value=value):
                done = self.run_with(flag, value)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(f"tslab run: error: {flag} {value!r}: {why}", done.stderr)
        self.assertEqual(list(self.own.iterdir()), [self.temporary])

    def test_what_the_library_takes_holds(self):
        words = ("--epoch-limits", "a b=1M:c=16K", "--stats-signal", "SIGWINCH", "--epoch-policy", "interval-100")
        done = self.run_with(*words, "--limit-bytes", "64m", "--stats")
        self.assertEqual((done.returncode, done.stdout), (0, "ran\n"), done.stderr)
        for option in ("limit_bytes=67108864", "epoch_policy=interval-100", "stats_signal=WINCH"):
            self.assertIn(option, done.stderr)

    def test_asking_leaves_no_trace(self):
        """The files that options name are the program's alone, and a small limit is no matter."""
        done = self.run_with("--stats=2,stats.%n", "--profile=1,heap.%n", "--stats-signal=URG")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "ran\n", ""))
        reports = [json.loads(line) for path in self.own.glob("stats.*") for line in path.read_text().splitlines()]
        self.assertEqual([report["program"] for report in reports], ["echo"])
        self.assertEqual(len(list(self.own.glob("heap.*"))), 1)
        done = self.run_with("--limit-bytes=1", "--keeper=9")
        self.assertIn("--keeper '9'", done.stderr)

    def test_a_profile_without_a_file_gets_one(self):
        program = ("/usr/bin/python3", "-c", "print('ran')")
        for words in (["--profile"], ["--profile", "64K"]):
            done = self.tslab("run", "--library", self.library, *words, "--", *program)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "ran\n", ""))
            (path,) = self.own.glob("python3*.heap")
            self.assertRegex(path.name, r"^python3[.\d]*\.\d+\.heap$")
            self.assertTrue(path.read_text().startswith("tslab-profile 1\n"))
            path.unlink()
        for value, wanted in (("0", "0"), ("1,x", "1,x"), ("1,", "1,%e.%p.heap")):
            done = self.tslab("run", "--library", self.library, "--env", "--profile", value)
            self.assertIn(f"TSLAB_PROFILE={wanted}\n", done.stdout)

    def test_without_a_program_to_ask_in(self):
        """The library says it then, in the program."""
        environment = self.environment | {"PATH": str(self.own)}
        words = ("run", "--library", self.library, "--keeper=3", "--", "/bin/echo", "ran")
        done = self.tslab(*words, env=environment)
        self.assertEqual((done.returncode, done.stdout), (0, "ran\n"))
        self.assertEqual(
            done.stderr, "tslab: TSLAB_KEEPER=3: not a number like 64 or 64M in its range (0 to 2); ignored\n"
        )

    def test_a_library_that_is_not_tslabs(self):
        linked = self.own / "libtslab.so.0.3"
        linked.symlink_to(self.library)
        for library, why in (
            (linked, "is for programs that are linked with it. To preload: libtslab-malloc.so, beside it."),
            ("/usr/bin/true", "is no library of tslab's that can be preloaded: cannot dynamically load"),
            (self.compiled("int nothing;"), "is no library of tslab's that can be preloaded."),
        ):
            done = self.tslab("run", "--library", library, "--", "echo", "ran")
            self.assertEqual((done.returncode, done.stdout), (126, ""), library)
            self.assertIn(f"tslab: {library} {why}", done.stderr)


class InItsPlace(TslabTest):
    def run_on_tslab(self, *words, **options):
        return self.tslab("run", "--library", self.library, *words, **options)

    def test_statistics_and_the_programs_own_output(self):
        done = self.run_on_tslab("--stats=2", "--", "/usr/bin/python3", "-c", "print('out'); exit(7)")
        self.assertEqual((done.returncode, done.stdout), (7, "out\n"))
        self.assertEqual(json.loads(done.stderr.splitlines()[-1])["schema"], "tslab-statistics")
        done = self.run_on_tslab("--stats", "--", "true")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn("slab_bytes", done.stderr)

    def test_words_and_environment_arrive_as_they_are(self):
        script = "import os, sys, json; print(json.dumps([sys.argv[1:], os.environ['LD_PRELOAD'], dict(os.environ)]))"
        words = ["--stats", "--", "a b", "", "$x"]
        env = self.environment | {"LD_PRELOAD": "libdl.so.2", "TSLAB_OPTIONS": "retain_bytes=1M,magazines=0"}
        done = self.run_on_tslab("--retain-bytes", "2M", "--", "/usr/bin/python3", "-c", script, *words, env=env)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        arguments, preload, environment = json.loads(done.stdout)
        self.assertEqual(arguments, words)
        self.assertEqual(preload, f"{self.library}:libdl.so.2")
        names = list(environment)
        self.assertLess(names.index("TSLAB_OPTIONS"), names.index("TSLAB_RETAIN_BYTES"))
        self.assertEqual(environment["TSLAB_RETAIN_BYTES"], "2M")

    def test_an_option_wins_over_the_environments_list(self):
        env = self.environment | {"TSLAB_RETAIN_BYTES": "3M", "TSLAB_OPTIONS": "retain_bytes=4M"}
        done = self.run_on_tslab("--retain-bytes", "2M", "--stats", "--", "true", env=env)
        self.assertRegex(done.stderr, rf"retain_bytes={2 << 20}\b")

    def test_nothing_is_left_between_the_program_and_its_parent(self):
        with subprocess.Popen(
            self.argv("run", "--library", self.library, "--", "sh", "-c", "echo $$; exec sleep 60"),
            stdout=subprocess.PIPE,
            text=True,
            env=self.environment,
            cwd=self.own,
        ) as process:
            self.assertEqual(int(process.stdout.readline()), process.pid)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(TIMEOUT), -signal.SIGTERM)

    def test_signals_are_as_a_program_expects_them(self):
        argv = ("grep", "SigIgn", "/proc/self/status")
        done = self.run_on_tslab("--", *argv)
        self.assertEqual(done.stdout, self.run_argv(argv).stdout)

    def test_scripts_run(self):
        script = self.own / "script"
        script.write_text("#!/bin/sh\necho $LD_PRELOAD\n")
        script.chmod(0o755)
        self.assertEqual(self.run_on_tslab("--", "./script").stdout.strip(), self.library)

    def test_the_environment_alone(self):
        done = self.run_on_tslab("--env", "--stats", "--epoch-policy", "batch-64", "--keeper=0")
        lines = [f"LD_PRELOAD={self.library}", "TSLAB_EPOCH_POLICY=batch-64", "TSLAB_KEEPER=0", "TSLAB_STATS=1"]
        self.assertEqual((done.returncode, done.stdout.splitlines(), done.stderr), (0, lines, ""))


class Checked(TslabTest):
    """Folders with links to the library that is tested, by the names of an installation."""

    def folder(self, *names):
        place = self.own / "lib"
        place.mkdir(exist_ok=True)
        for name in names:
            (place / name).symlink_to(self.library)
        return place

    def preloaded(self, library):
        done = self.tslab("run", "--checked", "--library", library, "--env")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.strip().removeprefix("LD_PRELOAD=")

    def test_the_twin_lies_beside_the_library(self):
        place = self.folder("libtslab-malloc.so", "libtslab-malloc-checked.so")
        checked = str(place / "libtslab-malloc-checked.so")
        self.assertEqual(self.preloaded(place / "libtslab-malloc.so"), checked)
        self.assertEqual(self.preloaded(checked), checked)
        place = self.folder("libtslab-malloc.so.0.3", "libtslab-malloc-checked.so.0.3")
        self.assertEqual(self.preloaded(place / "libtslab-malloc.so.0.3"), f"{checked}.0.3")

    def test_there_is_none(self):
        place = self.folder("libtslab-malloc.so", "libours.so")
        for name, code, why in (
            ("libtslab-malloc.so", 127, f"There is no library {place}/libtslab-malloc-checked.so."),
            ("libours.so", 126, "name it with --library"),
        ):
            done = self.tslab("run", "--checked", "--library", place / name, "--", "echo", "ran")
            self.assertEqual((done.returncode, done.stdout), (code, ""))
            self.assertIn(why, done.stderr)


class Script(TslabTest):
    """tslab-run, which lies beside the libraries."""

    def setUp(self):
        super().setUp()
        text = (TOOLS / "tslab-run.in").read_text()
        wanted = {"tslab_interface_version": "9", "run_to_libdir": "lib", "PROJECT_VERSION": "9.9"}
        for name, value in wanted.items():
            self.assertIn(f"@{name}@", text)
            text = text.replace(f"@{name}@", value)
        self.script = self.own / "tslab-run"
        self.script.write_text(text)
        self.script.chmod(0o755)
        (self.own / "lib").mkdir()
        for name in ("libtslab-malloc.so.9", "libtslab-malloc-checked.so.9"):
            (self.own / "lib" / name).symlink_to(self.library)

    def says(self, *words, **variables):
        done = self.run_argv([self.script, *words], env=self.environment | variables)
        return done.returncode, done.stdout, done.stderr

    def test_programs(self):
        show = ("sh", "-c", 'echo "$LD_PRELOAD $@"', "sh")
        for words, name in (
            ((), "libtslab-malloc.so.9"),
            (("--",), "libtslab-malloc.so.9"),
            (("--checked",), "libtslab-malloc-checked.so.9"),
            (("--checked", "--"), "libtslab-malloc-checked.so.9"),
        ):
            said = self.says(*words, *show, "--", "a b")
            self.assertEqual(said, (0, f"{self.own.resolve()}/lib/{name} -- a b\n", ""))

    def test_the_variable_of_tslab_run_is_none_of_the_library(self):
        self.assertEqual(self.says("echo", "ran", TSLAB_LIBRARY=self.library), (0, "ran\n", ""))

    def test_usage(self):
        usage = "usage: tslab-run [--checked] [--] PROGRAM [ARGUMENT...]\n"
        options = "Its options are variables, as TSLAB_STATS=1: see man tslab-run, or tslab run --help.\n"
        for words in (("--help",), ("-h",), ("--checked", "--help")):
            self.assertEqual(self.says(*words), (0, usage + options, ""))
        for words in ((), ("--",), ("--checked",)):
            self.assertEqual(self.says(*words), (2, "", usage))
        for words in (("--nothing", "true"), ("--checked", "--nothing")):
            self.assertEqual(self.says(*words), (2, "", f"tslab-run: there is no option --nothing\n{usage}"))
        self.assertEqual(self.says("--version"), (0, "tslab-run 9.9\n", ""))


class Refusals(TslabTest):
    def test_words(self):
        for code, sentence, words in (
            (2, "name a program to run", ""),
            (2, "name a program to run behind --", "--stats true"),
            (2, "--stats 'true': not a number, and a file (FORM[,FILE], ", f"--library {self.library} --stats true x"),
            (2, "FILE up to 255 bytes); before a program, write --", f"--library {self.library} --stats true x"),
            (127, "There is no program nosuch.", f"--library {self.library} -- nosuch"),
            (127, "There is no program /no/such.", f"--library {self.library} -- /no/such"),
            (127, "There is no library /no/such.so", "--library /no/such.so -- true"),
            (126, "/etc/passwd is no shared library", "--library /etc/passwd -- true"),
        ):
            done = self.tslab("run", *words.split())
            self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
            self.assertIn(sentence, " ".join(done.stderr.split()))

    def test_sentences(self):
        (self.own / "file").write_text("no program\n")
        (self.own / "text").write_text("no program\n")
        (self.own / "orphan").write_text("#!/no/such/interpreter\n")
        for name in ("text", "orphan"):
            (self.own / name).chmod(0o755)
        source = self.own / "static.c"
        source.write_text(STATIC)
        subprocess.run(["cc", "-static", "-o", self.own / "static", source], check=True)
        cases = (
            (127, "write ./text", "--", "text"),
            (126, "./file may not be executed: make it executable", "--", "./file"),
            (126, "is a directory", "--", "./tmp"),
            (126, "is neither a program nor a script", "--", "./text"),
            (126, "its interpreter /no/such/interpreter does not exist", "--", "./orphan"),
            (126, "is linked statically", "--", "./static"),
        )
        for code, sentence, *words in cases:
            done = self.tslab("run", "--library", self.library, *words)
            self.assertEqual((done.returncode, done.stdout), (code, ""), (words, done.stderr))
            self.assertIn(sentence, done.stderr)
            self.assertNotIn("Traceback", done.stderr)

    def test_programs_with_more_rights(self):
        path = self.own / "program"
        shutil.copy("/usr/bin/true", path)
        self.assertIsNone(preloading.why_not(str(path), self.library))
        path.chmod(0o755 | stat.S_ISUID)
        self.assertIsNone(preloading.why_not(str(path), self.library))  # its owner's rights are ours
        with unittest.mock.patch("os.getuid", return_value=os.getuid() + 1):
            self.assertIn("more rights", preloading.why_not(str(path), self.library))
        path.chmod(0o755 | stat.S_ISGID)
        with unittest.mock.patch("os.getgid", return_value=os.getgid() + 1):
            self.assertRaisesRegex(Failure, "ignores LD_PRELOAD", preloading.require, str(path), self.library)

    def test_another_kind_of_processor(self):
        path = self.own / "program"
        text = bytearray(Path("/usr/bin/true").read_bytes())
        text[18:20] = (0xF3).to_bytes(2, "little")
        path.write_bytes(text)
        path.chmod(0o755)
        self.assertIn("another kind of processor", preloading.why_not(str(path), self.library))


if __name__ == "__main__":
    main()
