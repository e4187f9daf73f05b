"""Properties of what reads boards: any bytes are figures or a refusal in words, and figures can be shown in every form.
usage: test_board_fuzz.py [LIBRARY]"""

import contextlib
import functools
import itertools
import json
import struct
import tempfile
import types
import unittest
import zlib

from hypothesis import HealthCheck, configuration, example, given, settings
from hypothesis import strategies as st
from prometheus_client.openmetrics import exposition
from prometheus_client.openmetrics import parser as openmetrics

import boards
import tslab_test
from tslab_tools import terminal
from tslab_tools.failure import Failure
from tslab_tools.live import board, exporter, metrics, processes, report, screen, summary, units

HOME = tempfile.TemporaryDirectory(prefix="tslab-test-")  # else hypothesis makes one where the test runs
configuration.set_hypothesis_home_dir(HOME.name)
PID = 4711
CORPUS = [boards.true(PID), *(data(PID) for data, *_ in boards.LIES.values())]
settings.register_profile(
    "tests", max_examples=200, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
settings.load_profile("tests")
U32 = st.one_of(st.integers(0, 64), st.integers(0, 2**32 - 1), st.sampled_from([2**31, 2**32 - 1, 4096, 8192]))
U64 = st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([0, 1, 2**63, 2**64 - 1]))
WORDS = sorted({name for each in boards.NAMES for name in each} | {"label", "new", "__class__"})


def summed(data, head_bytes, copy_bytes):
    """The board with right checksums, so that what is behind them is read."""
    data = bytearray(data)
    for start in range(head_bytes, len(data) - 39, max(40, copy_bytes)):
        used = struct.unpack_from("<I", data, start + 4)[0]
        struct.pack_into("<I", data, start, zlib.crc32(data[start + 4 : start + max(4, min(used, copy_bytes))]))
    return bytes(data)


