"""The command that compares request servers, in tiny runs. usage: test_command.py LIBRARY"""

import json

from lab_test import ROOT, main
from requests_test import RequestsTest


class Command(RequestsTest):
    def require_clean(self, done):
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        lines = [line for line in done.stdout.splitlines() if not line.startswith("Figures: ")]
        self.assert_narrow("\n".join(lines))
        self.assertEqual(list(self.temporary.iterdir()), [])

    def require_run(self, run):
        server = run["server"]
        for times in (server["wall"], server["cpu"], run["client"]):
            self.assertEqual((times["count"], sum(count for _, count in times["buckets"])), (200, 200))
        self.assertAlmostEqual(server["objects"] / 200, 225, delta=20)
        self.assertAlmostEqual(server["bytes"] / 200, 52_000, delta=4000)
        self.assertEqual((server["sessions"]["live"], server["sessions"]["created"] > 20), (1000, True))
        memory = run["memory"]
        self.assertLessEqual(max(memory["before_kib"], memory["after_kib"], memory["idle_kib"]), memory["peak_kib"])
        self.assertGreater(len(run["series"]), 5)
        self.assertGreater(run["rate"], 100)

    def test_all_policies_and_both_scenarios(self):
        file, page = self.own / "runs.json", self.own / "page.md"
        files = ("--json", file, "--markdown", page)
        done = self.command("--allocators", "glibc,tslab", "--deferred", self.library, *files)
        self.require_clean(done)
        found = json.loads(file.read_text())
        policies = ("never", "per-request", "batch-16", "interval-50", "manual", "inside")
        names = ["glibc", *(f"tslab {policy}" for policy in policies), "deferred never"]
        self.assertEqual(list(found["server"]), names)
        for name, (run,) in found["server"].items():
            with self.subTest(name):
                self.require_run(run)
                self.assertEqual(run["server"]["tslab"] is None, name == "glibc")
        self.assertEqual(list(found["scattered"]), ["glibc", "tslab", "deferred", "tslab, epochs"])
        self.assertEqual(len({run["bytes"] for (run,) in found["scattered"].values()}), 1)

        text = page.read_text()
        for words in ("## The server", "## Scattered survivors", "Deferred against continuous", "not judged: 1 rounds"):
            self.assertIn(words, text)
        self.assertIn("| - |", text)  # 200 requests have no p99
        self.assertNotIn(str(ROOT), text)
        self.require_figures(self.own / "figures", text)

    def require_figures(self, directory, page):
        begins = {"png": b"\x89PNG", "pdf": b"%PDF"}
        for name in ("requests-latency", "requests-rss"):
            self.assertIn(f"({name}.png)", page)
            for suffix, begin in begins.items():
                content = (directory / f"{name}.{suffix}").read_bytes()
                self.assertEqual(content[: len(begin)], begin)
                self.assertGreater(len(content), 5000)

    def test_the_short_form_for_a_demo(self):
        options = ("--brief", "--no-figures", "--scenarios", "server", "--policies", "never,per-request")
        done = self.command(*options, "--allocators", "glibc,tslab")
        self.require_clean(done)
        for name in ("glibc", "tslab never", "tslab per-request"):
            self.assertRegex(done.stdout, rf"(?m)^{name} +[0-9]")
        self.assertFalse((self.own / "figures").exists())

    def test_the_study(self):
        file = self.own / "runs.json"
        options = ("--preset", "study", "--allocators", "glibc,tslab", "--rate", "2000", "--no-figures", "--json", file)
        done = self.tslab("requests", "--rounds", "1", "--library", self.library, *options)
        self.require_clean(done)
        found = json.loads(file.read_text())
        self.assertEqual(list(found["server"]), ["glibc", "tslab never"])
        self.assertEqual((found["load"]["requests"], found["load"]["workers"], found["scattered"]), (1200, 4, None))
        for (run,) in found["server"].values():
            self.assertEqual((run["server"]["wall"]["count"], run["server"]["workers_used"]), (1200, 4))


if __name__ == "__main__":
    main()
