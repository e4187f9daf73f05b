"""What the command makes of words that it does not know, of files that are not there, and of a reader that has gone.
usage: test_words.py LIBRARY"""

import ast
import json
import re
import subprocess
import sys

from tslab_test import ROOT, TIMEOUT, TOOLS, TslabTest, main
from tslab_tools import cli

REFUSED = (
    (2, "invalid choice: 'sta' (choose from 'run', 'top', 'stat', ", "sta"),
    (2, "Did you mean stat?", "sta"),
    (2, "unrecognized arguments: --unce. Did you mean --once?", "top --unce"),
    (2, "invalid choice: 'adaptiv'", "profile x --kind adaptiv"),
    (2, "Did you mean live?", "profile x --kind liv"),
    (2, "Did you mean rss?", "top --sort rs"),
    (2, "argument --top: '-1' is no whole number of 1 or more", "profile x --top -1"),
    (2, "argument --top: '1.5' is no whole number of 1 or more", "profile x --top 1.5"),
    (2, "argument --depth: '0' is no whole number of 1 or more", "profile x --depth 0"),
    (2, "argument --interval: '0' is no time of 0.2 seconds or more", "top --interval 0"),
    (2, "argument --interval: 'nan' is no time of 0.2 seconds or more", "top --interval nan"),
    (2, "argument --watch: '-1' is no time of 0 seconds or more", "doctor 1 --watch -1"),
    (2, "argument --wait: 'inf' is no time of 0 seconds or more", "ctl 1 trim --wait inf"),
    (1, "tslab: There is no file nofile. Name a file that a program has written with", "stat nofile"),
    (1, "tslab: there is no file nofile. A program writes its profile when it ends", "profile nofile"),
    (1, "tslab: there is no process 4194305", "profile 4194305"),
    (1, "9999 cannot be read: File name too long", f"profile {'9' * 5000}"),
    (1, "9999: File name too long", f"doctor {'9' * 5000}"),
)


class Words(TslabTest):
    def test_sentences(self):
        for code, sentence, words in REFUSED:
            with self.subTest(words):
                done = self.tslab(*words.split())
                self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
                self.assertIn(sentence, " ".join(done.stderr.split()))
                self.assertNotIn("Errno", done.stderr)

    def test_the_usage_is_the_commands(self):
        for words, usage in (
            ("stat 1 2", "usage: tslab stat "),
            ("--nothing", "usage: tslab "),
        ):
            done = self.tslab(*words.split())
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertTrue(done.stderr.startswith(usage), done.stderr)

    def test_version(self):
        self.assertRegex(self.tslab("--version").stdout, r"^tslab \d+\.\d+\.\d+\n$")

    def test_a_reader_that_has_gone(self):
        report = self.own / "report"
        environment = {**self.environment, "LD_PRELOAD": self.library, "TSLAB_STATS": f"2,{report}"}
        self.assertEqual(self.run_argv(["true"], env=environment).returncode, 0)
        self.assertEqual(json.loads(report.read_text())["schema"], "tslab-statistics")
        for lines, *words in ((0, "stat", report), (1, "stat", report), (0, "run", "--help"), (0, "--help")):
            with subprocess.Popen(
                self.argv(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
            ) as process:
                for _ in range(lines):
                    process.stdout.readline()
                process.stdout.close()
                said = process.stderr.read()
                self.assertIn(process.wait(TIMEOUT), (0, 141, -13))  # 0 where all was written before
                self.assertEqual(said, "")


class Packages(TslabTest):
    def test_modules_of_others_are_known(self):
        """Debian's package names each, and a command that lacks one says how to install it."""
        found = set()
        for path in TOOLS.glob("tslab_tools/**/*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Import):
                    found |= {name.name.partition(".")[0] for name in node.names}
                elif isinstance(node, ast.ImportFrom) and node.level == 0:
                    found.add(node.module.partition(".")[0])
        others = found - set(sys.stdlib_module_names) - {"tslab_tools"}
        self.assertEqual(set(cli.PACKAGES), others)
        tools = (ROOT / "debian/control").read_text().partition("Package: tslab-tools")[2]
        self.assertEqual(set(re.findall(r"python3-[a-z0-9-]+", tools)), set(cli.PACKAGES.values()))


if __name__ == "__main__":
    main()
