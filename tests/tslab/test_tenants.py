"""The memory of tenants, as one sees it from outside: by label in the view of a process, in JSON and in the metrics.
usage: test_tenants.py LIBRARY EXAMPLE"""

import json
import os
import re
import subprocess
import sys

from live_test import Live
from tslab_test import main

EXAMPLE = os.path.abspath(sys.argv.pop(2)) if len(sys.argv) > 2 else ""  # examples/tenants.cpp
MIB = 1 << 20


class Tenants(Live):
    def setUp(self):
        super().setUp()
        environment = self.environment | {"TSLAB_EXPORT": "1"}
        self.server = subprocess.Popen([EXAMPLE, "1000"], env=environment, start_new_session=True)
        self.addCleanup(self.server.wait)
        self.addCleanup(self.end, self.server)
        (found,) = self.figures([self.server.pid], self.is_under_way)
        self.labels = {row["label"]: row for row in found.figures.labels}

    @staticmethod
    def is_under_way(found):
        live = {row["label"]: row["live_bytes"] for row in found.figures.labels}
        refusals = sum(row["refusals"] for row in found.figures.limits)
        return refusals and live["leaky"] > live["well"] + 2 * MIB

    def test_they_are_told_apart(self):
        self.assertEqual(set(self.labels), {"well", "leaky", "greedy"})
        for row in self.labels.values():
            self.assertEqual((row["epochs"], row["open"]), (1, 1))
            self.assertTrue(0 < row["live_bytes"] <= row["memory_bytes"] <= row["peak_bytes"])
            self.assertTrue(0 < row["resident_bytes"] <= row["memory_bytes"])
        self.assertLess(self.labels["well"]["peak_bytes"], 8 * MIB)
        self.assertGreater(self.labels["greedy"]["peak_bytes"], 4 * MIB)

    def test_the_view_of_the_process(self):
        done = self.tslab("stat", self.server.pid)
        self.assert_narrow(done.stdout)
        for label in self.labels:
            self.assertRegex(done.stdout, rf"(?m)^ +1 +0 +\S+ +[\d.]+M +[\d.]+M +[\d.]+M +[\d.]+M +[\d,k]+  {label}$")
        self.assertRegex(done.stdout, r"(?m)^ +8\.00M +[\d.]+M +[\d.]+M +\d+  greedy$")

    def test_top(self):
        (line,) = self.tslab("top", "--once", "--json").stdout.splitlines()
        (found,) = [one for one in json.loads(line)["processes"] if one["pid"] == self.server.pid]
        self.assertEqual({row["label"] for row in found["labels"]}, set(self.labels))
        self.assertEqual([row["label"] for row in found["label_limits"]], ["greedy"])

    def test_metrics(self):
        text = self.tslab("stat", self.server.pid, "--openmetrics").stdout
        value = {
            (name, label): float(at)
            for name, label, at in re.findall(r'^(\w+)\{label="(\w+)",pid.*\} (.*)$', text, re.M)
        }
        for label in self.labels:
            live, resident, memory, peak = (
                value[f"tslab_epoch_{name}_bytes", label] for name in ("live", "resident", "memory", "peak")
            )
            self.assertTrue(0 < live <= memory <= peak and 0 < resident <= memory)
        self.assertEqual(value["tslab_label_limit_bytes", "greedy"], 8 * MIB)
        self.assertTrue(4 * MIB < value["tslab_label_peak_used_bytes", "greedy"] <= 9 * MIB)
        self.assertGreater(value["tslab_label_refusals_total", "greedy"], 0)
        self.assertGreater(value["tslab_epoch_refused", "greedy"], value["tslab_epoch_refused", "leaky"])


if __name__ == "__main__":
    main()
