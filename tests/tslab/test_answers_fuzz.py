"""Properties of what reads answers: any bytes are figures or a refusal in words, and figures can be shown in every form.
usage: test_answers_fuzz.py [LIBRARY]"""

import contextlib
import json
import os
import struct
import tempfile
import types
import unittest
import unittest.mock

from hypothesis import HealthCheck, configuration, example, given, settings
from hypothesis import strategies as st
from prometheus_client.openmetrics import exposition
from prometheus_client.openmetrics import parser as openmetrics

import channels
import tslab_test
from tslab_tools import terminal
from tslab_tools.failure import Failure
from tslab_tools.live import answers, channel, exporter, metrics, processes, screen, summary, units

HOME = tempfile.TemporaryDirectory(prefix="tslab-test-")  # else hypothesis makes one where the test runs
configuration.set_hypothesis_home_dir(HOME.name)
settings.register_profile(
    "tests", max_examples=200, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
settings.load_profile("tests")
U64 = st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([0, 1, 2**63, 2**64 - 1]))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=9)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)
ROWS = (("classes", answers._CLASS), ("labels", answers._LABEL), ("label_limits", answers._LIMIT))


def damaged(of, name, value, is_lost):
    """With another value, or without one."""
    of[name] = value
    if is_lost:
        del of[name]


@st.composite
def made(draw):
    """Figures with any numbers and texts, without what need not be there."""
    numbers = draw(st.lists(U64, min_size=1, max_size=11))
    found = channels.document(labels=draw(st.lists(st.text(max_size=40), max_size=3)))
    for number, (name, required) in enumerate((*ROWS, ("totals", answers._REQUIRED), (None, answers._REQUIRED))):
        rows = found[name] if number < len(ROWS) else [found[name] if name else found]
        for row in rows:
            for at, column in enumerate(list(row)):
                if type(row[column]) is int and column != "version":
                    row[column] = numbers[(at + number) % len(numbers)]
                    if column not in required and draw(st.integers(0, 9)) == 0:
                        del row[column]
    found["options"] = draw(st.dictionaries(st.text(max_size=20), st.text(max_size=20), max_size=3))
    found["library"] = draw(st.text(max_size=20))
    return json.dumps(found).encode()


def process_of(data, program="", unit=""):
    process = processes.Process(1 << 30)  # there is none
    process.figures, process.program, process.unit = answers.parse(data, 1), program, unit
    return process


class Parsing(unittest.TestCase):
    def check(self, data):
        """Returns whether these are figures."""
        try:
            found = answers.parse(data, 1)
        except answers.Unreadable as refusal:
            self.assertTrue(str(refusal).isprintable())
            return False
        told = [(answers._REQUIRED, found.process), *((answers._CLASS, row) for row in found.classes)]
        told += [(answers._LABEL, row) for row in found.labels] + [(answers._LIMIT, row) for row in found.limits]
        for required, row in told:
            self.assertLessEqual(required, set(row))
            numbers = [value for name, value in row.items() if name != "label"]
            self.assertTrue(all(type(value) is int and 0 <= value < 1 << 64 for value in numbers))
        texts = [row["label"] for row in (*found.labels, *found.limits)] + [*found.options, *found.options.values()]
        self.assertTrue(all(len(text.encode()) <= 4 * answers._TEXT_MOST for text in texts))
        return True

    @given(st.binary(max_size=300))
    def test_any_bytes(self, data):
        self.check(data)
        self.check(b'{"schema": "tslab-statistics", "version": 2, "totals": {' + data)

    @given(VALUES)
    def test_any_json(self, value):
        self.assertFalse(self.check(json.dumps(value).encode()))

    @settings(max_examples=400)
    @given(st.sampled_from([*channels.document(), "row"]), st.integers(0, 40), VALUES, st.booleans(), st.booleans())
    def test_damaged_figures(self, name, number, value, is_lost, inside):
        found = channels.document()
        of = found
        if name == "row":
            of, name = found[ROWS[number % 3][0]][0], sorted(ROWS[number % 3][1])[number % 7 % len(ROWS[number % 3][1])]
        elif inside and isinstance(found[name], dict):
            of, name = found[name], sorted(found[name])[number % len(found[name])]
        damaged(of, name, value, is_lost)
        self.check(json.dumps(found).encode())

    @given(made(), st.data())
    def test_made_and_cut_off(self, data, more):
        self.assertTrue(self.check(data))
        self.assertFalse(self.check(data[: more.draw(st.integers(0, len(data) - 1))]))


