"""The demo's statistics, parsers and table, against answers known beforehand."""

import io
import unittest
import unittest.mock
from pathlib import Path

from rich.console import Console

from lab_test import LabTest, main
from tslab_lab.allocators import installed
from tslab_lab.base import processes
from tslab_lab.display import layout
from tslab_lab.estimates import medians
from tslab_lab.real import postgres, redis
from tslab_lab.report import demo_table


class Statistics(unittest.TestCase):
    def test_spread(self):
        self.assertEqual(medians.spread([3, 1, 2, 10]), medians.Spread(2.5, 1, 10))

    def test_ratios_are_taken_round_by_round(self):
        self.assertEqual(medians.ratios([2, 6], [1, 2]), [2, 3])
        with self.assertRaises(ValueError):
            medians.ratios([1], [1, 2])

    def test_chance_of_a_fair_coin(self):
        self.assertEqual(medians.chance_of_as_many(5, 5), 1 / 32)
        self.assertEqual(medians.chance_of_as_many(7, 8), 9 / 256)
        self.assertEqual(medians.chance_of_as_many(0, 8), 1)

    def test_rounds_to_show_a_difference(self):
        known = {1: None, 4: None, 5: 5, 6: 6, 7: 7, 8: 7, 10: 9, 20: 15}
        self.assertEqual({rounds: medians.rounds_to_show(rounds) for rounds in known}, known)

    def test_speed(self):
        theirs = [10, 20, 30, 40, 50]
        self.assertEqual(demo_table.judge_speed([11, 21, 31, 41, 51], theirs), demo_table.FASTER)
        self.assertEqual(demo_table.judge_speed([9, 19, 29, 39, 49], theirs), demo_table.SLOWER)
        self.assertEqual(demo_table.judge_speed([9, 19, 29, 39, 51], theirs), demo_table.LEVEL)
        self.assertEqual(demo_table.judge_speed(theirs, theirs), demo_table.LEVEL)
        self.assertEqual(demo_table.judge_speed([1, 1, 1, 1], [2, 2, 2, 2]), demo_table.UNJUDGED)

    def test_memory_small_counts_by_the_mebibyte(self):
        self.assertEqual(demo_table.judge_memory([3024], [2000]), demo_table.LEVEL)
        self.assertEqual(demo_table.judge_memory([3025], [2000]), demo_table.LARGER)
        self.assertEqual(demo_table.judge_memory([2000], [3025]), demo_table.SMALLER)

    def test_memory_large_counts_by_the_percent(self):
        self.assertEqual(demo_table.judge_memory([105000], [100000]), demo_table.LEVEL)
        self.assertEqual(demo_table.judge_memory([105001], [100000]), demo_table.LARGER)
        self.assertEqual(demo_table.judge_memory([94999], [100000]), demo_table.SMALLER)


class Parsers(unittest.TestCase):
    def test_redis_benchmark(self):
        text = '"test","rps","avg_latency_ms"\n"SET","727272.69","0.408"\n"LPUSH (needed)","1000.00","0.1"\n'
        self.assertEqual(redis.requests_per_second(text), {"SET": 727272.69, "LPUSH (needed)": 1000.0})

    def test_redis_benchmark_that_failed(self):
        head = '"test","rps"\n'
        for text in ("", "WARNING: x\n", head, head + '"SET","no"\n', head + '"SET","0.00"\n'):
            with self.subTest(text), self.assertRaisesRegex(processes.Failure, "gave no figures"):
                redis.requests_per_second(text)

    def test_bindings_of_the_dynamic_linker(self):
        text = """
          7:	binding file /lib/libz.so.1 [0] to /lib/libother.so [0]: normal symbol `malloc' [GLIBC_2.2.5]
          7:	binding file /bin/job [0] to /lib/libtslab-malloc.so [0]: normal symbol `malloc' [GLIBC_2.2.5]
          7:	binding file /bin/job [0] to /bin/job [0]: normal symbol `malloc' [GLIBC_2.2.5]
          7:	binding file /bin/job [0] to /lib/libc.so.6 [0]: normal symbol `puts'
        """
        found = processes.bindings(text, "/bin/job")
        self.assertEqual(found, {"malloc": "/lib/libtslab-malloc.so", "puts": "/lib/libc.so.6"})

    def test_how_a_program_ended(self):
        self.assertEqual(processes.how_it_ended(3), "ended with exit code 3")
        self.assertEqual(processes.how_it_ended(-11), "died of SIGSEGV")

    def test_foreign_settings_are_kept_out(self):
        with unittest.mock.patch.dict("os.environ", {"LD_PRELOAD": "x", "MALLOC_ARENA_MAX": "1", "TSLAB_STATS": "0"}):
            clean = processes.environment()
        self.assertEqual({"LD_PRELOAD", "MALLOC_ARENA_MAX", "TSLAB_STATS"} & set(clean), {"TSLAB_STATS"})