@st.composite
def damaged(draw):
    """A board of the corpus with other numbers in places."""
    data = bytearray(draw(st.sampled_from(CORPUS)))
    head_bytes = struct.unpack_from("<I", data, 12)[0] if len(data) >= 32 else 0
    places = [st.integers(0, 11), st.integers(0, 27), st.integers(head_bytes // 4, head_bytes // 4 + 16)]
    for _ in range(draw(st.integers(1, 4))):
        at = 4 * draw(st.one_of(places))
        if at + 4 <= len(data):
            struct.pack_into("<I", data, at, draw(U32))
    if draw(st.booleans()):
        data = data[: draw(st.integers(0, len(data)))]
    if len(data) < 32 or draw(st.booleans()):
        return bytes(data)
    _, _, head_bytes, _, copy_bytes, _, _ = struct.unpack_from("<8s6I", data)
    return summed(data, head_bytes, copy_bytes)


@st.composite
def made(draw):
    """A board of any columns, with any numbers and texts in them."""
    names = [sorted(required | draw(st.sets(st.sampled_from(WORDS)))) for required in board.REQUIRED.values()]
    numbers = itertools.cycle(draw(st.lists(U64, min_size=1, max_size=11)))
    labels = draw(st.lists(st.binary(max_size=32), max_size=3))
    texts = [
        [],
        [],
        [],
        labels,
        draw(st.lists(st.binary(max_size=320), max_size=3)),
        draw(st.lists(st.binary(max_size=64))),
        draw(st.lists(st.binary(max_size=32), max_size=3)),
    ]
    counts = (1, 1, draw(st.integers(0, 3)), *map(len, texts[3:]))
    rows = [[[next(numbers) for _ in each] for _ in range(count)] for count, each in zip(counts, names)]
    rows[3:] = [[row + [text] for row, text in zip(rows[n], texts[n])] for n in range(3, len(names))]
    copy = boards.copy_of(draw(st.integers(1, 2**64 - 1)), rows, pid=draw(U64))
    return boards.board_of([copy], names=names)[0]


def process_of(data, program="", unit=""):
    process = processes.Process(1 << 30)  # there is none
    process.figures, process.program, process.unit = board.parse(data), program, unit
    return process


class Parsing(unittest.TestCase):
    def check(self, data):
        try:
            found = board.parse(data)
        except board.Unreadable as refusal:
            self.assertTrue(str(refusal).isprintable())
            return
        self.assertTrue(isinstance(found.program, str) and found.changeable <= set(found.options))
        told = {"process": [found.process], "classes": found.classes, "labels": found.labels, "limits": found.limits}
        for name, rows in told.items():
            for row in rows:
                self.assertLessEqual(board.REQUIRED[name], set(row))
        self.assertLessEqual(8 * sum(map(len, [found.process, *found.classes, *found.labels])), len(data))

    @given(st.binary(max_size=300))
    def test_any_bytes(self, data):
        self.check(data)
        self.check(board.MAGIC + struct.pack("<I", board.VERSION) + data)

    @settings(max_examples=200)
    @given(damaged())
    def test_damaged_boards(self, data):
        self.check(data)

    def test_the_corpus(self):
        for data in CORPUS:
            self.check(data)

    def test_each_required_column_is_missed(self):
        for section, required in enumerate(board.REQUIRED.values()):
            for name in required:
                names = list(boards.NAMES)
                names[section] = [column for column in names[section] if column != name]
                copy = boards.copy_of(1, [[], [], [], []], pid=PID)
                with self.assertRaisesRegex(board.Unreadable, f"no {name} "):
                    board.parse(boards.board_of([copy], names=names)[0])


class Showing(unittest.TestCase):
    """What a board has beyond the required columns may be missing, and numbers may be any."""

    @settings(max_examples=40)
    @given(st.lists(made(), min_size=1, max_size=3), st.lists(st.text(max_size=20), min_size=6, max_size=6))
    @example([boards.true(PID)], ["\x1b[2J", "[/bold]", "\ud800", "a\nb", "\u202e", '"\\'])
    def test_every_form(self, data, texts):
        found = [process_of(raw, *texts[2 * n : 2 * n + 2]) for n, raw in enumerate(data)]
        found[-1].before = found[0].figures
        for line in screen.lines(screen.View(found), 80, 24):
            self.assertTrue(line.plain.isprintable())
        for n, process in enumerate(found):
            process.pid = n + 1
            for line in screen.details(process, 80):
                self.assertTrue(line.plain.isprintable())
            json.dumps(summary.as_json(process))
        sums = metrics.Sums()
        for collected in (list(metrics.of_each(found)), list(sums.metrics(found)), list(sums.metrics(found))):
            text = exposition.generate_latest(types.SimpleNamespace(collect=lambda made=collected: made)).decode()
            samples = [s for family in openmetrics.text_string_to_metric_families(text) for s in family.samples]
            self.assertEqual(len(samples), sum(len(metric.samples) for metric in collected))
            for sample in samples:
                self.assertTrue("".join(sample.labels.values()).isprintable())

    @given(st.text())
    def test_texts(self, text):
        shown = terminal.plain_text(text)
        self.assertTrue(shown.isprintable())
        self.assertEqual(shown == text, text.isprintable())
        self.assertLessEqual(len(units.unit_of(text)), 128)
        self.assertLessEqual(len(units.unit_of(f"0::/{text}")), 128)
        with contextlib.suppress(ValueError):
            self.assertNotEqual(exporter.is_meant(text, ()), None)


PLACES = [
    ("threads", 0),
    ("labels", 0),
    ("classes", 0),
    ("accounts",),
    ("accounts", "exchange"),
    ("totals",),
    ("options",),
    (),
]
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=9)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)


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


class Reports(unittest.TestCase):
    """Those that a program has written: of a stranger's, perhaps."""

    def shown(self, *lines):
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
            file.write("\n".join(lines))
            file.flush()
            title, tables = report.shown(file.name)
        console = terminal.console()
        with console.capture() as capture:
            console.print(title, *(table.rich() for table in tables))
        return capture.get()

    def test_a_report(self):
        self.assertIn("server, process 1", self.shown(json.dumps(report_of(), separators=(",", ":"))))

    @given(st.sampled_from(PLACES), st.integers(0, 11), VALUES, st.booleans())
    def test_damaged_reports(self, place, number, value, is_lost):
        made = report_of()
        of = functools.reduce(lambda part, name: part[name], place, made)
        name = sorted(of)[number % len(of)]
        if name != "schema":
            of[name] = value
            if is_lost:
                del of[name]
        try:
            said = self.shown(json.dumps(made, separators=(",", ":")))
        except Failure as failure:
            self.assertTrue(str(failure).isprintable())
        else:
            self.assertTrue(said.replace("\n", "").isprintable())

    def test_no_report(self):
        for line in (report.START, report.START + ":" + "[" * 100000, report.START + ":1}{", ""):
            self.assertRaisesRegex(Failure, "no whole report", self.shown, line)


if __name__ == "__main__":
    tslab_test.main()
