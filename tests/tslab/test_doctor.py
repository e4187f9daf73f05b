"""`tslab doctor` on programs that are ill in one way each: it says which, by how much, and where.
usage: test_doctor.py LIBRARY PATIENTS"""

import concurrent.futures
import json
import os
import re
import signal
import sys
import time
import unittest
from collections import Counter
from typing import NamedTuple

import tslab_test
from tslab_tools.doctor import evidence, rules

PATIENTS = os.path.abspath(sys.argv.pop(2)) if len(sys.argv) > 2 else ""
AT_ONCE = 7
PATIENCE = 60
SKIPPED = 77
MIB = 1 << 20


class Case(NamedTuple):
    illness: str
    options: str
    finding: str
    least: float  # MiB
    says: str  # a part of the sentence, the cure or a row
    seconds: float = 0.2  # to watch


SAMPLED = "profile=16K"
CASES = (
    Case("scattered", "", "pins", 26, r"slabs for 512 bytes: objects use 1[123] % of these"),
    Case("scattered", SAMPLED, "pins", 26, r"own for what import_rows \(.*\) allocates would return about 2[78]\.. MiB"),
    Case("scattered", SAMPLED.replace("16K", "1T"), "pins", 26, r"slabs for 512 bytes"),
    Case("same_place", SAMPLED, "pins", 26, r"What died came from there, too"),
    Case("holds", "", "live", 32, r"32\.0 MiB.*objects of up to 512 bytes"),
    Case("holds", SAMPLED, "live", 32, r"import_rows"),
    Case("grows", "", "grows", 32, r"objects of up to 1,024 bytes", 1),
    Case("grows", SAMPLED, "grows", 32, r"remember", 1),
    Case("frees_all", "purge_delay_ms=600000", "retained", 30, r"it returns 10 min after"),
    Case("frees_all", "purge=never", "never-returns", 30, r"adaptive"),
    Case("locked", "", "refused", 1.5, r"it refused [\d,]+ times?; \S+ MiB of the library's memory are locked"),
    Case("maps_itself", "", "others", 48, r"anonymous, at 7"),
    Case("maps_many", "", "others", 60, r"60 anonymous mappings of 1\.0 MiB each"),
    Case("deep_stacks", "", "others", 35, r"stacks of 6[01] threads"),
    Case("maps_ever_more", "", "others", 48, r"and it grew by \S+ MiB in \S+ s", 1),
    Case("idle_threads", "", "caches", 30, r"of 61 threads, of which \d\d did not run"),
    Case("draining", "", "draining", 2, r"label request there are 600"),
    Case("draining", SAMPLED, "draining", 2, r"parse_rows"),
    Case("left_open", "", "open-epochs", 28, r"label session there are 600"),
    Case("thin_epochs", "huge_pages=always", "huge-pages", 20, r"MiB of the library's memory are in huge pages"),
    Case("refused", "limit_bytes=16M", "limit", 0, r"of 16\.0 MiB are used.*it refused \d+ allocations?"),
    Case("refused_by_label", "epoch_limits=request=8M", "label-limit", 0, r"tslab ctl \d+ epoch_limits=request=N"),
    Case("refused_by_epoch", "", "label-limit", 0, r"label request, by limits of its epochs: [\d,]+ refusals"),
    Case("refused_by_epoch", "epoch_limits=request=16M", "label-limit", 0, r"by limits of its epochs: [\d,]+ refusals"),
    Case("holds", "soft_limit_bytes=16M", "pressure", 0, r"soft limit \(16\.0 MiB\)"),
)  # fmt: skip
# Each illness that has a cure, and its cure: a command of the doctor's own, with numbers for N; other options at the start;
# or another program that does as it is told.
CURES = (
    (CASES[0], "apart"),
    (CASES[1], "apart"),
    (Case("same_place", SAMPLED, "pins", 26, ""), "apart"),
    (Case("frees_all", "purge_delay_ms=600000", "retained", 30, "purge=eager"), "ctl"),
    (Case("frees_all", "purge=never", "never-returns", 30, ""), "ctl"),
    (Case("locked", "", "refused", 1.5, ""), "not_locked"),
    (Case("idle_threads", "", "caches", 30, "TSLAB_CACHE_BYTES=N"), "cache_bytes=1M"),
    (Case("idle_threads", "", "caches", 30, "Fewer threads"), "few_threads"),
    (Case("draining", "", "draining", 2, ""), "drained"),
    (Case("left_open", "", "open-epochs", 28, ""), "closed"),
    (Case("thin_epochs", "huge_pages=always", "huge-pages", 20, "TSLAB_HUGE_PAGES=adaptive"), "huge_pages=adaptive"),
    (Case("refused", "limit_bytes=16M", "limit", 0, ""), "ctl"),
    (Case("refused_by_label", "epoch_limits=request=8M", "label-limit", 0, ""), "ctl"),
    (Case("holds", "soft_limit_bytes=16M", "pressure", 0, ""), "ctl"),
)  # fmt: skip
OF_PYTHON = "import time\nkept = [[i, str(i)] for i in range(300000)]\nprint('idle', flush=True)\ntime.sleep(1000)\n"
OF_REPORTS = (
    Case("refused_by_label", "epoch_limits=request=8M", "label-limit", 0, r"label request, of 8\.0 MiB: \d+ refusals"),
    Case("refused_by_epoch", "", "label-limit", 0, r"label request, by limits of its epochs: [\d,]+ refusals"),
    Case("scattered", "", "pins", 26, r"and of 8,\d\d\d pages [78],\d\d\d have one object each"),
)  # fmt: skip


