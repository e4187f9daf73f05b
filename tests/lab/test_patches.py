"""The patches of lab/variants: each builds, and does what it says. usage: test_patches.py LIBRARY"""

import subprocess

from lab_test import ROOT, LabTest, main
from tslab_lab.allocators import variants
from tslab_lab.commands import variants as command

# Locked instructions for each operation.
FREED_BY_OTHERS, PAIR = "two replace 16-48 B, 90 % freed by the other", "malloc and free in the magazine"
REMOTE = {"straight": 0.93, "outbox": 0.20, "tslab": 0.20, "adopted": 0.007, "mailbox": 0.024}
BYPASS = {"tslab": 0.00, "frees": 1.08, "allocations": 0.18, "both": 1.11, "magazines=0": 1.11}
SLACK = 0.05  # of what the engine may do otherwise one day

# Slabs that were recycled while their epoch was open, and when it is closed.
EPOCH = """
#include <tslab/tslab.h>
#include <stdio.h>
#include <stdlib.h>
enum { OBJECTS = 40000 };
static void *objects[OBJECTS];
static void say(void)
{
    uint64_t recycled = 0;
    if (tslab_stat_get("slabs_recycled", &recycled) == TSLAB_OK) {
        printf("%d\\n", (int)recycled);
    }
}
int main(void)
{
    tslab_epoch epoch = tslab_epoch_open(NULL);
    for (int i = 0; i < OBJECTS; i++) {
        objects[i] = tslab_epoch_malloc(epoch, 500);
    }
    for (int i = 0; i < OBJECTS; i++) {
        tslab_free(objects[i]);
    }
    say();
    tslab_epoch_close(epoch, 0, NULL);
    say();
}
"""


class Patches(LabTest):
    def built(self, question):
        """dict variant -> its counts."""
        every = command.QUESTIONS[question].variants
        variants.build(every, True)
        return {variant.name: variants.counts(variant) for variant in every}

    def assert_locked(self, counts, operation, expected):
        for name, locked in expected.items():
            self.assertAlmostEqual(counts[name][operation][0], locked, delta=SLACK, msg=name)

    def assert_measured(self, *words):
        done = self.lab("variants", *words, "--quick", "--no-counts", "--output", "runs", timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_nothing_left()

    def test_remote(self):
        self.assert_locked(self.built("remote"), FREED_BY_OTHERS, REMOTE)
        self.assert_measured("remote", "mixed-remote:threads=2,remote=90,min=16,max=48")

    def test_bypass(self):
        self.assert_locked(self.built("bypass"), PAIR, BYPASS)
        self.assert_measured("bypass", "churn-fixed")

    def test_deferred(self):
        variants.build((variants.DEFERRED,), False)
        ours, deferred = self.recycled(self.library), self.recycled(variants.DEFERRED.library)
        self.assertGreater(ours[0], 100)
        self.assertEqual(deferred[0], 0)
        self.assertGreater(deferred[1], 100)

    def recycled(self, library):
        program = self.own / "epoch"
        argv = ["cc", f"-I{ROOT / 'include'}", "-x", "c", "-", "-x", "none", library, "-o", program]
        subprocess.run(argv, input=EPOCH, text=True, check=True)
        done = self.run_argv([program], env=self.environment | {"LD_LIBRARY_PATH": str(library).rpartition("/")[0]})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [int(line) for line in done.stdout.split()]


if __name__ == "__main__":
    main()
