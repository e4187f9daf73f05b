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
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))

from tslab_tools.profiles import figures, pprof, symbols, written  # noqa: E402

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
except ImportError:
    webdriver = None

DROPIN, PLANTED, WORK, PROMISE = (Path(word).resolve() for word in sys.argv[1:5])
MIB = 1 << 20
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
NO_BROWSER = "apt-get install chromium chromium-driver python3-selenium: no browser looks at the page without"
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
        sites = figures.by_site(figures.kept(profile), symbols.Symbols(profile))
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
        sites = dict(figures.by_site(figures.kept(profile), symbols.Symbols(profile)))
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
        names = symbols.Symbols(profile)
        live = dict(figures.by_site(figures.live(profile), names))
        kept = next(found for site, found in live.items() if site.startswith("keeps"))
        self.assertAlmostEqual(kept.bytes / (40000 * 1024), 1, delta=0.6)  # of about 80 samples: five sigma
        self.assertNotIn("drops", {site.split()[0] for site in live})
        allocated = {site.split()[0]: found for site, found in figures.by_site(figures.by_stack(profile, "allocated"), names)}
        self.assertAlmostEqual(allocated["drops"].bytes / (40000 * 2048 + 2000 * 57344), 1, delta=0.5)
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

    def test_each_object_with_a_period_of_one(self):
        self.run_program(WORK, profile="1")
        profile = written.read(self.directory / f"{WORK.name}.0")
        live = {site.split()[0]: found for site, found in figures.by_site(figures.live(profile), symbols.Symbols(profile))}
        self.assertEqual(round(live["keeps"].objects), 40000)
        self.assertNotIn("drops", live)

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
        message = pprof._message_class()()
        message.ParseFromString(gzip.decompress(out.read_bytes()))
        self.assertEqual(message.string_table[0], "")
        self.assertEqual(len(message.sample_type), 8)
        files = {message.string_table[mapping.filename]: message.string_table[mapping.build_id] for mapping in message.mapping}
        self.assertRegex(files[str(WORK)], r"^[0-9a-f]*$")
        locations = {location.id for location in message.location}
        self.assertTrue(all(set(sample.location_id) <= locations for sample in message.sample))
        keys = {message.string_table[label.key] for sample in message.sample for label in sample.label}
        self.assertEqual(keys, {"epoch", "thread"})

    def test_flame_graphs(self):
        self.run_program(WORK)
        svg, page = self.directory / "out.svg", self.directory / "out.html"
        code, _ = tool(self.directory / f"{WORK.name}.0", "--svg", svg, "--html", page)
        self.assertEqual(code, 0)
        self.assertIn("<title>keeps: ", svg.read_text())
        self.assertIn(svg.read_text().splitlines()[-2], page.read_text())

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
        process = self.server(profile="16K", stats_signal="USR2")
        first, second = self.directory / "first.pb.gz", self.directory / "second.pb.gz"
        code, said = tool(process.pid)
        self.assertEqual(code, 0, said)
        self.assertRegex(said, rf"^\S+ {process.pid}: in use\n")
        self.assertGreater(float(re.search(r"^ *([\d.]+) ", said, re.MULTILINE)[1]), 12)  # of 25 MiB, from hundreds of samples
        for path in (first, second):
            self.assertEqual(tool(process.pid, "--pprof", path)[0], 0)
            self.assertTrue(gzip.decompress(path.read_bytes()))
        self.assertIsNone(process.poll())
        self.assertEqual(len(list(self.directory.glob("python3*"))), 3)

    def test_a_process_that_exports_is_asked(self):
        """It needs no signal, and no file: then nothing is left. One that has a long name has a file with it."""
        process = self.server(export=1, keeper=2, profile="16K")
        self.assertEqual(tool(process.pid)[0], 0)
        self.assertEqual(len(list(self.directory.glob("python3*"))), 1)
        longer = self.directory / "a-name-of-many-letters"
        longer.symlink_to("/usr/bin/python3")
        process = self.server(program=longer, stats_signal="USR2", profile="16K")
        code, said = tool(process.pid)
        self.assertEqual(code, 0, said)
        self.assertEqual(len(list(self.directory.glob("a-name-of-many-letters.*"))), 1)
        before = set(Path(tempfile.gettempdir()).iterdir())
        process = self.server(export=1, keeper=2, options="profile=16K", profile=None)
        code, said = tool(process.pid)
        self.assertEqual(code, 0, said)
        self.assertRegex(said, rf"^\S+ {process.pid}: in use\n")
        self.assertEqual({path.name for path in set(Path(tempfile.gettempdir()).iterdir()) - before if path.name.startswith("tslab-")}, set())

    def test_a_process_that_cannot_be_asked(self):
        code, said = tool(self.server().pid)
        self.assertEqual(code, 1)
        self.assertIn("was started without a signal, as TSLAB_STATS_SIGNAL=USR2. Or start it with TSLAB_EXPORT=1, and", said)
        code, said = tool(self.server(profile="0", export=1).pid)
        self.assertEqual(code, 1)
        self.assertRegex(said, r"takes no samples. To begin now: tslab ctl \d+ profile=512K. To begin at its start: ")

    def test_what_is_no_profile_is_refused(self):
        other = self.directory / "other"
        other.write_text("nothing\n")
        code, said = tool(other)
        self.assertEqual(code, 1)
        self.assertIn("is no profile of tslab", said)

    def test_without_the_option_nothing_is_written(self):
        self.run_program(WORK, profile="0")
        self.assertEqual(list(self.directory.iterdir()), [])


