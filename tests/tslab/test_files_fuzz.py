"""What reads files of others: profiles, reports of statistics, ELF files, names of functions. Whatever is in
them, there is an answer or a sentence, in text alone, and in time that grows no faster than the file.
usage: test_files_fuzz.py LIBRARY                         some hundred damaged files of each kind, the same each time
       test_files_fuzz.py LIBRARY --long SECONDS [SEED] [KIND...]"""

import argparse
import contextlib
import io
import json
import os
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import unittest
import unittest.mock
from pathlib import Path

import tslab_test
from tslab_tools import preloading, terminal
from tslab_tools.commands import doctor, profile, stat
from tslab_tools.failure import Failure
from tslab_tools.profiles import elf, symbols, wrappers

FILES_SHORT, PATIENCE = 80, 60  # seconds of processor time that one file may take: only what grows faster than it does
PROGRAM = (
    "import ctypes, json\nlibrary = ctypes.CDLL(None)\nfor i in range(30):\n library.tslab_work_begin(b'request')\n"
    " x = [bytes(200) for j in range(300)]\n kept = x[:i]\n library.tslab_work_end()\n"
)
INTEGERS = [0, 1, 2, 16, 4096, (1 << 31) - 1, (1 << 32) - 1, 1 << 63, (1 << 64) - 1]
WORDS = [
    *(b"0", b"-1", b"1", b"18446744073709551615", b"9" * 30, b"9" * 400, b"nan", b"1e999", b"x", b"", b"0.5", b"\xff"),
    *(
        b"-9223372036854775808",
        b"\x1b[31m",
        b"\xe2\x80\xae",
        b"null",
        b"{}",
        b"[]",
        b'""',
        b"true",
        b"NaN",
        b"Infinity",
    ),
]
PARTS_OF_NAMES = [
    *(".isra", ".constprop", ".0", "(", ")", " ", "<", ">", ">>", ", std::less<", "std::less<", "std::allocator<char>"),
    *(", std::", "$u", "ffffffff", "$ud800$", "$uffffff$", "$LT$", "..", "::h0123456789abcdef", "_$", "operator", "a"),
    *("std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >", "alloc", "\x1b[2J", "\u202e"),
    *("(anonymous namespace)", "operator()", "core::", "[", "]", "<[", " as std::", "new", "\ud800", "\n"),
]  # fmt: skip


