"""Profiles of whole programs, as `tslab profile` shows them.

usage: test_profile.py DROPIN PLANTED WORK Programs|Go
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
sys.path.insert(0, str(HERE.parents[1] / "lab"))

from tslab_lab.profiles import figures, pprof, symbols, written  # noqa: E402

DROPIN, PLANTED, WORK = (Path(word).resolve() for word in sys.argv[1:4])
MIB = 1 << 20


def tool(*words):
    command = [sys.executable, "-B", HERE.parents[1] / "lab" / "tslab", "profile", *words]
    result = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    return result.returncode, result.stdout + result.stderr


class Case(unittest.TestCase):
    def setUp(self):
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def run_program(self, program, *words, **options):
        environment = {"PATH": os.environ["PATH"], "LD_PRELOAD": str(DROPIN), "TSLAB_PROFILE": "512K"}
        environment["TSLAB_PROFILE_FILE"] = str(self.directory / "%e.%n")
        environment |= {f"TSLAB_{name.upper()}": value for name, value in options.items()}
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
        grown = re.search(r"([\d,]+) +\d+ +keeps", said)
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

    def test_what_is_no_profile_is_refused(self):
        other = self.directory / "other"
        other.write_text("nothing\n")
        code, said = tool(other)
        self.assertEqual(code, 1)
        self.assertIn("is no profile of tslab", said)

    def test_without_the_option_nothing_is_written(self):
        self.run_program(WORK, profile="0")
        self.assertEqual(list(self.directory.iterdir()), [])


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
    unittest.main(argv=sys.argv[:1], defaultTest=sys.argv[4])