@unittest.skipUnless(webdriver and CHROMIUM and DRIVER, NO_BROWSER)
class Browser(Case):
    """The page with the flame graph, as a reader has it."""

    def boxes(self):
        """What each box that is shown says: its function, from where to where it goes, and its text."""
        return self.driver.execute_script(
            """return [...document.querySelectorAll("svg g")].filter((box) => box.style.display !== "none").map((box) => {
                const shape = box.querySelector("rect");
                return [box.dataset.n, Math.round(shape.getAttribute("x")), Math.round(shape.getAttribute("width")), box.querySelector("text").textContent];
            });"""
        )

    def click(self, function):
        """A click of the mouse on the first box of a function."""
        script = """return [...document.querySelectorAll("svg g")].find((box) => box.dataset.n.startsWith(arguments[0])).querySelector("rect");"""
        self.driver.execute_script(script, function).click()

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

    def test_a_click_looks_into_a_box(self):
        self.run_program(WORK)
        page = self.directory / "out.html"
        self.assertEqual(tool(self.directory / f"{WORK.name}.0", "--kind", "allocated", "--html", page)[0], 0)
        self.driver.get(page.as_uri())
        before = self.boxes()
        whole = max(width for _, _, width, _ in before)
        root = next(name for name, _, width, _ in before if width == whole)
        keeps = next(box for box in before if box[0].startswith("keeps"))
        self.assertTrue(any(name.startswith("drops") for name, *_ in before))
        self.assertLess(keeps[2], 0.8 * whole)
        self.click("keeps")
        after = self.boxes()
        self.assertTrue(all((x, width) == (0, whole) for _, x, width, _ in after), after)
        self.assertIn("keeps", {text.split()[0] for _, _, _, text in after})
        self.assertFalse(any(name.startswith("drops") for name, *_ in after))
        self.click(root)
        again = self.boxes()
        self.assertEqual([(name, text) for name, _, _, text in again], [(name, text) for name, _, _, text in before])
        for (_, x, width, _), (_, was_x, was_width, _) in zip(again, before, strict=True):  # the page rounds what was written in it
            self.assertLessEqual(max(abs(x - was_x), abs(width - was_width)), 1)
        self.assertEqual(self.driver.get_log("browser"), [])


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
