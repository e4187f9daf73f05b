"""The command that compares request servers, in tiny runs, and what it must refuse or report.
usage: test_requests.py LIBRARY"""

import json

from lab_test import ROOT, LabTest, main


class RequestsTest(LabTest):
    def words(self, *options):
        little = ("--quick", "--requests", "200", "--rate", "1000")
        return ("requests", *little, "--library", self.library, *options)

    def command(self, *options):
        return self.lab(*self.words(*options))


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
        self.assertLessEqual(
            max(memory["before_kib"], memory["after_kib"], memory["idle_kib"]), memory["peak_kib"] + 256
        )  # the kernel's peak lags behind
        self.assertGreater(len(run["series"]), 1)
        self.assertGreater(run["rate"], 0)

    def test_all_policies_and_both_scenarios(self):
        page = self.own / "page.md"
        files = ("--output", "out", "--markdown", page)
        done = self.command("--allocators", "glibc,tslab", "--deferred", *files)
        self.require_clean(done)
        found = self.found("out")
        policies = ("never", "per-request", "batch-16", "interval-50", "manual", "inside")
        names = ["glibc", *(f"tslab {policy}" for policy in policies), "deferred never"]
        self.assertEqual(set(found["server"]), set(names))
        for name, (run,) in found["server"].items():
            with self.subTest(name):
                self.require_run(run)
                self.assertEqual(run["server"]["slabs"] is None, name == "glibc")
        self.assertEqual(set(found["scattered"]), {"glibc", "tslab", "tslab, epochs"})
        self.assertEqual(len({run["bytes"] for (run,) in found["scattered"].values()}), 1)

        text = page.read_text()
        pictures = ("(page-latency.png)", "(page-rss.png)")
        for words in ("## The server", "## Scattered survivors", "Deferred against continuous", *pictures):
            self.assertIn(words, text)
        self.assertIn("| - |", text)  # 200 requests have no p99
        self.assertNotIn(str(ROOT), text)

    def found(self, folder):
        """The header, and dict name -> runs of each case."""
        header, *lines = map(json.loads, (self.own / folder / "results.jsonl").read_text().splitlines())
        found = {"header": header}
        series = {(line["allocator"], line["round"]): line for line in lines if line["kind"] == "series"}
        for line in lines:
            if line["kind"] == "run":
                of = series.get((line["allocator"], line["round"]), {"rss_kb": []})
                found.setdefault(line["case"], {}).setdefault(line["allocator"], []).append(
                    line | {"series": of["rss_kb"]}
                )
        self.assertTrue(any(line["kind"] == "latency" for line in lines))
        return found

    def test_the_study(self):
        sides = "glibc,tslab,tslab@magazines=0"
        options = ("--preset", "study", "--allocators", sides, "--rate", "2000", "--output", "out")
        done = self.lab("requests", "--rounds", "1", "--library", self.library, *options)
        self.require_clean(done)
        found = self.found("out")
        self.assertEqual(set(found["server"]), {"glibc", "tslab never", "tslab@magazines=0"})
        load = found["header"]["cases"]["server"]["parameters"]
        self.assertEqual((load["requests"], load["workers"], "scattered" in found), (1200, 4, False))
        for (run,) in found["server"].values():
            self.assertEqual((run["server"]["wall"]["count"], run["server"]["workers_used"]), (1200, 4))


if __name__ == "__main__":
    main()
