"""Files that others wrote, as each command takes them: their texts are shown as text, and what is no regular file is not
opened. (Damaged files: test_files_fuzz.py.)
usage: test_files.py LIBRARY"""

import ast
import json
import os
import socket
import unittest
from pathlib import Path

from tslab_test import TOOLS, TslabTest, main
from tslab_tools import files
from tslab_tools.profiles import elf, symbols
from tslab_tools.profiles.written import Mapping

EVIL = "\x1b]0;owned\x07\x9b2J\u202e[/bold]\u2028"
READERS = (("stat",), ("doctor",), ("profile",), ("doctor", "report"), ("profile", "whole", "--base"))
PROFILE = ("tslab-profile 1", "program a", "process 1", "period 1", "page 4096")


def report_of():
    """A report as the library writes it, in short."""
    return {
        "schema": "tslab-statistics", "program": "server", "pid": 1, "library": "0.2.0", "uptime_ms": 1, "rss_bytes": 1,
        "peak_rss_bytes": 1, "totals": {"frees": 1}, "options": {"purge": "eager"},
        "accounts": {"committed_bytes": 1, "untouched_bytes": 0, "exchange": {"bytes": 1, "untouched_bytes": 0}},
        "classes": [{"size": 16, "free_bytes": 1, "tail_bytes": 1, "untouched_bytes": 0}],
        "threads": [{"thread": 1, "name": "main", "allocations": 1}],
        "labels": [{"label": "request", "labels": 1, "epochs": 1}], "label_limits": [],
    }  # fmt: skip


def with_evil(value):
    """A report with such a text in all places of texts, as keys and as values."""
    if isinstance(value, dict):
        return {key: with_evil(of) for key, of in value.items()}
    if isinstance(value, list):
        return [with_evil(of) for of in value]
    return EVIL if isinstance(value, str) and value != "tslab-statistics" else value


class Texts(TslabTest):
    def write(self, name, text):
        path = self.own / name
        if isinstance(text, bytes):
            path.write_bytes(text)
        else:
            path.write_text(text, encoding="utf-8")
        return path

    def profile(self, name, *lines, program=EVIL, path=f"/a{EVIL}"):
        head = [line.replace("program a", f"program {program}") for line in PROFILE]
        return self.write(name, "\n".join([*head, *lines, "maps", f"1000-9000 r-xp 00000000 00:00 0    {path}", ""]))

    def reports(self):
        whole = report_of()
        for name in ("totals", "options", "accounts"):
            whole[name] = whole[name] | {EVIL: {"bytes": 1, "untouched_bytes": 0} if name == "accounts" else 1}
        texts = [with_evil(whole)]
        for name in whole:
            texts += [whole | {name: value} for value in (EVIL, [EVIL], {EVIL: EVIL}, [{EVIL: EVIL}])]
        for name in whole["classes"][0]:
            texts.append(whole | {"classes": [whole["classes"][0] | {name: EVIL}]})
        for text in texts:
            yield json.dumps(text | {"schema": "tslab-statistics"}, separators=(",", ":"), ensure_ascii=False)

    def commands(self):
        lines = (
            "stack 1 1 4096 1 4096 2000 3000", f"live 1 1000 4096 64 5 1 0 4096 9 {EVIL.split()[0]}", "kept 64 4096 1",
            f"epoch 5 1 4096 4096 1 {EVIL.split()[0]} label {EVIL}", f"thread 1 {EVIL}",
        )  # fmt: skip
        whole = self.profile("whole", *lines)
        for more in ([], ["--kind", "kept"], ["--pins"], ["--leaks"], ["--leaks", "--base", whole], ["--skip", EVIL]):
            yield "profile", whole, *more
        for number, line in enumerate((EVIL, f"live {EVIL}", f"stack {EVIL}", f"period {EVIL}", f"epoch 1 {EVIL}")):
            yield "profile", self.profile(f"bad{number}", line)
        yield "profile", self.profile("maps", path=f"\n{EVIL}")
        yield "profile", self.write("version", f"tslab-profile {EVIL}\n")
        for number, text in enumerate(self.reports()):
            report = self.write(f"report{number}", text)
            yield "stat", report
            yield "doctor", report
            yield "doctor", report, whole
            yield "doctor", report, "--json"
        for command in ("stat", "doctor", "profile"):
            for name in (EVIL, self.write("x" + EVIL.replace("/", "|"), "")):
                yield command, name
        yield "stat", whole, EVIL
        yield "export", "--listen", EVIL
        yield "top", "--sort", EVIL

    def test_all_that_is_printed_is_text(self):
        """In one process, since a hundred would take long."""
        words = [[str(word) for word in each] for each in self.commands()]
        self.write("words", json.dumps(words))
        program = (
            f"import json, sys, io, contextlib; sys.path.insert(0, {str(TOOLS)!r})\nfrom tslab_tools import cli\n"
            "class Stream(io.StringIO):\n def reconfigure(self, **_): pass\nresult = []\n"
            "for words in json.load(open('words')):\n"
            " with contextlib.redirect_stdout(Stream()) as out, contextlib.redirect_stderr(Stream()) as err:\n"
            "  try:\n   code = cli.main(words)\n  except SystemExit as end:\n   code = end.code\n"
            " result.append([code, out.getvalue(), err.getvalue()])\n"
            "json.dump(result, open('result', 'w'))\n"
        )
        done = self.run_argv(["/usr/bin/python3", "-B", "-c", program])
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        result = json.loads((self.own / "result").read_text())
        self.assertEqual(len(result), len(words))
        for each, (code, out, err) in zip(words, result):
            with self.subTest(each):
                self.assertIn(code, (0, 1, 2))
                self.assertTrue((out + err).replace("\n", "").isprintable(), out + err)
                self.assertEqual(bool(out), code == 0)
                self.assertFalse([line for line in err.splitlines() if "owned" in line and line.startswith("owned")])
        self.assertGreater(sum(code == 0 for code, *_ in result), 20)

    def test_no_line_passes_for_a_message(self):
        done = self.tslab("stat", self.own / "a\ntslab: all is well")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"\n  tslab: all is well")
        self.assertEqual(sum(line.startswith("tslab: ") for line in done.stderr.splitlines()), 1)


