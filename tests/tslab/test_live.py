"""What is made of the answers of processes: figures, the screen, the metrics; the dashboard and the rules that name them. No
process runs here.
usage: test_live.py [LIBRARY]"""

import json
import os
import pwd
import random
import re
import shutil
import subprocess
import time
import types
import unittest
import unittest.mock

import prometheus_client
from prometheus_client import parser as plain_text
from prometheus_client.openmetrics import exposition
from prometheus_client.openmetrics import parser as openmetrics
from rich.text import Text

import tslab_test
from channels import body, process_of
from tslab_tools import terminal
from tslab_tools.failure import Failure
from tslab_tools.live import answers, exporter, figures, keys, metrics, requests, screen, summary, units

MONITORING = tslab_test.ROOT / "packaging/monitoring"


class Answers(unittest.TestCase):
    def test_figures(self):
        found = answers.parse(body(7, ("request", "session")).encode(), 3.5)
        self.assertEqual((found.taken, found.library, found.process["allocations"]), (3.5, "0.2.0", 7))
        self.assertEqual(set(found.process.values()), {7})
        self.assertEqual(found.accounts["live_slots_untouched"], 7)
        self.assertEqual(len(found.accounts), 2 * len(figures.ACCOUNTS))
        self.assertEqual(found.classes, [{name: 7 for name, *_ in figures.CLASS_COUNTED}])
        self.assertEqual([row["label"] for row in found.labels], ["request", "session"])
        self.assertEqual([row["refusals"] for row in found.limits], [7, 7])
        self.assertEqual(found.options, {"purge": "never", "profile": "524288", "stats": "2,a=b"})

    def test_what_is_required(self):
        """A library of another version may have more, and lack the rest."""
        for name in sorted(answers._REQUIRED):
            text = body().replace(f'"{name}":', '"another":')
            self.assertRaisesRegex(answers.Unreadable, f"^its figures lack {name}$", answers.parse, text, 1)
        other = body().replace('"work_units"', '"new": {"a": []}, "work_units"').replace('"harvests"', '"another"')
        found = answers.parse(other.encode(), 1)
        self.assertFalse({"new", "another", "harvests"} & set(found.process))
        self.assertIn("another", found.classes[0])
        self.assertEqual(answers.parse(body(labels=["\ud800" + "x" * 1000]), 1).labels[0]["label"], "?" + "x" * 511)

    def test_rates(self):
        self.assertEqual(process_of(500, before=100).rate("allocations"), 400)
        self.assertIsNone(process_of(500).rate("allocations"))
        self.assertEqual(process_of(100, before=500).rate("allocations"), 0)


# Texts of strangers, and how they are shown.
STRANGE = (
    ("redis-server", "redis-server"),
    ("[/bold]:smile:", "[/bold]:smile:"),
    ("f[abi:cxx11]()", "f[abi:cxx11]()"),
    ("\x1b[2J\r\n\0\x7f", r"\x1b[2J\r\n\x00\x7f"),
    ("\x80\x9b1m\x9f", r"\x80\x9b1m\x9f"),
    ("a\u202eb\u2066c\u200f", r"a\u202eb\u2066c\u200f"),
    ("\u2028\ufeff\U000e0001\ud800\udcff", r"\u2028\ufeff\U000e0001\ud800\udcff"),
    ("\u00e9\u65e5", "\u00e9\u65e5"),
)


class Units(unittest.TestCase):
    def test_units(self):
        number = "0123456789ab" + 52 * "f"
        for path, unit in (
            ("/system.slice/nginx.service", "nginx.service"),
            ("/system.slice/system-postgresql.slice/postgresql@15-main.service", "postgresql@15-main.service"),
            ("/user.slice/user-1000.slice/user@1000.service/app.slice/nginx.service", "user-1000.slice"),
            ("/user.slice/user-1000.slice/session-7.scope", "user-1000.slice"),
            (f"/user.slice/user-7.slice/user@7.service/user.slice/libpod-{number}.scope/container", "user-7.slice"),
            (f"/system.slice/docker-{number}.scope/system.slice/nginx.service", "0123456789ab"),
            (f"/docker/{number}", "0123456789ab"),
            (f"/kubepods.slice/kubepods-pod1.slice/cri-containerd-{number}.scope", "0123456789ab"),
            ("/lxc.payload.web/nginx", "lxc.payload.web"),
            ("/init.scope", "init.scope"),
            ("/../..", ".."),
            ("/", "/"),
            ("/" + 9 * number + ".service", (9 * number)[:128]),
        ):
            self.assertEqual(units.unit_of(f"0::{path}\n"), unit)
            self.assertEqual(units.unit_of(f"12:cpu,cpuacct:/a/b\n1:name=systemd:{path}\n0::/\n"), unit)
        self.assertEqual(units.unit_of(""), "/")


