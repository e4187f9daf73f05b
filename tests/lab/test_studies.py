"""The studies of the earlier work: what their sentences say is decided by the figures. usage: test_studies.py LIBRARY"""

import unittest

from lab_test import main
from tslab_lab.measure import case_runner
from tslab_lab.request_server.outcomes import Column, Outcome
from tslab_lab.results import storage
from tslab_lab.statistics.histogram import Histogram
from tslab_lab.studies import caches, mailbox, memory, requests

ROUNDS = 10


def results(runs, cases=()):
    footer = {"rounds": ROUNDS, "complete": True, "load_at_end": 0.0, "seconds": 1.0}
    header = {"machine": {}, "allocators": {}, "cases": dict.fromkeys(cases, {})}
    return storage.Results("-", header, runs=runs, footer=footer)


def timed(case, allocator, ns):
    """A run in each round, all of the same time."""
    for number in range(1, ROUNDS + 1):
        yield {"case": case, "allocator": allocator, "round": number, "operations": 1000, "seconds": ns * 1e-6}


class Requests(unittest.TestCase):
    def outcome(self, **times):
        """By column, microseconds of each request."""
        columns = [Column.of(f"{name} never") for name in times]
        found = Outcome(columns)
        for column, us in zip(columns, times.values()):
            wall = Histogram.of([1000 * us + number for number in range(100)]).to_json()
            found.runs[column.name] = [{"server": {"wall": wall, "cpu": wall}}] * ROUNDS
        return found

    def verdict(self, **times):
        return requests.study_sentence(self.outcome(**times)).partition(".")[0]

    def test_the_claim_is_a_collapse(self):
        self.assertEqual(self.verdict(deferred=1959, tslab=51), "**Confirmed")
        self.assertEqual(self.verdict(deferred=60, tslab=51), "**Confirmed in part")
        self.assertEqual(self.verdict(deferred=50, tslab=51), "**Refuted")
        self.assertEqual(self.verdict(deferred=9000, tslab=2000), "**Confirmed in part")  # continuous is slow, too
        self.assertEqual(self.verdict(tslab=51), "**Undecided")

    def test_noise_decides_nothing(self):
        found = self.outcome(deferred=100, tslab=50)
        runs = [self.outcome(deferred=us).runs["deferred never"][0] for us in (20, 400)]
        found.runs["deferred never"] = runs * (ROUNDS // 2)
        self.assertIn("**Undecided.**", requests.study_sentence(found))

    def test_their_figures_stand_beside_ours(self):
        rows = requests.study_table(self.outcome(deferred=50, tslab=51)).rows
        self.assertEqual(rows[0][:3], ["deferred", "1,959", "1,074,000"])
        self.assertEqual((rows[1][:3], rows[1][4]), (["continuous", "51", "262"], "51.1"))

    def test_bounded_is_what_settles(self):
        def sentence(rss):
            found = Outcome([Column.of("tslab batch-256")])
            wall = Histogram.of([1000] * 1000).to_json()
            series = [(at, rss(at / 1000)) for at in range(0, 1000, 10)]
            run = {"server": {"wall": wall, "cpu": wall}, "rate": 1000, "series": series, "memory": {"peak_kib": rss(1)}}
            found.runs["tslab batch-256"] = [run] * ROUNDS
            return requests.batch_sentence(found)

        self.assertIn("**Confirmed.** Of 1,000 requests, the RSS changes by +6250, +3125, +", sentence(lambda t: 50000 - 25000 / 4 ** (2 * t)))
        self.assertIn("**Refuted.**", sentence(lambda t: 20000 + 20000 * t))


class Caches(unittest.TestCase):
    def changes(self, **percent):
        names = {"p50": "p50", "p99": "p99", "p999": "p99.9"}
        return [(threads, "malloc", names[name], change) for name, own in percent.items() for threads, change in zip((1, 2), own)]

    def verdict(self, **percent):
        return caches.sentence(self.changes(**percent)).partition(".")[0]

    def test_by_percentile_and_threads(self):
        self.assertEqual(self.verdict(p50=(-60, -50), p99=(-80, -70), p999=(-9, -5)), "**Confirmed")
        self.assertEqual(self.verdict(p50=(-60, -50), p99=(-80, -70), p999=(-9, 30)), "**Confirmed in part")
        self.assertEqual(self.verdict(p50=(0, -1), p99=(1, 5), p999=(9, 30)), "**Refuted")
        self.assertEqual(self.verdict(p50=(-60, -50)), "**Undecided")
        text = caches.sentence(self.changes(p50=(-60, -50), p99=(-80, -70), p999=(-9, 30)))
        self.assertIn("p99.9 by -9 to +30 % (theirs -76 %)", text)

    def test_traffic_must_not_be_slower(self):
        for ours, round_, verdict in ((90, 100, "**Confirmed"), (90, 0, "**Replaced"), (120, 0, "**Refuted")):
            found = results([*timed("bulk", "tslab", ours), *timed("bulk", "tslab@magazines=0", 100)])
            found.accounts.append({"case": "bulk", "traffic": {"allocations": 200, "bypassed_allocations": 2 * round_}})
            self.assertEqual(caches.traffic_sentence(found).partition(".")[0], verdict)
            self.assertIn(f"at most {round_:.1f} % of a workload's", caches.traffic_sentence(found))


class Mailbox(unittest.TestCase):
    def verdict(self, remote, local):
        words = [f"mixed-remote:threads=4,remote={share},min=16,max=48" for share in (0, 90)]
        cases = case_runner.select(words)
        runs = []
        for case, ns in zip(cases, (local, remote)):
            runs += [*timed(case.name, "tslab", 100), *timed(case.name, "mailbox", ns)]
        return mailbox.sentence(results(runs), cases).partition(".")[0]

    def test_its_own_criteria(self):
        self.assertEqual(self.verdict(80, 100), "**Refuted")  # it found that they are missed
        self.assertEqual(self.verdict(80, 110), "**Confirmed in part")
        self.assertEqual(self.verdict(98, 100), "**Confirmed")
        self.assertEqual(self.verdict(130, 100), "**Confirmed")

    def test_noise_decides_nothing(self):
        (case, local) = case_runner.select([f"mixed-remote:threads=4,remote={share},min=16,max=48" for share in (90, 0)])
        wild = [run | {"seconds": run["seconds"] * (0.5 + run["round"] % 2)} for run in timed(case.name, "mailbox", 95)]
        runs = [*timed(case.name, "tslab", 100), *wild, *timed(local.name, "tslab", 100), *timed(local.name, "mailbox", 100)]
        self.assertIn("**Undecided.**", mailbox.sentence(results(runs), [case, local]))


class Memory(unittest.TestCase):
    def outcome(self, **sides):
        """By allocator, (mean MiB, operations a second)."""
        return {
            name.replace("__", "="): {number: {"mean_kib": mib * 1024, "operations_per_second": speed} for number in range(ROUNDS)}
            for name, (mib, speed) in sides.items()
        }

    def verdict(self, say, **sides):
        named = {"kept": memory.KEEP, "eager": memory.EAGER, "budget": memory.BUDGET}
        outcome = {named.get(name, name): runs for name, runs in self.outcome(**sides).items()}
        return say(outcome).partition(".")[0]

    def test_by_figures(self):
        self.assertEqual(self.verdict(memory.app_sentence, tslab=(5, 5e7), glibc=(3, 2e7)), "**Replaced")
        self.assertEqual(self.verdict(memory.app_sentence, tslab=(15, 5e7)), "**Confirmed")
        self.assertEqual(self.verdict(memory.budget_sentence, tslab=(5, 5e7), budget=(6, 7e7)), "**Confirmed")
        self.assertEqual(self.verdict(memory.budget_sentence, tslab=(5, 5e7), budget=(6, 5.1e7)), "**Refuted")
        self.assertEqual(self.verdict(memory.decay_sentence, tslab=(5, 5e7), kept=(9, 5e7), eager=(5, 5e7)), "**Refuted")
        self.assertEqual(self.verdict(memory.decay_sentence, tslab=(5, 5e7), kept=(5, 5e7), eager=(5, 5e7)), "**Confirmed")
        self.assertEqual(self.verdict(memory.exit_sentence, tslab=(5, 5e7)), "**Undecided")


if __name__ == "__main__":
    main()