class Doctor(tslab_test.TslabTest):
    def start(self, case):
        options = dict(word.split("=", 1) for word in f"export=1 {case.options}".split())
        variables = {f"TSLAB_{name.upper()}": value for name, value in options.items()}
        environment = self.environment | variables | {"LD_PRELOAD": self.library}
        patient = self.started([PATIENTS, case.illness], env=environment, cwd=self.own)
        if patient.stdout.readline() != "ready\n":
            self.assertEqual(patient.wait(), SKIPPED)
            return None
        return patient

    def found(self, *words):
        done = self.tslab("doctor", *words, "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        document = json.loads(done.stdout)
        self.assertEqual((document["schema"], document["version"]), ("tslab-doctor", 1))
        return document

    def is_in(self, document, case):
        """Whether the finding is there as it should be, and no other hides it. (A moment before, it may be another.)"""
        names = [finding["name"] for finding in document["findings"]]
        if case.finding not in names[:3]:
            return False
        finding = document["findings"][names.index(case.finding)]
        text = " ".join([finding["says"], *(row["what"] for row in finding["rows"]), finding["cure"]])
        return finding["bytes"] >= case.least * MIB and re.search(case.says, text) is not None

    def examine(self, case):
        """A patient, and what the doctor says in the end: the library needs a moment to give back what it gives back."""
        patient = self.start(case)
        if patient is None:
            return None, None
        end = time.monotonic() + PATIENCE
        while True:
            document = self.found(patient.pid, "--watch", case.seconds)
            if self.is_in(document, case):
                return patient, document
            if case.finding == "huge-pages" and not any(mapping.huge for mapping in evidence.smaps(patient.pid)):
                return None, None  # the system has none
            self.assertLess(time.monotonic(), end, (case, document))

    def test_each_illness_is_found(self):
        """And each rule has a program that shows it."""
        shown = {case.finding for case in CASES + OF_REPORTS} | {"near"}  # that by test_blackbox.py
        self.assertEqual(shown, {rule.name for rule in rules.RULES})
        cured = {case.finding for case, _ in CURES} | {"others"}  # its test is the next but one
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for case, (_, document) in zip(CASES, pool.map(self.examine, CASES)):
                with self.subTest(case):
                    if document and case.finding != "huge-pages":
                        self.assertEqual(document["findings"][0]["name"], case.finding)
                        self.assertLess(abs(document["unexplained_bytes"]), 0.1 * document["rss_bytes"] + MIB)
                    for finding in document["findings"] if document else ():
                        self.assertTrue(finding["cure"] == "" or finding["name"] in cured, finding)

    def cure(self, pid, document, case, way):
        """Takes the cure, and returns the process that had it."""
        if way != "ctl":
            changed = case._replace(options=f"{case.options} {way}") if "=" in way else case._replace(illness=way)
            return self.start(changed).pid
        (finding,) = [finding for finding in document["findings"] if finding["name"] == case.finding]
        words = (
            re.search(r"tslab (ctl \d+ [a-z_]+=[A-Za-z=]+( trim)?)", finding["cure"])[1].replace("=N", "=1G").split()
        )
        done = self.tslab(*words)
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        return pid

    def cured(self, row):
        case, way = row
        patient, document = self.examine(case)
        if document is None:
            return
        (finding,) = [finding for finding in document["findings"] if finding["name"] == case.finding]
        self.assertNotEqual(finding["cure"], "", case)
        pid = self.cure(patient.pid, document, case, way)
        end = time.monotonic() + PATIENCE
        while case.finding in [one["name"] for one in document["findings"]]:
            self.assertLess(time.monotonic(), end, (case, way, document))
            time.sleep(0.1)
            document = self.found(pid, "--watch", case.seconds)

    def test_each_cure_helps(self):
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(self.cured, CURES))

    def test_the_pool_of_python(self):
        """The cure names the option that has malloc serve its objects, which is then not advised again."""
        for given, finding in (({}, "others"), ({"PYTHONMALLOC": "malloc"}, "live")):
            on_library = {"LD_PRELOAD": self.library, "TSLAB_EXPORT": "1", "TSLAB_KEEPER": "2"}
            program = self.started(["/usr/bin/python3", "-c", OF_PYTHON], env=self.environment | given | on_library)
            self.assertEqual(program.stdout.readline(), "idle\n")
            found = self.found(program.pid)["findings"]
            self.assertEqual(found[0]["name"], finding)
            self.assertEqual("PYTHONMALLOC=malloc" in found[0]["cure"], not given)
            self.assertEqual("Python's own allocator" in found[0]["rows"][0]["what"], not given)

    def test_of_a_report(self):
        for case in OF_REPORTS:
            with self.subTest(case):
                name = f"{case.illness}.json"
                more = f"stats=2,{name} stats_signal=USR2 profile=16K,{case.illness}.heap"
                patient = self.start(case._replace(options=f"{case.options} {more}"))
                patient.send_signal(signal.SIGUSR2)
                report = self.own / name
                self.soon(lambda report=report: report.exists() and report.read_text().endswith("}\n"))
                document = self.found(report)
                self.assertTrue(self.is_in(document, case), document)
        profile = self.own / "scattered.heap"
        with_sites = self.found(report, profile)
        self.assertIn("import_rows", with_sites["findings"][0]["rows"][0]["what"])
        wrong = self.tslab("doctor", self.own / "refused_by_label.json", profile)
        self.assertEqual((wrong.returncode, wrong.stdout), (1, ""))
        self.assertRegex(wrong.stderr, r"is a profile of process \d+, not of \d+")

    def test_a_process_that_is_well(self):
        document = self.found(self.start(Case("well", "", "", 0, "")).pid)
        self.assertEqual([finding["name"] for finding in document["findings"]], [])
        self.assertTrue(document["is_well"])
        patient = self.start(Case("well", "", "", 0, ""))
        self.assertIn("\n\nNothing is wrong.\n\nThe figures explain ", self.tslab("doctor", patient.pid).stdout)

    def test_text(self):
        patient = self.start(CASES[0])
        done = self.tslab("doctor", patient.pid, "--watch", "0.2")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assert_narrow(done.stdout)
        self.assertRegex(
            done.stdout, rf"^tslab-patients, process {patient.pid}: RSS \d\d\.\d MiB, at most \d\d\.\d MiB\n\n1\. 2"
        )
        self.assertIn("\n   Cure: An epoch", done.stdout)
        self.assertRegex(done.stdout, r"The figures explain (9\d|100) % of the RSS\. Besides: ")
        self.assertIn("A heap profile would name the places", done.stdout)
        self.assertIn("takes no samples", " ".join(done.stdout.split()))

    def test_refusals(self):
        patient = self.start(Case("well", "export=0", "", 0, ""))
        done = self.tslab("doctor", patient.pid)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("start it with TSLAB_EXPORT=1", done.stderr)
        self.assertIn("There is no file missing.json. ", self.tslab("doctor", "missing.json").stderr)
        (self.own / "damaged.json").write_text('{"schema":"tslab-statistics","pid":1,"accounts":[]}\n')
        self.assertIn("the report lacks what reports have", self.tslab("doctor", "damaged.json").stderr)