class Strangers(unittest.TestCase):
    """Names of programs, labels and threads are text, whatever is in them."""

    def test_plain_text(self):
        for text, shown in STRANGE:
            self.assertEqual(terminal.plain_text(text), shown)


class Screen(unittest.TestCase):
    def test_numbers_fit(self):
        dice = random.Random(3)
        for _ in range(20000):
            value = dice.randrange(1 << dice.randrange(1, 63))
            self.assertLessEqual(len(screen.size(value)), 5, value)
            self.assertLessEqual(len(screen.number(min(value, 9 * 10**15))), 5, value)
            self.assertLessEqual(len(screen.span(min(value, 1 << 33) / 1000)), 5, value)
        self.assertEqual(
            [screen.size(n) for n in (0, 999, 1000, 1536, -2048)], ["0B", "999B", "0.98K", "1.50K", "-2.00K"]
        )
        self.assertEqual([screen.span(s) for s in (None, 0, 59, 3600, 1e6)], ["-", "0.0s", "59s", "60m", "12d"])

    def test_every_screen_fits(self):
        many = [process_of(n << (3 * n), before=0, labels=("\x1b[2J", "x" * 31), rss_bytes=1 << n) for n in range(15)]
        for pid, process in enumerate(many):
            process.pid = 4194304 - pid
        for width, height in ((80, 24), (40, 8), (200, 60), (21, 24), (1, 5)):
            for found in ([], many[:1], many):
                view = screen.View(found, problems=["a long problem " * 20])
                for key in ("r", "down", "e", "o", "end", "enter", "page down", "up", "q", "h", "h", "p", "enter"):
                    view.press(key)
                    view.said = "said\x1b " * (width if key == "up" else 0)
                    lines = screen.lines(view, width, height)
                    self.assertEqual(len(lines), height)
                    for line in lines:
                        self.assertLessEqual(line.cell_len, width, line.plain)
                        self.assertTrue(line.plain.isprintable(), line.plain)

    def test_a_wide_list_tells_whose_a_process_is(self):
        """A process that lies of itself may have any name."""
        one = process_of(1)
        one.pid, one.unit = os.getpid(), "redis.service"
        user = pwd.getpwuid(os.geteuid()).pw_name[:12]
        for width, wide in ((80, False), (119, False), (120, True), (200, True)):
            row = screen.lines(screen.View([one]), width, 24)[2].plain
            self.assertEqual(row.split()[-2:] == [user, one.unit], wide)

    def test_keys(self):
        few = [process_of(value, rss_bytes=value) for value in (1, 2, 3)]
        for pid, process in enumerate(few):
            process.pid = pid + 1
            process.figures.process["live"] = -pid
        view = screen.View(few)
        self.assertEqual([process.pid for process in view.sorted], [3, 2, 1])
        view.press("down")
        view.press("enter")
        self.assertEqual(view.inside, 2)
        self.assertIn("process 2", screen.lines(view, 80, 24)[0].plain)
        view.show(few[:1])
        self.assertIn("has ended", screen.lines(view, 80, 24)[0].plain)
        view.press("q")
        self.assertEqual((view.inside, view.ended), (None, False))
        view.show(few)
        view.press("l")
        self.assertEqual([process.pid for process in view.sorted], [1, 2, 3])
        view.press("back")
        self.assertFalse(view.ended)
        view.press("q")
        self.assertTrue(view.ended)

    def test_keys_that_ask_the_process(self):
        view = screen.View([process_of(1)])
        asked = []
        with unittest.mock.patch.dict(requests.KEYS, {"t": lambda one: asked.append(one) or "trim:\x1b done"}):
            for keys_before, count in (("t", 0), ("enter", 0), ("t", 1), ("h", 1), ("t", 1), ("h", 1)):
                view.press(keys_before)
                view.obey()
                self.assertEqual(len(asked), count)
            self.assertIn("t: trim", screen.lines(view, 80, 24)[-1].plain)
            view.press("t")
            view.obey()
            self.assertEqual(screen.lines(view, 80, 24)[-2].plain, r"trim:\x1b done")
            view.press("up")
            self.assertNotIn("trim:? done", [line.plain for line in screen.lines(view, 80, 24)])
        self.assertEqual(asked, [view.the_one()] * 2)

    def test_a_key_for_each_column(self):
        self.assertEqual(len({column.key for column in screen.COLUMNS} | set("qh? ")), len(screen.COLUMNS) + 4)
        self.assertEqual(set(screen.HELP_OF_COLUMNS), {column.name for column in screen.COLUMNS})

    def test_bytes_of_keys(self):
        found = list(keys.split(b"\x1b[A\x1bOBq\x1b[5~\r\x1b[99;9Rx\x7f\x1b"))
        self.assertEqual(found, ["up", "down", "q", "page up", "enter", "x", "back", "back"])

    def test_pressure_and_draining_are_marked(self):
        process = process_of(1, labels=("request",), soft_pressure=1)
        row = screen._row(process, False, 80)
        self.assertIn("!", row.plain)
        self.assertIn("1/3", row.plain)
        self.assertTrue(any("pressure: soft, container" in line.plain for line in screen.details(process, 80)))
        self.assertIsInstance(row, Text)


