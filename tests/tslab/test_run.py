"""`tslab run`: the program in its place, tslab's options as flags, and what cannot be preloaded.
usage: test_run.py LIBRARY"""

import argparse
import json
import os
import shutil
import signal
import stat
import subprocess
import unittest.mock
from pathlib import Path

from tslab_test import TIMEOUT, TslabTest, main
from tslab_tools import option_table, preloading
from tslab_tools.commands import run
from tslab_tools.failure import Failure

STATIC = "int main(void) { return 0; }"


READERS = {option.name: run.reader_of(option) for option in option_table.OPTIONS}


class Options(TslabTest):
    def takes(self, name, *texts):
        for text in texts:
            self.assertEqual(READERS[name](text), text)

    def refuses(self, name, *texts):
        for text in texts:
            self.assertRaises(argparse.ArgumentTypeError, READERS[name], text)

    def test_values_look_as_the_option_asks(self):
        self.takes("retain_bytes", "0", "1G", "64m", "1048576")
        self.refuses("retain_bytes", "", "-1", "1X", "1 K", "0x10", "1.5M")
        self.takes("epoch_policy", "never", "per-request", "manual", "batch-64", "batch-1K", "interval-100")
        self.refuses("epoch_policy", "", "batch-", "batch", "manual2", "Never", "batch-N")
        self.takes("stats", "1", "2,/a b/%p", "0,/tmp/x,60000", "3,50")
        self.refuses("stats", "", "/tmp/x", "1,", "json")
        self.takes("profile", "512K", "512K,/tmp/x")
        self.takes("trace", "/tmp/x", "x,64K")
        self.takes("epoch_limits", "a=1M", "a b=1M:c=16K", "")
        self.refuses("epoch_limits", "a", "a=", "a=1M,b=1M")
        self.takes("stats_signal", "USR2", "SIGWINCH", "40")
        self.refuses("stats_signal", "usr2", "", "-9")

    def test_the_library_takes_what_it_is_given(self):
        done = self.tslab("run", "--library", self.library, "--retain-bytes=2T", "--", "true")
        self.assertEqual(
            (done.returncode, done.stderr),
            (0, "tslab: TSLAB_RETAIN_BYTES=2T: not a number in its range (0 to 1T bytes); ignored\n"),
        )


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


class Refusals(TslabTest):
    def test_words(self):
        for code, sentence, words in (
            (2, "name a program to run", ""),
            (2, "'true' does not fit (FORM[,FILE][,MS], ", "--stats true"),
            (2, "does not fit (never, per-request", "--epoch-policy sometimes -- true"),
            (2, "'1h' does not fit (0 to 3600000 ms); before a program, write --", "--purge-delay-ms 1h -- true"),
            (1, "There is no program nosuch.", f"--library {self.library} -- nosuch"),
            (1, "There is no library /no/such.so", "--library /no/such.so -- true"),
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
            (1, "write ./text", "--", "text"),
            (1, "./file may not be executed: make it executable", "--", "./file"),
            (1, "is a directory", "--", "./tmp"),
            (1, "is neither a program nor a script", "--", "./text"),
            (1, "its interpreter /no/such/interpreter does not exist", "--", "./orphan"),
            (1, "is linked statically", "--", "./static"),
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