class Kinds(TslabTest):
    """Nothing but a regular file is opened, and no more of it is read than there may be."""

    def odd(self):
        os.mkfifo(self.own / "fifo")
        (self.own / "link").symlink_to("fifo")
        (self.own / "folder").mkdir()
        (self.own / "device").symlink_to("/dev/zero")
        with (self.own / "sparse").open("wb") as file:
            file.truncate(4 << 40)
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(self.own / "socket"))
        (self.own / "empty").write_text("")
        return [self.own / name for name in ("fifo", "link", "folder", "device", "sparse", "socket", "empty")]

    def test_each_reader_refuses_them(self):
        (self.own / "report").write_text(json.dumps(report_of(), separators=(",", ":")))
        (self.own / "whole").write_text("\n".join(PROFILE))
        odd = [*self.odd(), "/proc/kmsg", "/dev/tty", "/proc/self/environ"]
        for path in odd:
            for command, *more in READERS:
                with self.subTest((command, more, path)):
                    done = self.tslab(command, *more, path)
                    self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
                    self.assertNotIn("Traceback", done.stderr)
                    self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertEqual(elf.read(str(path)), elf.Elf())

    def test_programs_and_libraries(self):
        for path in self.odd()[:2]:
            path.chmod(0o755)
            for words in (("--library", path, "--", "true"), ("--", path)):
                done = self.tslab("run", *words)
                self.assertIn(done.returncode, (126, 127))
                self.assertNotIn("Traceback", done.stderr)

    def test_they_are_not_even_opened(self):
        """A device may do something when it is opened."""
        script = f"import sys; sys.path.insert(0, {str(TOOLS)!r}); from tslab_tools.cli import main; sys.exit(main())"
        for path in self.odd()[:4]:
            for command, *more in READERS[:3]:
                argv = ["strace", "-f", "-e", "trace=openat,open,openat2", "/usr/bin/python3", "-B", "-c", script]
                done = self.run_argv([*argv, command, *more, path])
                opened = [line for line in done.stderr.splitlines() if f'"{path}"' in line]
                self.assertEqual(len(opened), 1, done.stderr[-2000:])
                self.assertIn("O_PATH", opened[0])

    def test_numbers(self):
        self.assertEqual([files.number(text) for text in ("0", "18446744073709551615")], [0, (1 << 64) - 1])
        self.assertEqual(files.number("ff", 16), 255)
        for text in ("", "-1", "+1", " 1", "1_0", "0.5", "1e3", "nan", "18446744073709551616", "9" * 400, "x"):
            self.assertRaises(ValueError, files.number, text)

    def test_the_last_of_many(self):
        """Files that grow have the newest at their end."""
        report = json.dumps(report_of() | {"pid": 77}, separators=(",", ":"))
        with (self.own / "many").open("w") as file:
            file.truncate(4 << 40)
            file.seek(4 << 40)
            file.write("\n" + json.dumps(report_of(), separators=(",", ":")) + "\n" + report + "\n")
        self.assertIn("process 77", self.tslab("stat", self.own / "many").stdout)


