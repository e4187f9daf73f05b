"""The report: its sums against known answers, the page in a browser, the looks of the allocators, refusals."""

import base64
import itertools
import json
import math
import re
import shutil
import unittest

import report_fixture as fixture
from lab_test import ROOT, LabTest, main
from tslab_lab.allocators.catalogue import ALLOCATORS
from tslab_lab.display import palette
from tslab_lab.report import page
from tslab_lab.results import accounting, latencies, measures, standings

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
except ImportError:
    webdriver = None

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
NO_BROWSER = "apt-get install chromium chromium-driver python3-selenium: no browser looks at the page without"
HAS_BROWSER = bool(webdriver and CHROMIUM and DRIVER)


def column(*values):
    return dict(enumerate(values, 1))


class Sums(unittest.TestCase):
    def test_ratios_are_taken_round_by_round(self):
        ours, theirs = column(10, 40, 20), column(5, 20, 10)
        self.assertEqual(standings.ratio(ours, theirs).middle, 2)
        self.assertEqual((standings.ratio(ours, theirs).low, standings.ratio(ours, theirs).high), (2, 2))
        self.assertEqual(standings.ratio({1: 6, 2: 100}, {1: 3, 3: 1}).middle, 2)  # only round 1 is common
        self.assertIsNone(standings.ratio({1: 6}, {2: 3}))

    def test_verdicts(self):
        low, high = column(0.9, 0.8, 0.9, 0.8, 0.9), column(1.2, 1.3, 1.2, 1.3, 1.2)
        across = column(0.9, 1.1, 1, 0.8, 1.2)
        one = column(1, 1, 1, 1, 1)
        found = [standings.verdict(standings.ratio(values, one), 5) for values in (low, high, across)]
        self.assertEqual(found, [standings.WINS, standings.LOSES, standings.LEVEL])
        for rounds in range(1, 5):  # a coin falls four times on one side too often
            self.assertIsNone(standings.verdict(standings.ratio(low, one), rounds))

    def test_the_geometric_mean_over_cases(self):
        cases = {"x": {"a": column(2, 2), "b": column(1, 1)}, "y": {"a": column(8, 8), "b": column(1, 1)}}
        mean, count, rounds = standings.overall(cases, "a", "b")
        self.assertAlmostEqual(mean.middle, 4)
        self.assertEqual((count, rounds), (2, 2))
        cases["z"] = {"a": column(1000, 1000)}  # b is not there: left out
        self.assertAlmostEqual(standings.overall(cases, "a", "b")[0].middle, 4)
        self.assertIsNone(standings.overall({"z": cases["z"]}, "a", "b"))

    def test_the_mean_of_a_broken_off_run_has_only_whole_rounds(self):
        cases = {"x": {"a": column(2, 2, 100), "b": column(1, 1, 1)}, "y": {"a": column(8, 8), "b": column(1, 1)}}
        mean, _, rounds = standings.overall(cases, "a", "b")
        self.assertAlmostEqual(mean.middle, 4)
        self.assertEqual(rounds, 2)
        apart = {"x": {"a": {1: 2}, "b": {1: 1}}, "y": {"a": {2: 8}, "b": {2: 1}}}  # no round has both
        mean, _, rounds = standings.overall(apart, "a", "b")
        self.assertEqual((round(mean.middle, 9), mean.low, rounds), (4, None, 1))

    def test_who_leads(self):
        twos = column(2, 2, 2, 2, 2)
        cases = {
            "x": {"a": column(1, 1.1, 1, 1.1, 1), "b": twos, "c": column(3, 3, 3, 3, 3)},
            "y": {"a": column(1, 2.5, 1, 2.5, 1), "b": twos},
        }
        self.assertEqual(standings.leaders(cases), {"a": [2, 1], "b": [0, 0], "c": [0, 0]})
        self.assertEqual(standings.tally(cases, "b", "a"), (0, 1, 1))
        self.assertEqual(standings.leaders({"x": {"a": column(1)}}), {"a": [0, 0]})  # alone is no lead

    def test_who_failed_takes_no_part(self):
        runs = [{"case": "x", "allocator": name, "round": 1, "seconds": 1} for name in ("a", "b")]
        found = standings.grid(runs, [{"case": "x", "allocator": "b", "round": 2}])
        self.assertEqual(list(found["x"]), ["a"])

    def test_figures_that_a_run_does_not_have(self):
        self.assertEqual(measures.time_ns({"seconds": 2, "operations": 1000}), 2e6)
        self.assertEqual(measures.time_ns({"seconds": 2, "operations": None}), 2e9)  # of the whole run
        self.assertIsNone(measures.time_ns({"seconds": None}))
        self.assertIsNone(measures.peak_kib({"peak_kib": math.nan}))

    def test_percentiles_as_far_as_the_count_supports_them(self):
        buckets = [[100.0, 9900], [1000.0, 90], [5000.0, 10]]
        self.assertAlmostEqual(latencies.percentile_ns(buckets, 10_000, 5010, 0.5), 100.5)
        self.assertAlmostEqual(latencies.percentile_ns(buckets, 10_000, 5010, 0.99), 100.5)
        self.assertAlmostEqual(latencies.percentile_ns(buckets, 10_000, 5010, 0.999), 1005)
        self.assertIsNone(latencies.percentile_ns(buckets, 10_000, 5010, 0.9999))  # one value is beyond it
        self.assertEqual(latencies.percentile_ns([[100, 1000]], 1000, 100.2, 0.5), 100.2)  # never beyond what was seen
        times, above = latencies.cumulative(buckets, 10_000)
        self.assertEqual(([round(time, 6) for time in times], above), ([100.5, 1005], [0.01, 0.001]))

    def test_latency_lines_pool(self):
        lines = [{"buckets": [[1, 2], [3, 4]], "max_ns": 3}, {"buckets": [[3, 1]], "max_ns": 9}]
        self.assertEqual(latencies.pooled(lines), ([(1, 2), (3, 5)], 7, 9))

    def test_the_slowest_by_cause(self):
        quick, slow = [[10, 9989, 0]], [[1000, 4, 4], [2000, 2, 6]]
        lines = [
            {"causes": {"none": quick, "flush": slow}},
            {"causes": {"none": quick, "flush": [], "lock": [[1000, 16, 0]]}},
        ]
        found = {one.cause: one for one in latencies.slowest(lines)}  # 20 of 20,000: both of 2000, and 18 of 20 of 1000
        self.assertEqual(list(found), ["lock", "flush"])
        self.assertAlmostEqual(found["lock"].calls, 14.4)
        self.assertAlmostEqual(found["flush"].calls, 5.6)
        self.assertAlmostEqual(found["flush"].faults, (6 + 3.6) / 5.6)
        self.assertAlmostEqual(found["flush"].time_share, (4000 + 3600) / (4000 + 18000))


