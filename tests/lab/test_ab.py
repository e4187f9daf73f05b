"""`lab ab`: the rule of decision against known answers and simulated noise, its words, and tiny runs of the command.
usage: test_ab.py LIBRARY"""

import itertools
import json
import math
import random
import shutil
import unittest
import unittest.mock

from lab_test import ONE_PLACE, LabTest, main
from tslab_lab.allocators import sides
from tslab_lab.commands import ab
from tslab_lab.estimates import randomisation
from tslab_lab.estimates.randomisation import BETTER, GO, NO_DIFFERENCE, NO_GO, UNDECIDED, WORSE, Row
from tslab_lab.results import comparison

ROWS, TABLES = 14, 100
NOISE = 0.015

# A library to preload that is the C library's malloc, and fills 32 MiB when it is loaded.
WASTES = """
#include <stddef.h>
#include <string.h>
void *__libc_malloc(size_t size);
void __libc_free(void *start);
static char waste[32 << 20];
__attribute__((constructor)) static void fill(void) { memset(waste, 1, sizeof(waste)); }
void *malloc(size_t size) { return __libc_malloc(size); }
void free(void *start) { __libc_free(start); }
"""


def row(rounds, case="case", figure="time"):
    """`rounds`: a list of (A, B, A2)."""
    return Row(case, figure, *map(tuple, zip(*rounds)))


def simulated(generator, rounds, effects=()):
    """A table measured on a machine that drifts, with noise, and a run in twenty that is disturbed. `effects`: what B
    does to the rows, by index; without, the rows differ in how noisy they are."""
    rows = []
    for index in range(ROWS):
        usual, drift, columns = generator.uniform(5, 500), 0.0, {"a": [], "b": [], "a2": []}
        noise = NOISE if effects else NOISE * generator.uniform(0.3, 2)
        for _ in range(rounds):
            drift += generator.gauss(0, 0.02)
            for name in generator.sample(list(columns), 3):
                drift += generator.gauss(0, 0.003)
                value = usual * math.exp(drift + generator.gauss(0, noise))
                if generator.random() < 0.05:
                    value *= generator.uniform(1.05, 1.6)
                if name == "b" and index in effects:
                    value *= effects[index]
                columns[name].append(value)
        rows.append(Row(str(index), "time", *map(tuple, columns.values())))
    return rows


def verdicts(rows, least_effect=0.01):
    chances = randomisation.adjusted([found.chance for found in rows])
    return [randomisation.verdict(found, chance, least_effect) for found, chance in zip(rows, chances)]


class Chances(unittest.TestCase):
    def test_what_is_always_apart_has_the_least_chance(self):
        for rounds in range(1, 13):
            for factor in (0.5, 2):
                found = row([(100 + i, factor * (100 + i), 101 + i) for i in range(rounds)])
                self.assertAlmostEqual(found.chance, 2 / 3**rounds, delta=1e-15)

    def test_all_ways_are_counted(self):
        generator = random.Random(1)
        for _ in range(50):
            # Few values, so that there are ties.
            rounds = [[generator.randrange(10, 14) for _ in range(3)] for _ in range(4)]
            ranked = randomisation._aligned_ranks([(b, a, a2) for a, b, a2 in rounds])
            sums = [sum(way) for way in itertools.product(*ranked)]
            seen = sum(ranks[0] for ranks in ranked)
            apart = min(sum(one <= seen for one in sums), sum(one >= seen for one in sums))
            self.assertEqual(row(rounds).chance, min(1, 2 * apart / len(sums)))

    def test_adjusting_is_benjamini_and_hochberg(self):
        found = randomisation.adjusted([0.01, 0.04, 0.03, 0.005, 0.9])
        for value, known in zip(found, (0.025, 0.05, 0.05, 0.025, 0.9), strict=True):
            self.assertAlmostEqual(value, known)
        self.assertEqual(randomisation.adjusted([]), [])

    def test_rounds_that_it_takes(self):
        # 2 / 3^3 is above 5 %, 2 / 3^4 is not; 42 * 2 / 3^7 is 3.8 %.
        self.assertEqual([randomisation.fewest_rounds(rows) for rows in (1, 2, 3, 42)], [4, 4, 5, 7])