class Sources(unittest.TestCase):
    # Files of this package, and of the kernel.
    OTHERS = ("profiles/flame.py",)

    def test_files_are_opened_in_one_way(self):
        """But for what is written, and descriptors (os.open)."""
        found = []
        for path in sorted(TOOLS.glob("tslab_tools/**/*.py")):
            name = str(path.relative_to(TOOLS / "tslab_tools"))
            for node in ast.walk(ast.parse(path.read_text())):
                if name in self.OTHERS or not isinstance(node, ast.Call):
                    continue
                words = [ast.unparse(argument) for argument in (*node.args, *(word.value for word in node.keywords))]
                if isinstance(node.func, ast.Name) and node.func.id == "open" and not {"'w'", "'wb'"} & set(words):
                    found.append((name, node.lineno))
                if isinstance(node.func, ast.Attribute) and node.func.attr in ("read_text", "read_bytes"):
                    found.append((name, node.lineno))
        self.assertEqual(found, [])


class Symbolizer(TslabTest):
    """What names functions reads files of strangers."""

    def tool(self, script):
        folder = self.own / "bin"
        folder.mkdir(exist_ok=True)
        tool = folder / symbols.SYMBOLIZER
        tool.write_text(f"#!/bin/sh\n{script}\n")
        for path in (self.own, folder, tool):
            path.chmod(0o755)
        return self.environment | {"PATH": f"{folder}:/usr/bin:/bin"}

    def profile(self):
        path = self.own / "program"
        path.write_bytes(Path("/bin/true").read_bytes())
        path.chmod(0o755)
        if os.geteuid() == 0:
            os.chown(path, 65534, 65534)
        file = self.own / "profile"
        lines = [*PROFILE, "stack 1 1 4096 1 4096 2000", "live 1 1000 4096 0 0 1 0 0 0 large", "maps"]
        file.write_text("\n".join([*lines, f"1000-9000 r-xp 00000000 00:00 0    {path}", ""]))
        return file

    def test_it_has_limits(self):
        for script, seconds in (
            ("exec sleep 1000", 1),
            ("exec yes", 60),
            ("kill -9 $$", 60),
            ("echo '{\"Address\":'", 60),
        ):
            program = (
                f"import sys; sys.path.insert(0, {str(TOOLS)!r})\nfrom tslab_tools.profiles import symbols\n"
                f"symbols.SECONDS = {seconds}; symbols._OUTPUT_MOST = 1 << 20\n"
                "from tslab_tools.cli import main; sys.exit(main())"
            )
            done = self.run_argv(
                ["/usr/bin/python3", "-B", "-c", program, "profile", self.profile()], env=self.tool(script)
            )
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("program+0x", done.stdout)

    @unittest.skipUnless(os.geteuid() == 0, "only root has rights to give up")
    def test_it_has_the_rights_of_the_files_owner(self):
        there = self.own / "who"
        there.mkdir()
        there.chmod(0o777)
        script = (
            f"cd {there}; id -u >id; id -G >>id; head -c 4 \"${{2#--obj=}}\" >elf; env >env; cut -d' ' -f5,6,7 /proc/$$/stat >tty\n"
            f"echo $$ >>tty"
        )
        environment = self.tool(f"PATH=/usr/bin:/bin; {script}") | {"SECRET": "ours"}
        done = self.tslab("profile", self.profile(), env=environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual((there / "id").read_text(), "65534\n65534\n")
        self.assertEqual((there / "elf").read_bytes(), b"\x7fELF")
        self.assertNotIn("SECRET", (there / "env").read_text())
        self.assertRegex((there / "tty").read_text(), r"^(\d+) \1 0\n\1\n$")  # group, session, no terminal; its number

    @unittest.skipUnless(os.geteuid() == 0, "only root is led there by the kernel")
    def test_root_follows_no_name_of_a_process(self):
        with open("/proc/self/maps", encoding="utf-8") as file:
            line = next(line for line in file if "python3" in line)
        start, end = (int(part, 16) for part in line.split()[0].split("-"))
        found = symbols._file(Mapping(start, end, 0, "/dev/zero", True), os.getpid())
        self.assertEqual(os.readlink(found), line.split()[-1])


if __name__ == "__main__":
    main()
