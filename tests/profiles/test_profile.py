"""Profiles of whole programs, as `tslab profile` shows them.

usage: test_profile.py DROPIN PLANTED WORK PROMISE Programs|Browser|Go
"""

import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))

from tslab_tools.profiles import figures, symbols, written  # noqa: E402
from tslab_tools.profiles.wrappers import Wrappers  # noqa: E402

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.support.ui import WebDriverWait
except ImportError:
    webdriver = None

DROPIN, PLANTED, WORK, PROMISE = (Path(word).resolve() for word in sys.argv[1:5])
MIB = 1 << 20
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
NO_BROWSER = "apt-get install chromium chromium-driver python3-selenium: no browser looks at the page without"
# d3 moves boxes even where a move takes no time: by a timer, which a busy machine lets wait. A node that still moves has this.
RESTS = """return [...document.querySelectorAll("svg *")].every((node) => !node.__transition);"""
# A server: it keeps a quarter of a MiB, says so, and goes on in small steps until its input ends.
SERVER = """
import select, sys
def keeps():
    return bytearray(262000)
kept = [keeps() for i in range(100)]
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0.01)[0]:
    bytearray(300000)
"""


def tool(*words):
    command = [sys.executable, "-B", HERE.parents[1] / "tools/tslab", "profile", *map(str, words)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    return result.returncode, result.stdout + result.stderr


def by_site(profile, kind):
    return figures.by_site(figures.by_stack(profile, kind), Wrappers(symbols.Symbols(profile)).site)


def varint(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return number, at


def fields(data):
    """Of a message of Protocol Buffers: each field's number with its values, numbers or bytes."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at : at + value], at + value
        found.setdefault(key >> 3, []).append(value)
    return found


def packed(data):
    numbers, at = [], 0
    while at < len(data):
        number, at = varint(data, at)
        numbers.append(number)
    return numbers


class Case(unittest.TestCase):
    def setUp(self):
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def environment(self, profile="512K", **options):
        environment = {"PATH": os.environ["PATH"], "LD_PRELOAD": str(DROPIN)}
        if profile is not None:
            environment["TSLAB_PROFILE"] = f"{profile},{self.directory}/%e.%n"
        return environment | {f"TSLAB_{name.upper()}": str(value) for name, value in options.items()}

    def run_program(self, program, *words, **options):
        environment = self.environment(**options)
        result = subprocess.run([program, *words], env=environment, capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual((result.returncode, result.stderr if "stats_signal" not in options else ""), (0, ""))
        return result.stdout


class Programs(Case):
    def test_a_planted_culprit_is_found(self):
        resident = int(self.run_program(PLANTED)) * 1024
        profile = written.read(self.directory / f"{PLANTED.name}.0")
        sites = by_site(profile, "kept")
        total = sum(found.bytes for _, found in sites)
        site, found = sites[0]
        self.assertRegex(site, r"^site_52\b")  # the sites are called 10 to 109
        self.assertGreaterEqual(found.bytes, 0.95 * total)
        self.assertGreaterEqual(total, 120 * MIB)
        mended = int(self.run_program(PLANTED, "mended", profile="0")) * 1024
        self.assertAlmostEqual((resident - mended) / found.bytes, 1, delta=0.1)
        code, said = tool(self.directory / f"{PLANTED.name}.0", "--pins")
        self.assertEqual(code, 0)
        self.assertRegex(said, r"^1 site keeps (9[5-9]|100) % of 1[23]\d\.\d MiB of retained pages\n")

    def promised(self, shape):
        """What freeing the objects of the culprit, and of all, is to bring, and what it did, in bytes."""
        path = self.directory / shape
        came = [int(word) * 1024 for word in self.run_program(PROMISE, shape, path, profile="1").split()]
        profile = written.read(path)
        sites = dict(by_site(profile, "kept"))
        by = {site.split()[0]: found.bytes for site, found in sites.items()}
        return (by["by_culprit"], sum(by.values())), came

    def test_what_was_promised_comes_back(self):
        for shape in ("one_on_each_page", "used_again", "one_in_each_chunk", "many_in_each_chunk", "scattered"):
            with self.subTest(shape):
                promised, came = self.promised(shape)
                self.assertAlmostEqual(came[0] / promised[0], 1, delta=0.1)
                self.assertAlmostEqual(came[1] / promised[1], 1, delta=0.1)

    def test_pages_of_two_sites_come_back_without_both(self):
        promised, came = self.promised("both_on_each_page")
        self.assertAlmostEqual(promised[0] / promised[1], 0.5, delta=0.01)
        self.assertLess(came[0], 0.02 * came[1])
        self.assertAlmostEqual(came[1] / promised[1], 1, delta=0.1)

    def test_stacks_and_estimates(self):
        self.run_program(WORK)
        profile = written.read(self.directory / f"{WORK.name}.0")
        live = dict(by_site(profile, "live"))
        kept = next(found for site, found in live.items() if site.startswith("keeps"))
        self.assertAlmostEqual(kept.bytes / (40000 * 1024), 1, delta=0.6)  # of about 80 samples: five sigma
        self.assertNotIn("drops", {site.split()[0] for site in live})
        allocated = {site.split()[0]: found for site, found in by_site(profile, "allocated")}
        self.assertAlmostEqual(allocated["drops"].bytes / (40000 * 2048 + 2000 * 57344), 1, delta=0.5)
        names = symbols.Symbols(profile)
        functions = {tuple(place.function for place in names.trace(number))[:3] for number in profile.stacks}
        self.assertIn(("keeps", "works", "main"), functions)

    def test_errors_are_said(self):
        self.run_program(WORK)
        _, said = tool(self.directory / f"{WORK.name}.0")
        samples, error = map(int, re.search(r" (\d+) +(\d+) +keeps\b", said).groups())
        self.assertAlmostEqual(error, 100 / samples**0.5, delta=1)  # the samples of 40 MiB
        self.run_program(WORK, profile="16M")
        _, said = tool(self.directory / f"{WORK.name}.0")
        self.assertNotRegex(said, r"\d +keeps\b")  # two or three, if any
        self.run_program(WORK, profile="1")
        _, said = tool(self.directory / f"{WORK.name}.0")
        self.assertRegex(said, r" 40000 +0 +keeps\b")

    def test_growth_between_two_profiles(self):
        self.run_program(WORK, stats_signal="USR1", profile="1")
        first, second = (self.directory / f"{WORK.name}.{n}" for n in (0, 1))
        code, said = tool(second, "--leaks", "--base", first)
        self.assertEqual(code, 0)
        grown = re.search(r"([\d,]+) +\d+ +\d+ +keeps", said)
        self.assertIsNotNone(grown, said)
        self.assertIn(int(grown[1].replace(",", "")), range(19900, 20101))
        self.assertIn("in the process", said)

    def test_pprof_reads_it(self):
        self.run_program(WORK)
        out = self.directory / "out.pb.gz"
        code, _ = tool(self.directory / f"{WORK.name}.0", "--pprof", out)
        self.assertEqual(code, 0)
        profile = fields(gzip.decompress(out.read_bytes()))
        strings = [text.decode() for text in profile[6]]
        self.assertEqual(strings[0], "")
        self.assertEqual([strings[fields(kind)[1][0]] for kind in profile[1]][2:4], ["inuse_objects", "inuse_space"])
        files = {strings[fields(mapping)[5][0]]: strings[fields(mapping)[6][0]] for mapping in profile[3]}
        self.assertRegex(files[str(WORK)], r"^[0-9a-f]*$")
        locations = {fields(location)[1][0] for location in profile[4]}
        samples = [fields(sample) for sample in profile[2]]
        self.assertTrue(all(set(packed(sample[1][0])) <= locations and len(packed(sample[2][0])) == 8 for sample in samples))
        self.assertEqual({strings[fields(label)[1][0]] for sample in samples for label in sample.get(3, [])}, {"epoch", "thread"})

    def server(self, program="/usr/bin/python3", **options):
        """A process that lives until the test ends."""
        command = [program, "-S", "-c", SERVER]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        environment = self.environment(stats=f"1,{self.directory}/said", **options)
        process = self.enterContext(subprocess.Popen(command, env=environment, **pipes))
        self.addCleanup(process.stdin.close)  # comes before the wait
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def test_a_process_that_runs_is_asked(self):
        """It needs no signal, and no file: then nothing is left."""
        process = self.server(profile="16K", export=1)
        first, second = self.directory / "first.pb.gz", self.directory / "second.pb.gz"
        temporary = self.directory / "tmp"
        temporary.mkdir()
        with unittest.mock.patch.dict(os.environ, TMPDIR=str(temporary)):
            code, said = tool(process.pid)
        self.assertEqual(code, 0, said)
        self.assertRegex(said, rf"^\S+ {process.pid}: in use\n")
        self.assertGreater(float(re.search(r"^ *([\d.]+) ", said, re.MULTILINE)[1]), 12)  # of 25 MiB, from hundreds of samples
        for path in (first, second):
            self.assertEqual(tool(process.pid, "--pprof", path)[0], 0)
            self.assertTrue(gzip.decompress(path.read_bytes()))
        self.assertIsNone(process.poll())
        self.assertEqual(list(self.directory.glob("python3*")), [])
        self.assertEqual(list(temporary.iterdir()), [])

    def test_a_process_that_cannot_be_asked(self):
        code, said = tool(self.server(profile="0", export=1).pid)
        self.assertEqual(code, 1)
        self.assertRegex(said, r"takes no samples. To begin now: tslab ctl \d+ profile=512K. To begin at its start: ")

    def test_without_the_option_nothing_is_written(self):
        self.run_program(WORK, profile="0")
        self.assertEqual(list(self.directory.iterdir()), [])


@unittest.skipUnless(webdriver and CHROMIUM and DRIVER, NO_BROWSER)
class Browser(Case):
    """The page with the flame graph, as a reader has it."""

    def boxes(self):
        """What each box that is shown says: its function, and from where to where it goes, once no box moves."""
        WebDriverWait(self.driver, 60).until(lambda driver: driver.execute_script(RESTS))
        return self.driver.execute_script(
            """return [...document.querySelectorAll("svg g.frame")].map((box) => {
                const place = box.querySelector("rect").getBoundingClientRect();
                return [box.getAttribute("name"), Math.round(place.x), Math.round(place.width), box.querySelector("rect").getAttribute("fill")];
            }).filter((box) => box[2] > 0);"""
        )

    def click(self, function):
        """A click of the mouse on the first box of a function."""
        script = """return [...document.querySelectorAll("svg g.frame")].find((box) => box.getAttribute("name") === arguments[0]).querySelector("rect");"""
        self.driver.execute_script(script, function).click()

    def shown(self, *words):
        """The page of a profile, open."""
        page = self.directory / "out.html"
        self.assertEqual(tool(self.directory / f"{WORK.name}.0", "--html", page, *words)[0], 0)
        self.driver.get(page.as_uri())

    def width(self, function):
        return next((width for name, _, width, _ in self.boxes() if name == function), 0)

    def setUp(self):
        super().setUp()
        options = Options()
        options.binary_location = CHROMIUM
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1400,1000", f"--user-data-dir={self.directory}/browser"):
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.directory)}
        self.driver = webdriver.Chrome(service=Service(DRIVER, env=environment), options=options)
        self.addCleanup(self.driver.quit)

    def choose(self, box, value):
        self.driver.find_element("css selector", f"#{box} option[value={value}]").click()

    def test_a_click_looks_into_a_box(self):
        self.run_program(WORK)
        self.shown("--kind", "allocated")
        before = self.boxes()
        whole = self.width("allocated")
        self.assertGreater(self.width("drops"), 0)
        self.assertLess(self.width("keeps"), 0.8 * whole)
        self.click("keeps")
        self.assertAlmostEqual(self.width("keeps"), whole, delta=1)
        self.assertEqual(self.width("drops"), 0)
        self.assertRegex(self.driver.find_element("id", "details").text, r"^keeps: [\d.]+ MiB, [\d.]+ %$")
        self.driver.find_element("id", "all").click()
        self.assertEqual(self.boxes(), before)
        self.assertEqual(self.driver.get_log("browser"), [])

    def test_search_order_and_kind(self):
        self.run_program(WORK)
        self.shown("--kind", "allocated")
        plain = {name: fill for name, _, _, fill in self.boxes()}
        term = self.driver.find_element("id", "term")
        term.send_keys("KEEP")
        found = {name: fill for name, _, _, fill in self.boxes()}
        self.assertEqual({name for name, fill in found.items() if fill != plain[name]}, {"keeps"})
        self.assertRegex(self.driver.find_element("id", "details").text, r"^\d+ boxes, [\d.]+ MiB, [\d.]+ %$")
        term.clear()
        term.send_keys("allocated")  # the whole, no function
        self.assertRegex(self.driver.find_element("id", "details").text, r"^0 boxes, 0 B, 0\.0 %$")
        self.choose("order", "places")
        tops = sorted((x, name) for name, x, _, _ in self.boxes() if name in ("keeps", "drops", "works"))
        self.assertEqual(tops[0][1], "drops")  # the largest place, at the left; its callers are below
        self.choose("kind", "live")
        self.assertAlmostEqual(self.width("keeps"), self.width("in use"), delta=0.1 * self.width("in use"))
        self.assertEqual(self.driver.get_log("browser"), [])

    def test_what_grew(self):
        self.run_program(WORK, stats_signal="USR1", profile="1")
        (self.directory / f"{WORK.name}.0").rename(self.directory / "base")
        (self.directory / f"{WORK.name}.1").rename(self.directory / f"{WORK.name}.0")
        self.shown("--base", self.directory / "base")
        self.click("keeps")
        said = self.driver.find_element("id", "details").text
        grown = float(re.search(r"^keeps: ([\d.]+) MiB", said)[1])
        self.choose("kind", "live")
        self.click("keeps")
        said = self.driver.find_element("id", "details").text
        lives, change = map(float, re.search(r"^keeps: ([\d.]+) MiB, .* %, \+([\d.]+) MiB since the earlier profile$", said).groups())
        self.assertAlmostEqual(change, grown, delta=0.1)
        self.assertAlmostEqual(lives / grown, 2, delta=0.1)

    def test_it_fits_a_phone(self):
        self.run_program(WORK)
        self.driver.set_window_size(500, 800)  # the least that Chromium has
        self.shown("--kind", "allocated")
        self.assertEqual(self.driver.execute_script("return document.documentElement.scrollWidth - document.documentElement.clientWidth"), 0)


class Go(Case):
    @unittest.skipUnless(shutil.which("go"), "there is no go")
    def test_gos_pprof_reads_it(self):
        self.run_program(WORK)
        out = self.directory / "out.pb.gz"
        self.assertEqual(tool(self.directory / f"{WORK.name}.0", "--pprof", out)[0], 0)
        command = ["go", "tool", "pprof", "-top", "-sample_index=inuse_space", out]
        environment = dict(os.environ, PPROF_TMPDIR=str(self.directory))
        shown = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=250, check=False)
        self.assertRegex(shown.stdout, r"\bkeeps\b", shown.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], defaultTest=sys.argv[5])
