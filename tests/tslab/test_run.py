"""tslab-run, which `tslab run` is, too: the program in its place, tslab's options as flags, and what cannot be preloaded.
usage: test_run.py LIBRARY"""

import json
import os
import shutil
import signal
import stat
import subprocess
from pathlib import Path

from tslab_test import TIMEOUT, TOOLS, TslabTest, main

SCRIPT = TOOLS / "tslab_tools/tslab-run"
PYTHON = "/usr/bin/python3"


class Run(TslabTest):
    def setUp(self):
        super().setUp()
        self.environment |= {"TSLAB_LIBRARY": self.library}

    def run_with(self, *words, **options):
        return self.run_argv([SCRIPT, *words], **options)

    def assert_refused(self, done, code, sentence):
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertIn(sentence, done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def test_the_library_is_asked_before_the_program_starts(self):
        for flag, value, why in (
            ("--limit-bytes", "2000T", "not a number like 64 or 64M in its range (0 to 1024T bytes)"),
            ("--retain-bytes", "", "not a number like 64 or 64M in its range"),
            ("--export", "2", "not a number like 64 or 64M in its range (0 to 1)"),
            ("--purge", "soon", "unknown value (adaptive, eager"),
            ("--epoch-limits", "a=1K", "not a list of limits (LABEL=BYTES"),
            ("--stats-signal", "KILL", "not a usable signal (USR1 USR2"),
            ("--stats", "3", "not a number, and a file (FORM[,FILE]"),
        ):
            for words in ([flag, value], [f"{flag}={value}"]):
                name = f"TSLAB_{flag[2:].upper().replace('-', '_')}"
                self.assert_refused(self.run_with(*words, "echo", "ran"), 2, f"tslab-run: {name}={value}: {why}"[:80])
        self.assertEqual(list(self.own.iterdir()), [self.temporary])

    def test_what_the_library_takes_holds(self):
        words = ("--epoch-limits", "a b=1M:c=16K", "--stats-signal", "SIGWINCH", "--epoch-policy", "interval-100")
        done = self.run_with(*words, "--limit-bytes=64m", "--stats", "echo", "--ran")
        self.assertEqual((done.returncode, done.stdout), (0, "--ran\n"), done.stderr)
        for option in ("limit_bytes=67108864", "epoch_policy=interval-100", "stats_signal=WINCH"):
            self.assertIn(option, done.stderr)

    def test_asking_leaves_no_trace(self):
        """The files that options name are the program's alone, and a small limit is no matter."""
        done = self.run_with("--stats=2,it's %n", "--profile=1,heap.%n", "--stats-signal=URG", "/bin/echo", "ran")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "ran\n", ""))
        reports = [json.loads(line) for path in self.own.glob("it's *") for line in path.read_text().splitlines()]
        self.assertEqual([report["program"] for report in reports], ["echo"])
        self.assertEqual(len(list(self.own.glob("heap.*"))), 1)
        self.assert_refused(self.run_with("--limit-bytes=1", "--keeper=9", "true"), 2, "TSLAB_KEEPER=9")

    def test_flags_without_a_value(self):
        for words, wanted in (
            (["--profile"], "PROFILE=512K,%e.%p.heap"),
            (["--profile", "64K"], "PROFILE=64K,%e.%p.heap"),
            (["--profile=0"], "PROFILE=0"),
            (["--profile", "1,x"], "PROFILE=1,x"),
            (["--export"], "EXPORT=1"),
            (["--stats", "--keeper=0"], "STATS=1\nTSLAB_KEEPER=0"),
            (["--stats", "2,a b"], "STATS='2,a b'"),
        ):
            said = self.run_with(*words, "--env").stdout
            self.assertEqual(said, f"LD_PRELOAD={self.library}\nTSLAB_{wanted}\n")
        self.assertEqual(self.run_with("--profile", PYTHON, "-c", "print('ran')").stdout, "ran\n")
        (path,) = self.own.glob("python3*.heap")
        self.assertTrue(path.read_text().startswith("tslab-profile 1\n"))

    def test_words_and_environment_arrive_as_they_are(self):
        script = "import os, sys, json; print(json.dumps([sys.argv[1:], dict(os.environ)])); exit(7)"
        words = ["--stats", "--", "a b", "", "$x"]
        for listed in ({}, {"TSLAB_OPTIONS": "retain_bytes=1M"}):
            env = self.environment | listed | {"LD_PRELOAD": "libdl.so.2", "TSLAB_RETAIN_BYTES": "3M"}
            done = self.tslab("run", "--retain-bytes", "2M", "--", PYTHON, "-c", script, *words, env=env)
            self.assertEqual((done.returncode, done.stderr), (7, ""))
            arguments, environment = json.loads(done.stdout)
            self.assertEqual(arguments, words)
            self.assertEqual(environment["LD_PRELOAD"], f"{self.library}:libdl.so.2")
            self.assertEqual(environment["TSLAB_RETAIN_BYTES"], "2M")
            self.assertNotIn("TSLAB_LIBRARY", environment)
            done = self.run_with("--retain-bytes", "2M", "--stats", "true", env=env)
            self.assertRegex(done.stderr, rf"retain_bytes={2 << 20}\b")

    def test_nothing_is_left_between_the_program_and_its_parent(self):
        argv = self.argv("run", "sh", "-c", "echo $$; exec sleep 60")
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=self.environment) as process:
            self.assertEqual(int(process.stdout.readline()), process.pid)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(TIMEOUT), -signal.SIGTERM)

    def test_signals_are_as_a_program_expects_them(self):
        argv = ("grep", "SigIgn", "/proc/self/status")
        self.assertEqual(self.tslab("run", *argv).stdout, self.run_argv(argv).stdout)

    def test_top_shows_it_at_once(self):
        argv = self.argv("run", "--export", PYTHON, "-c", "print(1, flush=True); open(0).read()")
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen(argv, env=self.environment, **pipes) as process:
            process.stdout.readline()
            found = json.loads(self.tslab("top", "--once", "--json", str(process.pid)).stdout)["processes"]
            self.assertEqual([one["pid"] for one in found], [process.pid])

    def test_the_checked_twin_lies_beside_the_library(self):
        place = self.own / "lib"
        place.mkdir()
        for name in ("libtslab-malloc.so.9", "libtslab-malloc-checked.so.9", "libtslab-malloc.so", "libours.so"):
            (place / name).symlink_to(self.library)
        checked = f"LD_PRELOAD={place}/libtslab-malloc-checked.so.9\n"
        for name in ("libtslab-malloc.so.9", "libtslab-malloc-checked.so.9"):
            self.assertEqual(self.run_with("--checked", "--library", place / name, "--env").stdout, checked)
        for name, code, why in (
            ("libtslab-malloc.so", 127, f"there is no library {place}/libtslab-malloc-checked.so"),
            ("libours.so", 126, "--checked knows the twin of libtslab-malloc.so"),
        ):
            self.assert_refused(self.run_with("--checked", f"--library={place / name}", "true"), code, why)

    def test_installed(self):
        """CMake writes where the libraries are; they are found from where the script lies."""
        text = SCRIPT.read_text()
        before = "\nlibraries=../../build/release suffix='' version=checkout "
        self.assertEqual(text.count(before), 1)
        script = self.own / "tslab-run"
        script.write_text(text.replace(before, "\nlibraries=lib suffix=.9 version=9.9 "))
        script.chmod(0o755)
        (self.own / "lib").mkdir()
        (self.own / "lib/libtslab-malloc.so.9").symlink_to(self.library)
        del self.environment["TSLAB_LIBRARY"]
        done = self.run_argv([script, "sh", "-c", 'echo "$LD_PRELOAD $@"', "sh", "--", "a b"])
        self.assertEqual(done.stdout, f"{self.own.resolve()}/lib/libtslab-malloc.so.9 -- a b\n", done.stderr)
        self.assertEqual(self.run_argv([script, "--version"]).stdout, "tslab-run 9.9\n")
        self.assertTrue(self.run_argv([script, "--help"]).stdout.startswith("usage: tslab-run [options] "))

    def test_refusals(self):
        linked = self.own / "libtslab-checked.so.0.3"
        linked.symlink_to(self.compiled("int nothing;"))
        for name, text in (("file", ""), ("orphan", "#!/no/such/interpreter\n"), ("script", "#!./static x\n")):
            (self.own / name).write_text(text)
        source = "int main(void) { return 0; }"
        argv = ["cc", "-static", "-x", "c", "-", "-o", self.own / "static"]
        subprocess.run(argv, input=source, text=True, check=True)
        other = bytearray(Path("/usr/bin/true").read_bytes())
        other[18:20] = (0xF3).to_bytes(2, "little")
        (self.own / "other").write_bytes(other)
        for name in ("orphan", "script", "other"):
            (self.own / name).chmod(0o755)
        for code, sentence, *words in (
            (2, "name a program to run"),
            (2, "name a program to run", "--stats"),
            (2, "--keeper needs a value", "--keeper"),
            (2, "there is no option -x", "-x", "true"),
            (2, "TSLAB_STAS: unknown option (known: limit_bytes, ", "--stas", "true"),
            (2, "). Did you mean --purge-delay-ms?", "--purge-dely-ms=0", "true"),
            (127, "nosuch: not found", "nosuch"),
            (126, "Permission denied", "./file"),
            (127, "not found", "./orphan"),
            (127, "there is no library /no/such.so", "--library=/no/such.so", "true"),
            (126, "is no library of tslab's that can be preloaded", "--library=/etc/passwd", "true"),
            (126, "is no library of tslab's that can be preloaded", f"--library={linked}", "true"),
            (126, "./static is linked statically", "./static"),
            (126, "./static is linked statically", "./script"),
            (126, "./other is for another kind of processor", "./other"),
        ):
            self.assert_refused(self.run_with(*words), code, sentence)

    def test_programs_with_more_rights(self):
        if os.getuid() != 0:
            self.skipTest("only root can make a program of another user's")
        path = self.own / "program"
        shutil.copy("/usr/bin/true", path)
        path.chmod(0o755 | stat.S_ISUID)
        self.assertEqual(self.run_with(path).returncode, 0)  # its owner's rights are ours
        os.chown(path, 1, 1)
        for mode in (stat.S_ISUID, stat.S_ISGID):
            path.chmod(0o755 | mode)
            self.assert_refused(self.run_with(path), 126, "runs with more rights than yours")


if __name__ == "__main__":
    main()