class Metrics(unittest.TestCase):
    def found(self):
        strange = process_of(1, labels=('a"\\\n', "\ufffd", "\ufffd", ""))
        strange.pid = 77
        return [process_of(1 << 40, labels=("request", "other")), strange]

    def read(self, collected):
        """The samples of these metrics, as Prometheus reads them in both formats."""
        registry = types.SimpleNamespace(collect=lambda: collected)
        for written, read in (
            (prometheus_client.generate_latest, plain_text),
            (exposition.generate_latest, openmetrics),
        ):
            families = read.text_string_to_metric_families(written(registry).decode())
            samples = [sample for family in families for sample in family.samples]
            keys_of = [(sample.name, *sorted(sample.labels.items())) for sample in samples]
            self.assertEqual(len(keys_of), len(set(keys_of)), "a sample is there twice")
            yield samples

    def test_prometheus_reads_them(self):
        found = self.found()
        found[1].program = 'na"me\\\x1b'
        for samples in self.read([*metrics.of_each(found), *metrics.of_exporter(2, 1, 0)]):
            self.assertEqual({sample.name for sample in samples}, metrics.names())
            value = {(s.name, s.labels.get("pid"), s.labels.get("label")): s.value for s in samples}
            self.assertEqual(value["tslab_allocations_total", "77", None], 1)
            self.assertEqual(value["tslab_epoch_live_bytes", "77", 'a"\\\\n'], 1)
            self.assertEqual(value["tslab_epoch_live_bytes", "77", "\ufffd"], 2)
            self.assertEqual(value["tslab_epoch_live_bytes", "1073741824", "(others)"], 2 << 40)
            self.assertEqual(value["tslab_exporter_unreadable", None, None], 1)
            self.assertEqual({s.labels["program"] for s in samples if s.labels.get("pid") == "77"}, {r'na"me\\x1b'})

    def test_nothing_to_tell(self):
        for collected in (metrics.of_each([]), metrics.Sums().metrics([])):
            self.assertEqual(list(collected), [])

    def test_sums(self):
        """Of a program in a unit. What was at its peak at other times, and what ends with a process, is not summed up."""
        a, b, c = (process_of(value, labels=("x", "y")) for value in (3, 4, 5))
        for pid, (one, unit) in enumerate(zip((a, b, c), ("a.service", "a.service", "b.service"))):
            one.pid, one.program, one.unit = pid + 1, "server", unit
            one.figures.labels[0].update({"labels": 1, "oldest_ms": 1000 * (pid + 1), "peak_bytes": 10 + pid})
            one.figures.labels[0]["resident_bytes"] = 5
        for samples in self.read([*metrics.Sums().metrics([a, b, c])]):
            value = {
                (s.name, s.labels["unit"], *(s.labels[x] for x in s.labels if x not in ("unit", "program"))): s.value
                for s in samples
            }
            names = {sample.name for sample in samples}
            self.assertEqual(value["tslab_processes", "a.service", "0.2.0"], 2)
            self.assertEqual(value["tslab_memory_bytes", "a.service", "live"], 7)
            self.assertEqual(value["tslab_memory_bytes", "b.service", "live"], 5)
            self.assertEqual(value["tslab_rss_bytes", "a.service"], 7)
            self.assertEqual(value["tslab_account_bytes", "a.service", "live_slots"], 7)
            self.assertEqual(value["tslab_pressure", "a.service", "soft"], 7)
            self.assertEqual(value["tslab_queue_longest", "a.service"], 4)
            self.assertEqual(value["tslab_thread_records", "a.service"], 4)
            self.assertEqual(value["tslab_queue_length", "a.service"], 7)
            self.assertEqual(value["tslab_epochs", "a.service", "x", "draining"], 7)
            self.assertEqual(value["tslab_epoch_oldest_seconds", "a.service", "x"], 2)
            self.assertEqual(value["tslab_epoch_peak_bytes", "a.service", "x"], 11)
            self.assertEqual(value["tslab_epoch_resident_bytes", "a.service", "x"], 10)
            self.assertFalse({sample.labels.get("pid") for sample in samples} - {None})
            self.assertFalse([name for name in names if name.startswith("tslab_class_")])
            self.assertFalse(names & {"tslab_limit_bytes", "tslab_label_limit_bytes", "tslab_rss_peak_bytes"})
            self.assertGreater(names, {f"{family.name}_total" for family in metrics.COUNTERS})

    def test_counters_of_sums_only_grow(self):
        """Processes begin with counts of their own, as children of forks have, count, end, and are others with the same
        number; Prometheus would take a sum that falls for one that began at 0."""
        sums, allocations = metrics.Sums(), []

        def scrape(*counts):
            found = []
            for pid, inode, count in counts:
                found.append(process_of(1, allocations=count))
                found[-1].pid, found[-1].channel.inode, found[-1].program, found[-1].unit = pid, inode, "server", "u"
            values = [
                sample.value
                for metric in sums.metrics(found)
                for sample in metric.samples
                if sample.name == "tslab_allocations_total"
            ]
            allocations.extend(values)
            return values

        self.assertEqual(scrape((1, 1, 100), (2, 2, 1000)), [0])
        self.assertEqual(scrape((1, 1, 150), (2, 2, 1001)), [51])
        self.assertEqual(scrape((1, 1, 150), (3, 3, 5000)), [51])  # 2 has ended; 3 is a child of a fork
        self.assertEqual(scrape((1, 1, 150), (3, 3, 5007)), [58])
        self.assertEqual(scrape((1, 4, 3), (3, 3, 5007)), [58])  # 1 is another process
        self.assertEqual(scrape((1, 4, 4), (3, 3, 0)), [59])  # 3 lies
        self.assertEqual(scrape(), [])
        self.assertEqual(scrape((9, 9, 4)), [0])
        self.assertEqual(sums.pids, {9})

    def test_refusals_by_label(self):
        """A label may get its limit while the process runs: it has refused nothing before."""
        sums, one = metrics.Sums(), process_of(1, labels=("a", "b"))
        one.figures.process["label_limit_refusals"] = 0

        def scrape(*refusals):
            one.figures.limits[:] = [
                {"limit_bytes": 1, "used_bytes": 1, "refusals": count, "label": label} for label, count in refusals
            ]
            return {
                sample.labels["label"]: sample.value
                for metric in sums.metrics([one])
                for sample in metric.samples
                if sample.name == "tslab_label_refusals_total"
            }

        self.assertEqual(scrape(), {})
        self.assertEqual(scrape(("a", 3)), {"a": 3})
        self.assertEqual(scrape(("a", 5), ("b", 1)), {"a": 5, "b": 1})
        many = [(f"x{number}", 1) for number in range(2 * metrics._NAMES_MOST)]
        self.assertEqual(sum(scrape(*many).values()), 6 + len(many))
        self.assertLessEqual(len(scrape(*many)), metrics._NAMES_MOST + 1)

    def test_names_that_programs_choose_make_no_series_without_end(self):
        sums, seen = metrics.Sums(), set()
        for turn in range(30):
            found = []
            for number in range(10):
                found.append(process_of(1, labels=[str(turn * 100 + number * 10 + n) for n in range(10)]))
                for row in found[-1].figures.labels:
                    row["labels"] = 1
                found[-1].pid, found[-1].unit = number + 1, "user-1.slice"
                found[-1].program = f"{turn} {number}" if number else "same"
            for metric in sums.metrics(found):
                seen |= {(s.name, *s.labels.items()) for s in metric.samples}
        programs = {dict(labels)["program"] for _, *labels in seen}
        self.assertEqual(len(programs), metrics._NAMES_MOST + 1)
        self.assertIn(metrics.OTHERS, programs)
        labels = {dict(labels).get("label") for _, *labels in seen if dict(labels)["program"] == "same"} - {None}
        self.assertEqual(len(labels), metrics._NAMES_MOST + 1)

    def test_every_figure_of_a_counter_is_there(self):
        """A typing error in the table would only be seen where it is used."""
        for family in metrics.FAMILIES:
            self.assertTrue(list(family.samples(process_of(1))), family.name)

    def test_json(self):
        found = json.loads(json.dumps(summary.as_json(process_of(3, before=1))))
        self.assertEqual(found["rates"]["allocations"], 2)
        self.assertEqual(found["pressure"], ["soft", "container"])

    def test_addresses(self):
        self.assertEqual(exporter.address("127.0.0.1:80"), ("127.0.0.1", 80))
        self.assertEqual(exporter.address("[::1]:80"), ("::1", 80))
        self.assertEqual(exporter.address(":80"), ("127.0.0.1", 80))
        for text in ("", "127.0.0.1", "127.0.0.1:x", "a:99999"):
            self.assertRaises(Failure, exporter.address, text)