class Verdicts(unittest.TestCase):
    def test_less_is_better(self):
        rounds = [(100 + i, 100 + i / 2, 100) for i in range(8)]
        slower, faster = (row([(a, b * factor, a2) for a, b, a2 in rounds]) for factor in (1.2, 0.8))
        self.assertEqual(verdicts([slower]), [WORSE])
        self.assertEqual(verdicts([faster]), [BETTER])

    def test_the_interval_must_exclude_1(self):
        found = row([(100, 98 if i < 4 else 110, 100) for i in range(9)])
        self.assertLess(found.interval.low, 1)
        self.assertGreater(found.effect, 1.05)
        self.assertIsNone(randomisation.verdict(found, 0.001, 0.01))

    def test_one_row_of_many_needs_more_rounds(self):
        for rounds, known in ((5, None), (6, None), (7, WORSE)):
            rows = [row([(100, 150, 100)] * rounds), *[row([(100, 100, 100)] * rounds)] * 41]
            self.assertEqual(verdicts(rows), [known, *[None] * 41], rounds)
        several = [row([(100, 150, 100)] * 5)] * 20 + [row([(100, 100, 100)] * 5)] * 22
        self.assertEqual(verdicts(several), [WORSE] * 20 + [None] * 22)

    def test_what_would_have_been_shown_is_where_it_begins(self):
        generator = random.Random(3)
        for _ in range(2):
            rows = simulated(generator, 9)
            for judged in randomisation.decide(rows, 0.01):
                self.assertIsNone(judged.verdict)
                centred = judged.row.scaled(1 / judged.row.effect)

                def told(factor, centred=centred, rows=rows):
                    found = centred.scaled(factor)
                    return randomisation.verdict(found, found.chance * len(rows), 0.01)

                beyond, short = judged.shown_from * 1.0001, 1 + (judged.shown_from - 1) * 0.8
                self.assertEqual((told(beyond), told(1 / beyond)), (WORSE, BETTER))
                self.assertIn(None, (told(short), told(1 / short)))

    def test_worse_anywhere_is_no_go(self):
        def overall(*found, failed=(), shown_from=1.1):
            return randomisation.overall([randomisation.Judged(None, 1, one, shown_from) for one in found], failed)

        self.assertEqual(overall(None, None), NO_DIFFERENCE)
        self.assertEqual(overall(None, None, shown_from=None), UNDECIDED)
        self.assertEqual(overall(None, BETTER), GO)
        self.assertEqual(overall(WORSE, None), NO_GO)
        self.assertEqual(overall(BETTER, WORSE, BETTER), NO_GO)
        self.assertEqual(overall(BETTER, failed=["pair"]), NO_GO)


class Simulations(unittest.TestCase):
    def test_nothing_is_told_where_nothing_differs(self):
        for rounds in (5, 7, 10):
            generator = random.Random(rounds)
            told, tables, careless = 0, 0, 0
            for _ in range(TABLES):
                rows = simulated(generator, rounds)
                found = sum(verdict is not None for verdict in verdicts(rows, 0))
                told, tables = told + found, tables + (found > 0)
                careless += any(one.chance <= randomisation.CHANCE for one in rows)
            self.assertLessEqual(told, 0.05 * ROWS * TABLES)
            self.assertLessEqual(tables, 0.1 * TABLES)  # 5 are expected at most
            # Without regard to how many rows there are, every other table would tell a difference.
            self.assertGreater(careless, 0.25 * TABLES)

    def test_what_differs_is_told(self):
        # In all rows, or in a single one; slower or faster.
        every, one = range(ROWS), range(1)
        cases = ((5, every, 0.5), (7, every, 0.7), (10, every, 0.75), (10, one, 0.7), (12, one, 0.8))
        for rounds, indices, share in cases:
            for factor, known in ((1.05, WORSE), (0.95, BETTER)):
                generator = random.Random(rounds)
                found = []
                for _ in range(4 if len(indices) > 1 else 24):
                    told = verdicts(simulated(generator, rounds, dict.fromkeys(indices, factor)))
                    found += [told[index] for index in indices]
                self.assertGreaterEqual(found.count(known) / len(found), share, (rounds, factor, len(indices)))
                self.assertEqual(found.count(None) + found.count(known), len(found))


def compared(rows, failed=()):
    return comparison.Comparison(randomisation.decide(rows, 0.02), list(failed))