class Figures(unittest.TestCase):
    def of(self, rss, **more):
        mappings = [
            evidence.Mapping("", 0, 10 * MIB, 0, 0, True),
            evidence.Mapping("[heap]", 0, MIB, 0, 0, False),
        ]
        return evidence.Evidence(1, "made up", rss, Counter(more), Counter(), [], [], mappings=mappings)

    def test_what_is_not_known_is_said(self):
        found = self.of(20 * MIB, live=10 * MIB)
        self.assertEqual(rules.unexplained(found), 9 * MIB)
        self.assertEqual(rules.unexplained(self.of(11 * MIB, live=10 * MIB)), 0)
        self.assertEqual(rules.unexplained(self.of(11 * MIB, live=90 * MIB)), 0)
        self.assertEqual(rules.diagnose(found), [])

    def test_more_than_the_accounts_tell(self):
        found = self.of(11 * MIB, live=2 * MIB)
        found.mappings[0] = found.mappings[0]._replace(huge=9 * MIB)
        self.assertEqual([one.name for one in rules.diagnose(found) if one.name != "live"], ["huge-pages"])
        self.assertEqual(rules.unexplained(found), 0)

    def test_mappings_of_this_process(self):
        """Without the library there is no arena, so nobody knows whose is what."""
        self.assertIsNone(evidence.smaps(os.getpid()))
        self.assertIsNone(evidence.smaps(1 << 30))

    def test_numbers(self):
        self.assertEqual([evidence.number(text) for text in ("500", "2K", "1g", "", "x")], [500, 2048, 1 << 30, 0, 0])
        self.assertEqual([rules.size(n) for n in (5, 1536, 3 << 40)], ["5 B", "1.5 KiB", "3.0 TiB"])
        self.assertEqual([rules.span(n) for n in (0.5, 119, 600, 7200)], ["0.5 s", "119.0 s", "10 min", "2 h"])


if __name__ == "__main__":
    tslab_test.main()