class Monitoring(unittest.TestCase):
    """The files for Grafana and Prometheus name metrics that there are."""

    def names_in(self, text):
        return set(re.findall(r"\btslab_\w+", text))

    def test_dashboard(self):
        dashboard = json.loads((MONITORING / "grafana-dashboard.json").read_text())
        targets = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
        self.assertGreater(len(targets), 8)
        for text in targets + [json.dumps(dashboard["templating"])]:
            self.assertLessEqual(self.names_in(text), metrics.names(), text)
        self.assertEqual(len({panel["id"] for panel in dashboard["panels"]}), len(dashboard["panels"]))
        by_label = {f"tslab_epoch_{of}_bytes" for of in ("live", "memory", "peak", "resident")}
        self.assertLessEqual(by_label | {"tslab_label_refusals_total"}, self.names_in(" ".join(targets)))
        places = [panel["gridPos"] for panel in dashboard["panels"]]
        cells = [(x, place["y"]) for place in places for x in range(place["x"], place["x"] + place["w"])]
        self.assertEqual(len(set(cells)), len(cells), "panels lie on each other")

    def test_rules(self):
        text = (MONITORING / "prometheus-rules.yml").read_text()
        expressions = re.findall(r"^ +expr: (.*(?:\n {12,}.*)*)", text, re.MULTILINE)
        self.assertGreaterEqual(len(expressions), 5)
        self.assertEqual(len(expressions), len(re.findall(r"- alert: Tslab\w+$", text, re.MULTILINE)))
        for expression in expressions:
            self.assertTrue(self.names_in(expression), expression)
            self.assertLessEqual(self.names_in(expression), metrics.names(), expression)

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not here")
    def test_promtool(self):
        for words in (["check", "rules", "prometheus-rules.yml"], ["test", "rules", "prometheus-rules.test.yml"]):
            done = subprocess.run(["promtool", *words], cwd=MONITORING, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    time.tzset()
    tslab_test.main()