class Words(unittest.TestCase):
    worse = row([(100, 150, 101)] * 8, "bulk")
    better = row([(4096, 2048, 4096)] * 8, "pair", "peak RSS")
    level = row([(2e9, 2.01e9, 2e9)] * 8, "replace")

    def words(self, *rows, **more):
        found = compared(rows, **more)
        return found.verdict, " ".join(ab.words(found))

    def test_verdicts_name_what_they_rest_on(self):
        self.assertEqual(
            self.words(self.better, self.level),
            (
                GO,
                "B is better in 1 of 2 workloads: pair: peak RSS -50.0 % (A/A +0.0 %). It is shown to be worse in none.",
            ),
        )
        self.assertEqual(
            self.words(self.worse, self.level),
            (NO_GO, "B is worse in 1 of 2 workloads: bulk: time +49.3 % (A/A +1.0 %)."),
        )
        verdict, words = self.words(self.worse, self.better, self.level)
        self.assertEqual(verdict, NO_GO)
        self.assertIn(
            "worse in 1 of 3 workloads: bulk: time +49.3 % (A/A +1.0 %). B is better in 1 of 3 workloads: pair: ", words
        )
        self.assertTrue(words.endswith("What is worse decides: what is gained elsewhere does not make up for it."))
        self.assertEqual(self.words(self.level), (NO_DIFFERENCE, "None is shown between A and B in 1 workload."))
        verdict, words = self.words(self.better, failed=["threads"])
        self.assertEqual(verdict, NO_GO)
        self.assertTrue(words.startswith("B cannot run what A runs: threads. B is better in 1 of 2 workloads"), words)


class Sides(LabTest):
    def side(self, word):
        return sides.side(word, self.library)

    def test_options_become_variables(self):
        copy = self.own / "lib@new.so"
        shutil.copy(self.library, copy)
        cases = {
            "tslab": {},
            "tslab@purge_delay_ms=0": {"TSLAB_PURGE_DELAY_MS": "0"},
            "tslab@retain_bytes=8M,TSLAB_STATS=0": {"TSLAB_RETAIN_BYTES": "8M", "TSLAB_STATS": "0"},
            f"{copy}": {},
            f"{copy}@epoch_policy=batch-2": {"TSLAB_EPOCH_POLICY": "batch-2"},
            f"new={copy}@magazines=0": {"TSLAB_MAGAZINES": "0"},
            "glibc@MALLOC_ARENA_MAX=1": {"MALLOC_ARENA_MAX": "1"},
            "glibc@GLIBC_TUNABLES=glibc.malloc.x=1,A_B=": {"GLIBC_TUNABLES": "glibc.malloc.x=1", "A_B": ""},
            "glibc@MALLOC_CONF=a:1,b:2": {"MALLOC_CONF": "a:1,b:2"},
        }
        for word, known in cases.items():
            found = self.side(word)
            self.assertEqual((found.title, found.environment), (word, known))
            path = None if word.startswith("glibc") else copy if str(copy) in word else self.library
            self.assertEqual(found.path and str(found.path), path and str(path))


class Command(LabTest):
    def ab(self, *words, **options):
        return self.lab("ab", *words, "--library", self.library, **options)

    def test_what_weighs_more_is_no_go(self):
        page, folder = self.own / "page.md", self.own / "results"
        words = ["glibc", "--rounds", 6, self.compiled(WASTES), "--quick", "pair:operations=1000"]  # in any order
        done = self.ab(*words, "--markdown", page, "--output", folder, "--question", "Is waste free?")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("\nVerdict: NO-GO. B is worse in 1 of 1 workload: ", done.stdout)
        self.assert_narrow("".join(line + "\n" for line in done.stdout.splitlines() if str(self.own) not in line))
        text = page.read_text()
        self.assertIn("*Question*: Is waste free?\n\n*Verdict*: **NO-GO**.", text)
        for title in ("\nPeak RSS, MiB:\n", "\nRSS after, MiB:\n"):  # its time is no sure thing
            self.assertIn("| WORSE |", text.split(title)[1].split("\n\n")[0])
        lines = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
        self.assertEqual((lines[0]["command"], list(lines[0]["allocators"])), ("ab", ["A", "B", "A2"]))
        runs = [(line["allocator"], line["round"]) for line in lines if line["kind"] == "run"]
        self.assertEqual(sorted(runs), [(name, i) for name in ("A", "A2", "B") for i in range(1, 7)])
        self.assert_nothing_left()

    def test_what_b_alone_cannot_run_is_no_go(self):
        bad = self.compiled(ONE_PLACE % (100, 200))
        workloads = ["pair:operations=1000", "replace:operations=1000,live=10,min=100,max=200"]
        done = self.ab("glibc", bad, *workloads, "--rounds", 6)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("\nVerdict: NO-GO. B cannot run what A runs: replace:", done.stdout.replace("runs: \n", "runs: "))
        done = self.ab("glibc", bad, workloads[1], "--rounds", 6)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("No round was complete", done.stderr)


if __name__ == "__main__":
    main()