def _linear(colour):
    values = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in values]


def _seen(matrix, rgb):
    return [max(0, min(1, sum(m * c for m, c in zip(row, rgb)))) for row in matrix]


def _lab(rgb):
    """CIE L*a*b*, in which equal distances look equal."""
    matrix = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    xyz = [sum(m * c for m, c in zip(row, rgb)) / white for row, white in zip(matrix, (0.9505, 1, 1.089))]
    x, y, z = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


EYES = {
    "all colours": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no green (deuteranopia)": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "no red (protanopia)": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "grey": ((0.2126, 0.7152, 0.0722),) * 3,
}
DIFFERENT = 10  # a distance that is seen without effort
DEBIAN = ("tslab", "glibc", "jemalloc", "tcmalloc", "mimalloc")


class Looks(unittest.TestCase):
    names = (*ALLOCATORS, "base", "a", "a2", "b")

    def near(self, names, eyes):
        for one, other in itertools.combinations(names, 2):
            places = [_lab(_seen(EYES[eyes], _linear(palette.style(name)["color"]))) for name in (one, other)]
            if math.dist(*places) < DIFFERENT:
                yield one, other

    def test_colours_that_are_near_have_other_markers_and_lines(self):
        for eyes in EYES:
            for one, other in self.near(self.names, eyes):
                with self.subTest(eyes, one=one, other=other):
                    ours, theirs = palette.style(one), palette.style(other)
                    self.assertNotEqual(ours["marker"], theirs["marker"])
                    lines = [(str(style["linestyle"]), style["linewidth"]) for style in (ours, theirs)]
                    self.assertNotEqual(*lines)

    def test_the_usual_five_differ_by_colour_alone_to_all_eyes(self):
        for eyes in EYES:
            self.assertEqual(list(self.near(DEBIAN, eyes)), [], eyes)

    def test_all_colours_differ_to_most_eyes(self):
        self.assertEqual(list(self.near(self.names, "all colours")), [])

    def test_markers_are_each_ones_own(self):
        self.assertEqual(len({palette.style(name)["marker"] for name in self.names}), len(self.names))

    def test_policies_of_the_request_server_differ(self):
        policies = [name for name in palette._LOOKS if name.startswith("tslab ")]
        self.assertEqual(list(self.near(policies, "all colours")), [])
        self.assertEqual(palette.style("tslab never"), palette.style("tslab"))

    def test_ways_of_an_allocator_have_its_colour(self):
        for name, known in (
            ("glibc+free", "glibc"),
            ("release", "tslab"),
            ("tslab+free", "tslab"),
            ("apr, own", "base"),
        ):
            self.assertEqual(palette.style(name)["color"], palette.style(known)["color"])

    def test_an_unknown_name_always_looks_the_same(self):
        self.assertEqual(palette.style("my-build"), palette.style("my-build"))
        self.assertNotEqual(palette.style("my-build"), palette.style("my-other-build"))
        looks = {str(palette.style(f"build-{i}")) for i in range(20)}
        self.assertGreater(len(looks), 15)