def damaged(dice, raw, binary):
    """The same with bytes, numbers or words changed, parts lost or doubled."""
    data = bytearray(raw)
    for _ in range(dice.choice((1, 1, 2, 4, 16))):
        if len(data) < 16:
            break
        kind, at = dice.randrange(8), dice.randrange(dice.choice((min(512, len(data)), len(data))))
        if kind == 0:
            data[at] = dice.randrange(256)
        elif kind == 1:
            del data[at : at + dice.randrange(1, 64)]
        elif kind == 2:
            data[at:at] = data[at : at + dice.randrange(1, 200)] * dice.choice((1, 1, 50))
        elif kind == 3:
            del data[at:]
        elif binary:
            form = dice.choice("HIQ")
            size = struct.calcsize(form)
            place = min(at // size * size, len(data) - size)
            number = dice.choice([*INTEGERS, dice.randrange(1 << 64)])
            struct.pack_into(f"<{form}", data, place, number & (1 << 8 * size) - 1)
        else:
            start = max(0, at - 300)
            found = [each.span() for each in re.finditer(rb"-?[\da-f]+", bytes(data[start : at + 300]))]
            if found:
                begin, end = dice.choice(found)
                data[start + begin : start + end] = dice.choice(WORDS)
    return bytes(data)


def name_of(dice):
    return "".join(dice.choice(PARTS_OF_NAMES) * dice.choice((1, 1, 1, 40)) for _ in range(dice.randrange(1, 9)))


def arguments_of(command, *words):
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return parser.parse_args([str(word) for word in words])


def said_by(command, *words):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        command.run(arguments_of(command, *words))
    return out.getvalue() + err.getvalue()


class Kind:
    """`try_one` reads a file in all ways, and returns what is said of it."""

    is_binary = False

    def __init__(self, folder, library):
        self.folder, self.file = Path(folder), Path(folder) / "file"
        self.whole = self.seed(library)

    def seed(self, library):
        raise NotImplementedError

    def written(self, library, **options):
        where = self.folder / f"{next(iter(options))}.written"
        environment = {f"TSLAB_{name.upper()}": value.format(where) for name, value in options.items()}
        environment |= {"LD_PRELOAD": library, "PYTHONMALLOC": "malloc", "TSLAB_EPOCH_POLICY": "per-request"}
        subprocess.run(["/usr/bin/python3", "-S", "-c", PROGRAM], env=os.environ | environment, check=True)
        return where.read_bytes()

    def made(self, dice):
        return damaged(dice, self.whole, self.is_binary)

    def try_one(self, data, dice):
        self.file.write_bytes(data)
        yield from self.readings(dice)

    def readings(self, dice):
        raise NotImplementedError


class Profiles(Kind):
    WAYS = (
        *(["--kind", "live"], ["--kind", "allocated"], ["--kind", "kept"], ["--kind", "peak"], ["--pins"], ["--leaks"]),
        *(["--html", "/dev/null"], ["--pprof", "/dev/null"], ["--leaks", "--base", "whole"], ["--depth", "3"]),
    )  # fmt: skip

    def seed(self, library):
        whole = self.written(library, profile="4K,{}")
        (self.folder / "whole").write_bytes(whole)
        return whole

    def readings(self, dice):
        for kept in (symbols.Symbols.frames, symbols.Symbols.trace, wrappers._is_library, wrappers._has_word):
            kept.cache_clear()  # else they have all files of this process
        seed = dice.randrange(1 << 30)
        with unittest.mock.patch.object(symbols, "_said", lambda argv, file, words, *_: self.named(seed, words)):
            for way in self.WAYS:
                words = [self.folder / word if word == "whole" else word for word in way]
                yield lambda words=words: said_by(profile, self.file, *words)

    @staticmethod
    def named(seed, words):
        """As a symbolizer would, of a file with such names; cut off."""
        dice = random.Random(seed)
        lines = []
        for address in words.split()[:40]:
            symbol = {
                "FunctionName": name_of(dice),
                "FileName": "a\x1b",
                "Line": dice.choice((0, 7)),
                "StartAddress": "0x10",
            }
            lines.append(json.dumps({"Address": address, "Symbol": [symbol]}))
        text = "\n".join(lines)
        return text[: len(text) - dice.choice((0, 5))]


class Reports(Kind):
    def seed(self, library):
        return self.written(library, stats="2,{}")

    def readings(self, dice):
        yield lambda: said_by(stat, self.file)
        yield lambda: said_by(doctor, self.file)
        yield lambda: said_by(doctor, self.file, "--json")


class Elves(Kind):
    is_binary = True

    def seed(self, library):
        return Path("/bin/true").read_bytes()

    def readings(self, dice):
        def read():
            elf.read.cache_clear()
            found = elf.read(str(self.file))
            for address in (*INTEGERS, dice.randrange(1 << 64)):
                found.address(address)
                found.function(address)
            return found.build_id

        yield read
        yield lambda: preloading.require(str(self.file)) or ""


class Names(Kind):
    def seed(self, library):
        return b""

    def made(self, dice):
        return name_of(dice).encode(errors="surrogatepass")

    def try_one(self, data, dice):
        name = data.decode(errors="surrogatepass")
        yield lambda: self.shown(name)

    @staticmethod
    def shown(name):
        place = symbols.Place(symbols.readable(name), "", 0, "/a")
        wrappers._is_library.__wrapped__(place)
        wrappers._has_word.__wrapped__(place.function)
        return terminal.plain_text(symbols.describe(place))


KINDS = {"profile": Profiles, "report": Reports, "elf": Elves, "names": Names}


class TooSlow(BaseException):
    pass


def _too_slow(*_):
    raise TooSlow


def wrong_with(read):
    """None, or what is wrong with a reading."""
    signal.signal(signal.SIGPROF, _too_slow)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    try:
        said = read()
    except Failure as failure:
        said = terminal.plain_lines(str(failure))
    except Exception:
        return traceback.format_exc()
    except TooSlow:
        return f"takes {PATIENCE} s and more"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return None if said.replace("\n", "").isprintable() else f"says what is no text: {said!r}"


def try_some(kind, dice, seconds=None, count=FILES_SHORT):
    """Returns how many files were tried, and what is wrong with which."""
    wrong, tried, end = {}, 0, time.monotonic() + (seconds or 0)
    while time.monotonic() < end if seconds else tried < count:
        data = kind.made(dice)
        tried += 1
        for read in kind.try_one(data, dice):
            problem = wrong_with(read)
            if problem:
                wrong.setdefault(problem.strip().splitlines()[-1][:80], (problem, data))
    return tried, wrong


class Damaged(tslab_test.TslabTest):
    def test_each_kind(self):
        for name, of in KINDS.items():
            with self.subTest(name):
                kind = of(self.own, self.library)
                for read in kind.try_one(kind.whole, random.Random(1)):
                    self.assertIsNone(wrong_with(read))
                _, wrong = try_some(kind, random.Random(name))
                self.assertEqual([problem for problem, _ in wrong.values()], [])

    def test_whole_files_are_read(self):
        """Else all would be refused in the same way."""
        for name in ("profile", "report"):
            kind = KINDS[name](self.own, self.library)
            for read in kind.try_one(kind.whole, random.Random(1)):
                read()


class Long(tslab_test.TslabTest):
    """Files that grow in one way each: what is quadratic in it would not end."""

    def check(self, read):
        self.assertIsNone(wrong_with(read))

    def test_names(self):
        many = 200_000
        for name in (
            *(".isra" * many + "x", "std::less<" * many, "<" * many, "<a" * many + ">" * many, "$u" * many, "$u1" * many),
            *("f<int, std::less<" + "std::less<" * many, ", std::less<" * many, ", std::less<a" * many + ">" * many),
            *("(.part" * many, " .cold" * many + ")", "operator" * many, "(anonymous namespace)" * many, "a, " * many),
            "std::a<" + "b<c>, std::hash<d>" * many + ">", "x::h0123456789abcdef" * many, "::_$" * many, "<[" * many,
        ):  # fmt: skip
            self.check(lambda name=name: Names.shown(name))

    def test_elf(self):
        path = self.own / "elf"

        def read():
            elf.read.cache_clear()
            return elf.read(str(path)).build_id

        notes = bytes(6 << 20)
        for count, kind in ((1, 4), (65535, 4), (65535, 1), (65535, 0x6474E550)):
            head = b"\x7fELF\x02\x01".ljust(32, b"\0") + struct.pack("<QQI6H", 64, 0, 0, 64, 56, count, 0, 0, 0)
            heads = struct.pack("<2I6Q", kind, 0, 1 << 16, 0, 0, len(notes), len(notes), 0) * count
            table = b"\x01\x1b\x03\x3b".ljust(8, b"\0") + b"\xff" * 4
            path.write_bytes((head + heads).ljust(1 << 16, b"\0")[: 1 << 16] + (table + notes if kind > 4 else notes))
            self.check(read)

    def test_profiles(self):
        kind = Profiles(self.own, self.library)
        head = b"tslab-profile 1\nprocess 1\nperiod 1\n"
        stacks = (f"stack {i} 1 {16 << i % 9} 1 1 {i % 900 + 10:x} {i // 7 + 5000:x}\n" for i in range(20000))
        for more in (
            *(b"\n" * (1 << 22), b"tslab-profile 1\n" * 100000, b"period " + b"9" * (1 << 22), b"a " * (1 << 21)),
            *("".join(stacks).encode(), b"live 1 1000 1 1 1 1 1 1 1 slot\n" * 30000, b"epoch 1 1 1 1 1 open x\n" * 100000),
            b"maps\n" + b"".join(b"%x-%x r-xp 0 00:00 0 /a%d\n" % (i << 12, i + 1 << 12, i) for i in range(50000)),
        ):  # fmt: skip
            kind.file.write_bytes(head + more)
            for words in (["--kind", "allocated"], ["--leaks"]):
                self.check(lambda words=words: said_by(profile, kind.file, *words))

    def test_reports(self):
        kind = Reports(self.own, self.library)
        whole = kind.whole.rstrip(b"\n")
        for more in (
            *(b',"a":' + b"9" * (1 << 22), b',"a":' + b"[" * (1 << 22), b',"a":"' + b"x" * (1 << 22) + b'"'),
            b"".join(b',"a%d":%d' % (i, i) for i in range(100000)),
        ):
            kind.file.write_bytes(whole[:-1] + more + b"}\n")
            self.check(lambda: said_by(stat, kind.file))
        kind.file.write_bytes(kind.whole * 500)
        self.check(lambda: said_by(stat, kind.file))


def run_long(library, seconds, seed, names):
    bad = 0
    for name in names or KINDS:
        with tempfile.TemporaryDirectory(prefix="tslab-test-") as folder:
            tried, wrong = try_some(KINDS[name](folder, library), random.Random(seed), seconds / len(names or KINDS))
        print(f"{name}: {tried} files, {len(wrong)} ways to go wrong", flush=True)
        for number, (problem, data) in enumerate(wrong.values()):
            Path(f"wrong.{name}.{number}").write_bytes(data)
            print(problem, flush=True)
        bad += len(wrong)
    return bad != 0


if __name__ == "__main__":
    if sys.argv[2:3] == ["--long"]:
        rest = sys.argv[4:]
        sys.exit(run_long(os.path.abspath(sys.argv[1]), float(sys.argv[3]), rest[:1] and int(rest[0]), rest[1:]))
    tslab_test.main()