class Postgres(LabTest):
    def test_what_pgbench_says(self):
        text = "number of transactions actually processed: 400/400\nlatency = 1 ms\ntps = 1234.5 (without initial)\n"
        self.assertEqual(postgres.transactions_per_second(text), (400, 1234.5))
        for text in ("", "tps = 0.0", "no figures"):
            with self.assertRaisesRegex(processes.Failure, "no figures"):
                postgres.transactions_per_second(text)

    def test_another_user_goes_where_all_may(self):
        shut = self.own / "shut"
        shut.mkdir(mode=0o700)
        with unittest.mock.patch.object(postgres.tempfile, "gettempdir", lambda: str(shut)):
            for user, parent in ((0, Path("/tmp")), (1000, shut)):
                with unittest.mock.patch.object(postgres.os, "geteuid", lambda user=user: user):
                    self.assertEqual(postgres._parent(), parent)

    def test_a_library_that_ends_the_server_is_told(self):
        bad = self.compiled("#include <stdlib.h>\n__attribute__((constructor)) static void end(void) { _Exit(3); }")
        with self.assertRaisesRegex(processes.Failure, "PostgreSQL on bad: it ended with exit code 3"):
            postgres.Work(True).run(processes.environment(bad), "PostgreSQL on bad")


class Table(unittest.TestCase):
    @staticmethod
    def runs(operations, peak, rss):
        return [{"operations": operations + i, "seconds": 1.0, "peak_kib": peak + i, "rss_kib": rss} for i in range(5)]

    def rendered(self, rows, name="tslab"):
        console = Console(file=io.StringIO(), width=layout.WIDTH)
        console.print(demo_table.table(rows, "glibc 2.36", name))
        return console.file.getvalue()

    def test_figures_units_and_verdicts(self):
        rows = demo_table.rows_of("a job", "jobs/s", self.runs(2000, 204800, 10240), self.runs(1000, 102400, 20480))
        self.assertEqual([row.verdict for row in rows], [demo_table.SLOWER, demo_table.SMALLER, demo_table.LARGER])
        text = self.rendered(rows)
        self.assertIn("k jobs/s 2.00 1.00 0.50 SLOWER", " ".join(text.split()))
        self.assertIn("peak RSS, MiB 200 100 0.50 smaller", " ".join(text.split()))
        self.assertIn("RSS after, MiB 10.0 20.0 2.00 LARGER", " ".join(text.split()))
        self.assertEqual(len(demo_table.complaints(rows)), 2)

    def test_the_spread_is_shown_where_it_can_be_seen(self):
        runs = self.runs(1000, 2048, 2048)
        runs[4]["operations"] = 3000
        row = demo_table.rows_of("a job", "jobs/s", runs, self.runs(1000, 2048, 2048))[0]
        self.assertEqual(demo_table.cell(row.system, row.unit).plain, "1.00 (1.00-3.00)")
        self.assertEqual(demo_table.cell(row.ours, row.unit).plain, "1.00")

    def test_it_fits_80_columns(self):
        wide = [dict(run, rss_kib=1024 * (1000 + 300 * i)) for i, run in enumerate(self.runs(10**9, 10**6, 0))]
        for i, run in enumerate(wide):
            run["seconds"] = 1 + i / 10
        text = self.rendered(demo_table.rows_of("churn, 4 threads", "requests/s", wide, wide))
        self.assertNotIn("\N{HORIZONTAL ELLIPSIS}", text)
        self.assertIn("1600 (1000-2200)", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)

    def test_three_digits(self):
        known = {0.994: "0.99", 9.994: "9.99", 9.996: "10.0", 99.94: "99.9", 99.96: "100", 1234.4: "1234"}
        self.assertEqual({value: layout.three_digits(value) for value in known}, known)


class Arguments(LabTest):
    def test_the_name_of_the_library(self):
        known = {"libtslab-malloc.so": "tslab", "libtslab-malloc.so.0.1.0": "tslab", "libjemalloc.so.2": "jemalloc"}
        self.assertEqual({name: installed.name_of(Path(name)) for name in known}, known)


if __name__ == "__main__":
    main()