class Asking(unittest.TestCase):
    """A file with any bytes in the place of ours, of this process."""

    HEAD = struct.Struct("<8sIIQIIQ")

    @classmethod
    def setUpClass(cls):
        cls.file = os.memfd_create("tslab-export")
        cls.addClassCleanup(os.close, cls.file)

    def asked(self):
        """What comes of it: figures or a failure in words."""
        path = unittest.mock.patch.object(channel, "path_of", return_value=f"/proc/self/fd/{self.file}")
        process = processes.Process(os.getpid())
        self.addCleanup(process.channel.close)
        with path:
            try:
                if process.find() and process.ask():
                    process.channel.is_answered()
                    process.take()
            except Failure as failure:
                self.assertTrue(str(failure).isprintable())
            process.channel.close()
            with contextlib.suppress(Failure), channel.Channel(os.getpid()) as opened:
                self.assertTrue(opened.ask("trim", patience=0).isprintable())

    @given(st.binary(max_size=6000))
    def test_any_bytes(self, data):
        os.ftruncate(self.file, 0)
        os.pwrite(self.file, data, 0)
        self.asked()

    @given(
        st.tuples(*[st.integers(0, 2**32 - 1)] * 2, *[U64] * 2), st.lists(st.booleans(), min_size=6, max_size=6),
        st.binary(max_size=1200), st.binary(max_size=300), st.integers(0, 6000),
    )  # fmt: skip
    def test_heads(self, numbers, are_right, said, body, size):
        right = (b"TSLABASK", 3, 0, os.getpid(), 0, 1, len(body))
        version, zero, pid, length = numbers
        wrong = (said[:8], version, zero, pid, version, zero, length)
        head = [a if is_right else b for a, b, is_right in zip(right, wrong, [*are_right, are_right[0]])]
        os.ftruncate(self.file, 0)
        os.pwrite(self.file, self.HEAD.pack(*head), 0)
        os.pwrite(self.file, said if are_right[0] else b"done: " + said, 40 + 1024)
        os.pwrite(self.file, body, 4096)
        os.ftruncate(self.file, size if are_right[1] else 4096 + len(body))
        self.asked()


class Showing(unittest.TestCase):
    """What answers have beyond the required figures may be missing, and numbers may be any."""

    @settings(max_examples=40)
    @given(st.lists(made(), min_size=1, max_size=3), st.lists(st.text(max_size=20), min_size=6, max_size=6))
    @example([channels.body().encode()], ["\x1b[2J", "[/bold]", "\ud800", "a\nb", "\u202e", '"\\'])
    def test_every_form(self, data, texts):
        self.show([process_of(raw, *texts[2 * n : 2 * n + 2]) for n, raw in enumerate(data)])

    def test_each_column_that_one_row_lacks(self):
        for name, required in ROWS:
            of_names = {"labels": ["a", "b"]}
            for column in sorted(set(channels.document(**of_names)[name][0]) - required - {"label"}):
                found = channels.document(**of_names)
                found[name] = [dict(found[name][0]), dict(found[name][0])]
                del found[name][0][column]
                with self.subTest(of=name, column=column):
                    self.show([process_of(json.dumps(found).encode())])

    def show(self, found):
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


if __name__ == "__main__":
    tslab_test.main()