class Reports(LabTest):
    """The command, on files that are made here."""

    def report(self, lines, *options):
        folder = self.own / "tslab-runs/bench-20260131-120000"
        path = fixture.write(folder, lines)
        done = self.lab("report", path, *options)
        return done, folder / "report.html"

    def made(self, lines, *options):
        done, page = self.report(lines, *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return re.sub(r"base64,[^\"]*", "base64,", page.read_text(encoding="utf-8"))

    def test_the_files(self):
        done, page = self.report(fixture.records(cases=fixture.CASES[:2], rounds=2))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.splitlines(), [str(page), f"{page.parent}/figures/: the figures as PNG and PDF"])
        begins = {".png": b"\x89PNG", ".pdf": b"%PDF"}
        files = {path.name: path for path in (page.parent / "figures").iterdir()}
        names = ["overview", "time", "peak", "workload-pair", "workload-replace-20k", "rss-burst-idle"]
        names += ["latency-churn-fixed--malloc", "latency-churn-fixed--free"]
        self.assertEqual(sorted(files), sorted(name + suffix for name in names for suffix in begins))
        for path in files.values():
            content = path.read_bytes()
            self.assertEqual(content[:4], begins[path.suffix])
            self.assertGreater(len(content), 4000, path.name)
        self.assert_nothing_left()

    def test_nothing_comes_from_outside_of_the_page(self):
        text = self.made(fixture.records(cases=fixture.CASES[:2], rounds=2))
        found = re.findall(r'(?:src|href)\s*=\s*"([^"]{0,40})|url\(([^)]{0,40})|@import', text)
        self.assertGreater(len(found), 10)
        for source, url in found:
            self.assertRegex(source or url, r"^(data:|#)")
        self.assertNotIn("http", re.sub(r'"data:[^"]*"', "", text))
        self.assertNotIn(str(ROOT), text)

    def test_last_and_output_and_baseline(self):
        fixture.write(self.own / "tslab-runs/old", [fixture.header(), fixture.records()[1]])
        little = fixture.records(cases=fixture.CASES[:1], rounds=5, more=False)
        fixture.write(self.own / "tslab-runs/new", little).touch()
        done = self.lab("report", "last", "--output", self.own / "elsewhere/page.html", "--baseline", "glibc")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        text = (self.own / "elsewhere/page.html").read_text()
        self.assertIn("glibc = 1", text)
        self.assertIn("Where glibc loses", text)
        self.assertTrue((self.own / "elsewhere/figures/answer.pdf").is_file())

    def test_a_run_that_was_broken_off(self):
        lines = fixture.records(cases=fixture.CASES[:3], rounds=2, more=False)[:-1]
        path = fixture.write(self.own / "half", lines[:-4])
        with path.open("a") as file:
            file.write(json.dumps(lines[-4])[:30])  # the writer was killed in this line
        done = self.lab("report", path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        text = (self.own / "half/report.html").read_text()
        self.assertIn("The file has no end", text)
        self.assertIn("1 to 2 rounds", text)

    def test_a_single_round_has_no_intervals_and_no_verdict(self):
        text = self.made(fixture.records(cases=fixture.CASES[:3], rounds=1, more=False))
        self.assertIn("There is a single round: no interval, and no verdict.", text)
        self.assertIn("1 round: too few for a verdict", text)
        table = re.search(r"<table class=\"heat\">.*?</table>", text, re.S).group()
        self.assertNotRegex(table, r"\d–\d")
        self.assertNotIn("Where tslab wins", text)

    def test_few_rounds_have_intervals_but_no_verdict(self):
        text = self.made(fixture.records(cases=fixture.CASES[:3], rounds=4, more=False))
        self.assertIn("is ahead of the best of the others in 0 of 3 workloads. 4 rounds: too few for a verdict", text)
        table = re.search(r"<table class=\"heat\">.*?</table>", text, re.S).group()
        self.assertRegex(table, r"\d–\d")
        self.assertNotIn("Where tslab wins", text)

    def test_one_allocator(self):
        text = self.made(fixture.records(cases=fixture.CASES[:2], allocators=("glibc",), rounds=3, more=False))
        self.assertNotIn("geometric", text)
        self.assertRegex(text, r'<th scope="row">pair</th><td data-v="[0-9.]+">3[78]\.\d ns<small>')

    def test_only_a_header(self):
        self.assertIn("There is no run in these results.", self.made([fixture.header(marks=[])]))

    def test_other_work_is_told(self):
        lines = fixture.records(cases=fixture.CASES[:2], rounds=2, more=False)
        lines[1]["hash"] = "other"
        self.assertIn(f"{lines[1]['case']}: the runs did not all do the same work", self.made(lines))

    def test_instructions_are_exact(self):
        lines = fixture.records(cases=fixture.CASES[:1], rounds=2, more=False)
        lines += [
            {"kind": "instructions", "case": "pair", "allocator": name, "value": value}
            for name, value in (("tslab", 50.0), ("glibc", 75.0))
        ]
        text = self.made(lines)
        self.assertIn("1.00 <em>best</em><small>50.0</small>", text)
        self.assertIn("1.50<small>75.0</small>", text)

    def test_accounts_and_fragmentation(self):
        mib = 1024**2
        told = {
            "committed_bytes": 10 * mib, "untouched_bytes": 4 * mib,
            "clean_runs": {"bytes": 4 * mib, "untouched_bytes": 4 * mib},
            "live_slots": {"bytes": 5 * mib, "untouched_bytes": 0},
            "stocks": {"bytes": mib, "untouched_bytes": 0},
            "outboxes": {"bytes": 0, "untouched_bytes": 0},
        }  # fmt: skip
        entry = {"size": 1536, "free_bytes": 2 * mib, "tail_bytes": mib // 2, "untouched_bytes": mib}
        entry |= {"slabs_full": 1, "slabs_partial": 77, "slabs_empty": 0, "pages": 640, "pages_free": 31}
        entry |= {"pages_kept_1": 12, "pages_kept_2": 13, "pages_kept_4": 14}
        report = {"schema": "tslab-statistics", "accounts": told, "classes": [entry | {"free_bytes": 0}, entry]}
        report |= {"totals": {"allocations": 7, "threads": 2}}
        found = accounting.found_in(f"words\n{json.dumps(report)}\nmore words\n")
        self.assertEqual(found, {"accounts": told, "classes": [entry], "traffic": {"allocations": 7}})
        self.assertTrue(accounting.add_up(told))
        self.assertFalse(accounting.add_up(told | {"committed_bytes": 11 * mib}))
        self.assertIsNone(accounting.found_in('{"schema":"tslab-statistics","classes":[]}\n{"tslab-statistics'))
        lines = fixture.records(cases=fixture.CASES[:1], rounds=2, more=False)
        text = self.made([*lines, {"kind": "accounts", "case": "pair", "allocator": "tslab"} | found])
        self.assertIn('<section id="accounts">', text)
        self.assertRegex(text, r">6\.00</td><td[^>]*>5\.00</td><td[^>]*>1\.00</td>")  # all, live slots, stocks
        self.assertRegex(text, r">1,536</td><td[^>]*>1\.50</td><td[^>]*>1</td><td[^>]*>77</td>")

    def test_names_from_outside_are_not_markup(self):
        lines = fixture.records(cases=fixture.CASES[:1], rounds=1, more=False)
        text = json.dumps(lines).replace('"pair"', '"<script>alert(1)</script>"').replace('"jemalloc"', '"<b>x"')
        text = self.made(json.loads(text))
        self.assertNotIn("<script>alert", text)
        self.assertNotIn("<b>x", text)
        self.assertIn("&lt;script&gt;alert(1)", text)

    @unittest.skipUnless(CHROMIUM, NO_BROWSER)
    def test_the_page_as_pdf(self):
        done, page = self.report(fixture.records(cases=fixture.CASES[:1], rounds=2, more=False), "--pdf")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(page.with_suffix(".pdf").read_bytes()[:4], b"%PDF")
        self.assert_nothing_left()


@unittest.skipUnless(HAS_BROWSER, NO_BROWSER)
class Browser(LabTest):
    """One full page, as a reader has it."""

    def setUp(self):
        super().setUp()
        path = fixture.write(self.own / "run", fixture.records())
        done = self.lab("report", path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        options = Options()
        options.binary_location = CHROMIUM
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={self.own}/profile"):
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service(DRIVER, env=self.environment), options=options)
        self.addCleanup(self.driver.quit)
        self.driver.set_page_load_timeout(40)
        self.width(1280)
        self.driver.get(path.with_name("report.html").as_uri())

    def width(self, pixels):
        metrics = {"width": pixels, "height": 900, "deviceScaleFactor": 1, "mobile": pixels < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def table(self, caption):
        """Rows of cells as they are read, the head first."""
        return self.driver.execute_script(
            """const table = [...document.querySelectorAll("table")]
                .find((table) => table.caption.textContent.startsWith(arguments[0]));
            return [...table.rows].map((row) => [...row.cells].map((cell) => cell.innerText));""",
            caption,
        )

    def click(self, caption, head):
        self.driver.execute_script(
            """const table = [...document.querySelectorAll("table")]
                .find((table) => table.caption.textContent.startsWith(arguments[0]));
            window.button = [...table.tHead.rows[0].cells]
                .find((cell) => cell.innerText.trim() === arguments[1]).querySelector("button");
            button.scrollIntoView({block: "center"}); button.focus();""",
            caption, head,
        )  # fmt: skip
        self.driver.switch_to.active_element.send_keys("\n")  # as one does with the keyboard
        return self.driver.execute_script("return button.closest('th').getAttribute('aria-sort')")

    def unfold(self):
        self.driver.execute_script("document.getElementById('unfold').click()")

    def test_the_page(self):
        self.look_at_the_first_screen()
        self.unfold()
        for what in ("tables", "figures", "words", "sorting", "width"):
            with self.subTest(what):
                getattr(self, f"look_at_{what}")()
        self.assertEqual(self.driver.get_log("browser"), [])

    def look_at_the_first_screen(self):
        """The answer and its figure stand first, and all else is folded."""
        text = self.driver.execute_script("return document.body.innerText")
        self.assertRegex(text, r"Time over 12 workloads, tslab = 1: faster: mimalloc 0\.9\d \(")
        self.assertNotIn("larson", text)
        first = self.driver.execute_script(
            "const image = document.querySelector('#answer figure.wide img').getBoundingClientRect();"
            "return [image.left, image.right, image.bottom, document.querySelector('main').getBoundingClientRect().width]"
        )
        self.assertGreater(first[1] - first[0], 0.98 * first[3])  # at full width
        self.assertLess(first[2], 1000)

    def look_at_tables(self):
        time = self.table("Time per operation")
        self.assertEqual(time[0], ["Workload", *fixture.ALLOCATORS])
        self.assertEqual([row[0] for row in time[1:]], [*fixture.CASES, "geometric mean"])
        by_case = {row[0]: dict(zip(fixture.ALLOCATORS, row[1:])) for row in time}
        for name, factor in (("tslab", 1), ("glibc", 1.9), ("jemalloc", 1.2), ("tcmalloc", 1.05)):
            ratio, interval, absolute = by_case["pair"][name].split("\n")
            self.assertAlmostEqual(float(ratio), factor / 0.93, delta=0.05)
            low, high = map(float, interval.split("\N{EN DASH}"))
            self.assertTrue(low <= float(ratio) <= high and low > 1)
            self.assertAlmostEqual(float(absolute.removesuffix(" ns")), 20 * factor, delta=0.5 * factor)
        self.assertEqual(by_case["pair"]["mimalloc"].split("\n")[0], "1.00 best")
        self.assertEqual(by_case["scattered"]["tslab"].split("\n")[0], "1.00 best")
        self.assertEqual(by_case[fixture.FAILED[0]][fixture.FAILED[1]], "-")
        self.assertEqual(by_case["geometric mean"]["tcmalloc"], "-")
        peak = {row[0]: row[1:] for row in self.table("Peak RSS")}
        self.assertRegex(peak["pair"][1], r"^1\.00 best\n3\.\d\d MiB$")  # glibc's 0.95 of 4 MiB
        facts = {(row[0], row[1]): row[2:] for row in self.table("What really happened")}
        self.assertEqual(facts["mixed-remote", "remote share, %"], ["48.2"] * 5)
        self.assertEqual(facts["mixed-remote", "threads"], ["8"] * 5)
        latency = {row[0]: row for row in self.table("Latency of churn-fixed: free (the timer itself: 21.5 ns)")}
        self.assertEqual(latency["Allocator"][4:], ["p99", "p99.9", "max"])  # 12,000 have no p99.99
        self.assertEqual(latency["tslab"][1], "12,000")
        self.assertEqual(self.table("Latency of churn-fixed: malloc")[0][5:], ["p99.9", "p99.99", "max"])
        self.assertEqual(self.table("Who failed")[1][:3], ["threads", "tcmalloc", "2"])
        self.assertIn("<nothing>", self.table("Who failed")[1][3])
        overall = {row[0]: row for row in self.table("Geometric mean")}
        self.assertAlmostEqual(float(overall["tcmalloc"][1].split("\n")[0]), (1.05**10 * 3) ** (1 / 11), delta=0.02)
        self.assertIn("11 of 12 workloads", overall["tcmalloc"][1])
        self.assertEqual(overall["mimalloc"][4], "11\n11 clearly")

    def look_at_figures(self):
        shown = self.driver.execute_script(
            "return [...document.images].map((image) => [image.complete, image.naturalWidth, image.alt, image.src])"
        )
        self.assertEqual(len(shown), 1 + 2 + 12 + 1 + 2)
        for complete, width, alt, source in shown:
            self.assertTrue(complete and width > 300 and len(alt) > 30, alt)
            drawn = base64.b64decode(source.partition("base64,")[2]).decode()
            self.assertGreater(drawn.count("<path"), 15)
        drawn = base64.b64decode(shown[1][3].partition("base64,")[2]).decode()  # time of all workloads
        for word in (*fixture.CASES, *fixture.ALLOCATORS[1:], "tslab = 1"):
            self.assertIn(f">{word}</text>", drawn)

    def look_at_words(self):
        text = self.driver.execute_script("return document.body.innerText")
        self.assertIn("lab bench, 2026-01-31 12:00:00 UTC", text)
        for words in ("12 workloads · 5 allocators", "Example CPU <1>", "others use 20%"):
            self.assertIn(words, text)
        self.assertRegex(text, r"Where tslab loses\s+time\s+larson: (1\.9\d|2\.0\d) \([^)]+\) × mimalloc")
        self.assertRegex(text, r"Where tslab wins\s+time\s+scattered: 0\.3\d \([^)]+\) × ")
        self.assertRegex(text, r"time\s+wins 1\s+loses 11\s+peak RSS\s+loses 12")
        self.assertIn("git checkout 0123456789abcdef0123456789abcdef01234567", text)
        self.assertIn("lab/lab bench --rounds 6 mixed-remote:threads=8", text)
        self.assertIn(f"{1:064x}", text)
        link = self.driver.execute_script("return document.querySelector('a[download]').href")
        lines = base64.b64decode(link.partition("base64,")[2]).decode().splitlines()
        self.assertEqual(len(lines), 1 + 12 * 5 * 6 - 5)
        self.assertIn("case,allocator,round", lines[0])

    def look_at_sorting(self):
        def first_column():
            return [row[0] for row in self.table("Time per operation")[1:-1]]

        self.assertEqual(self.click("Time per operation", "tcmalloc"), "ascending")
        self.assertEqual(first_column()[-1], "threads")  # it has no figure there
        self.assertIn(first_column()[-2], ("scattered", "larson"))
        self.assertEqual(self.click("Time per operation", "tcmalloc"), "descending")
        self.assertEqual((first_column()[0], first_column()[-1]), ("scattered", "threads"))
        self.assertEqual(self.click("Time per operation", "Workload"), "ascending")
        self.assertEqual(first_column(), sorted(fixture.CASES))

    def look_at_width(self):
        for pixels in (390, 768, 1280):
            self.width(pixels)
            wide = self.driver.execute_script("return document.documentElement.scrollWidth")
            self.assertLessEqual(wide, pixels)
        self.width(390)
        scrolling = self.driver.execute_script(
            "return [...document.querySelectorAll('.box')].filter((box) => box.scrollWidth > box.clientWidth).length"
        )
        self.assertGreater(scrolling, 3)  # wide tables scroll, each in its own box


class Answers(LabTest):
    """What the page of each command says first."""

    def made(self, lines, name):
        path = fixture.write(self.own / name, lines)
        done = self.lab("report", path)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        text = path.with_name("report.html").read_text(encoding="utf-8")
        text = re.sub(r"base64,[^\"]*", "base64,", text)
        answer, _, rest = text.partition('<section id="answer">')[2].partition("</section>")
        self.assertNotIn("<details", answer)
        for section in re.findall(r'<section id="[^"]*">(.{20})', rest):
            self.assertTrue(section.startswith("<details><summary>"), section)
        self.assertEqual(answer.count('<figure class="wide">'), 1)
        return answer, rest

    @staticmethod
    def records(command, rename=None, more=True, **header):
        names = rename or {}
        lines = fixture.records(cases=fixture.CASES[:2], allocators=("tslab", "glibc", "jemalloc"), more=more)
        lines[0] |= {"command": command, "cases": {name: {} for name in fixture.CASES[:2]}} | header
        lines[0]["allocators"] = {
            names.get(name, name): facts
            for name, facts in lines[0]["allocators"].items()
            if name in ("tslab", "glibc", "jemalloc")
        }
        return [
            line | {"allocator": names.get(line["allocator"], line["allocator"])} if "allocator" in line else line
            for line in lines
        ]

    def test_ab(self):
        rename = {"tslab": "A", "jemalloc": "B", "glibc": "A2"}
        lines = self.records("ab", rename, more=False, settings={"least_effect": 0.01})
        for line in lines:
            if line.get("allocator") == "A2":  # the same as A, but for the noise
                twin = next(
                    x
                    for x in lines
                    if (x.get("case"), x.get("round"), x.get("allocator")) == (line["case"], line["round"], "A")
                )
                line |= {
                    "seconds": twin["seconds"] * 1.001,
                    "peak_kib": twin["peak_kib"] + 3,
                    "rss_kib": twin["rss_kib"] - 2,
                }
        answer, rest = self.made(lines, "ab")
        self.assertIn('<p class="said NO-GO"><b>NO-GO</b></p>', answer)
        self.assertIn("<b>A</b>: tslab &amp; its title (version 1.2.3", answer)
        self.assertIn("<b>B</b>: jemalloc &amp; its title", answer)
        self.assertRegex(answer, r"pair: time</th><td>20\.\d ns</td><td>2\d\.\d ns</td><td>1\.[12]\d\d \(")
        self.assertIn("(A/A ", answer)
        self.assertNotIn("of the best of the others", rest)

    def test_latency(self):
        answer, rest = self.made(self.records("latency"), "latency")
        self.assertRegex(answer, r"churn-fixed, malloc, <b>p99\.99</b>: tslab [\d.]+ µs, jemalloc [\d.]+ µs, glibc")
        self.assertNotIn('id="time"', rest)  # the clock is part of it

    def test_latency_of_many_kinds(self):
        lines = self.records("latency")
        more = [line | {"case": f"case-{i}"} for i in range(4) for line in lines if line["kind"] == "latency"]
        answer, _ = self.made([*lines[:-1], *more, lines[-1]], "many")
        self.assertRegex(
            answer, r"<b>p99\.9</b> over 10 kinds of operations, tslab = 1: jemalloc 1\.\d\d, glibc 1\.\d\d\."
        )

    def test_rss(self):
        lines = [line for line in self.records("rss") if line["kind"] not in ("run", "latency")]
        answer, rest = self.made(lines, "rss")
        self.assertRegex(answer, r"<b>Mean RSS</b> of burst-idle: glibc [\d.]+ MiB \(0\.9\d of tslab\), tslab")
        self.assertIn('id="rss"', rest)
        self.assertNotIn("after, MiB", rest)  # nobody told it: no column of dashes

    def test_boundaries(self):
        cases = ("edges-1024", "edges-2048", "edges-32832", "edges-32833")
        runs = [
            {"kind": "run", "case": case, "allocator": name, "round": number, "operations": 1000, "seconds": ns * 1e-6}
            | {"peak_kib": 3000, "base_kib": 1000, "live_kib": 1000, "rss_kib": 2000}
            for number in range(1, 7)
            for name in ("tslab", "glibc")
            for case, ns in zip(cases, (10, 15, 60, 200 if name == "tslab" else 61))
        ]
        lines = self.records("boundaries", more=False, cases={name: {} for name in cases})
        del lines[0]["allocators"]["jemalloc"]
        answer, _ = self.made([lines[0], *runs, lines[-1]], "boundaries")
        self.assertIn("<b>tslab has 1 cliff:</b>", answer)
        self.assertIn("edges-32833, from 32,832 bytes: time 3.33", answer)

    def test_demo_and_epochs_and_a_single_workload(self):
        lines = self.records("demo", more=False, cases={"threads": {"title": "It is fast: threads"}})
        lines = [
            line | {"case": "threads"}
            for line in lines
            if line.get("case") == fixture.CASES[0] or line["kind"] != "run"
        ]
        answer, _ = self.made(lines, "demo")
        self.assertRegex(answer, r"<b>Gained</b> against glibc: four threads .* M objects/s, not .*")
        answer, _ = self.made(self.records("epochs", more=False), "epochs")
        self.assertRegex(answer, r"<b>pair</b>: tslab 20\.\d ns, jemalloc")
        lines = [line for line in self.records("bench", more=False) if line.get("case") != fixture.CASES[1]]
        answer, rest = self.made(lines, "one")
        self.assertRegex(answer, r"<b>time</b>, pair: tslab 20\.\d ns; tslab = 1: jemalloc 1\.2")
        for what in ("geometric mean", 'id="against"', 'id="workloads"'):
            self.assertNotIn(what, rest)


class Parts(unittest.TestCase):
    def test_many_workloads_are_drawn_by_group(self):
        one = page.Page.__new__(page.Page)
        told = {f"case-{i}": {"group": "even" if i % 2 == 0 else "odd"} for i in range(20)}
        one.results = type("Results", (), {"header": {"cases": told}})
        groups = page._groups(one, dict.fromkeys(told))
        self.assertEqual({name: len(cases) for name, cases in groups.items()}, {"even": 10, "odd": 10})
        self.assertEqual(list(page._groups(one, dict.fromkeys(list(told)[:5]))), ["all"])


if __name__ == "__main__":
    main()
