"""Epochs, units of work and statistics in a process that runs on the drop-in. See python.py of tests/bindings."""

import gc
import threading
import unittest

import tslab

LARGE = 100_000  # bytes, which Python takes from malloc


def epoch_of(large):
    """Of a bytes object with its contents inside."""
    return tslab.epoch_of(id(large))


def states():
    return {int(entry["epoch"], 16): entry["state"] for entry in tslab.stats()["epochs"]}


class Epochs(unittest.TestCase):
    def test_what_lands_and_what_survives(self):
        with tslab.epoch("report") as epoch:
            inside = bytes(LARGE)
            number = epoch.id
            self.assertEqual(number, epoch_of(inside))
        self.assertEqual(0, epoch_of(bytes(LARGE)))
        self.assertGreaterEqual(epoch.report.survivors, 1)
        self.assertGreaterEqual(epoch.report.survivor_bytes, LARGE)
        self.assertFalse(epoch.report.pending)
        self.assertEqual(bytes(LARGE), inside)
        self.assertEqual(number, epoch_of(inside))

    def test_pages_go_back(self):
        with tslab.epoch("burst", reclaim=True) as epoch:
            many = [bytes(1000) for _ in range(LARGE // 10)]
            del many
        self.assertGreater(epoch.report.reclaimed_bytes, 0)

    def test_nested(self):
        with tslab.epoch("outer") as outer, tslab.epoch("inner") as inner:
            self.assertEqual(inner.id, epoch_of(bytes(LARGE)))
            with outer.inside():
                self.assertEqual(outer.id, epoch_of(bytes(LARGE)))
            with tslab.pause():
                self.assertEqual(0, epoch_of(bytes(LARGE)))

    def test_domains(self):
        kept = []
        for _ in range(3):
            with tslab.domain("tenant") as tenant, tslab.domain("tenant"):
                kept.append(bytes(LARGE))
        self.assertEqual({tenant.id}, {epoch_of(large) for large in kept})
        self.assertEqual(0, epoch_of(bytes(LARGE)))
        report = tenant.report()
        self.assertEqual(("tenant", "open", 0), (report["label"], report["state"], report["inside"]))
        self.assertGreaterEqual(report["live_bytes"], 3 * LARGE)
        self.assertGreaterEqual(report["resident_bytes"], report["live_bytes"])
        self.assertGreaterEqual(report["peak_bytes"], report["memory_bytes"])
        self.assertGreaterEqual(tenant.retire().survivors, 3)
        self.assertFalse(tenant.drained)
        self.assertEqual("draining", tenant.report()["state"])
        with self.assertRaises(tslab.Error), tenant:
            pass
        with tslab.domain("tenant") as next_one:
            self.assertNotEqual(tenant.id, next_one.id)
        kept.clear()
        self.assertTrue(tenant.drained)
        self.assertIsNone(tenant.report())
        self.assertFalse(next_one.drained)
        next_one.retire()

    def test_a_domain_has_a_limit(self):
        with tslab.domain("small", limit=4 << 20) as small, tslab.domain("other"):
            other = bytearray(8 << 20)
            with small, self.assertRaises(MemoryError):
                bytearray(8 << 20)
        self.assertLessEqual(small.report()["peak_bytes"], 4 << 20)
        self.assertEqual(4 << 20, small.report()["limit_bytes"])
        self.assertGreater(small.report()["refusals"], 0)
        self.assertEqual((0, 0), (tslab.domain("other").report()["limit_bytes"], tslab.domain("other").report()["refusals"]))
        self.assertEqual(8 << 20, len(other))
        small.retire()
        tslab.domain("other").retire()

    def test_threads_of_a_domain(self):
        seen = []

        def work():
            with tslab.domain("shared"):
                seen.append(epoch_of(bytes(LARGE)))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([tslab.domain("shared").id] * 8, seen)
        tslab.domain("shared").retire()

    def test_steps_on_several_threads(self):
        epoch = tslab.Epoch("task")
        seen = []

        def step():
            with epoch.inside():
                seen.append(epoch_of(bytes(LARGE)))

        threads = [threading.Thread(target=step) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([epoch.id] * 4, seen)
        self.assertFalse(epoch.close().pending)
        self.assertEqual(epoch.report, epoch.close(), "a second close does nothing")

    def test_exceptions_leave_and_close(self):
        with self.assertRaises(ZeroDivisionError), tslab.epoch() as epoch:
            1 / 0
        self.assertIsNotNone(epoch.report)
        self.assertEqual(0, epoch_of(bytes(LARGE)))

    def test_out_of_order_is_refused(self):
        epochs = [tslab.Epoch("first"), tslab.Epoch("second")]
        scopes = [epoch.inside() for epoch in epochs]
        for scope in scopes:
            scope.__enter__()
        with self.assertRaisesRegex(tslab.Error, "leave the epoch"):
            scopes[0].__exit__(None, None, None)
        scopes[1].__exit__(None, None, None)
        tslab._library.library.tslab_epoch_leave(epochs[0]._name)

    def test_forgotten_epochs_are_closed(self):
        number = tslab.Epoch("forgotten").id
        gc.collect()
        self.assertNotEqual("open", states().get(number))

    def test_labels_and_policies(self):
        epoch = tslab.Epoch("a label", policy="report")
        entry = next(entry for entry in tslab.stats()["epochs"] if entry["label"] == "a label")
        self.assertEqual("report", entry["policy"])
        epoch.close()
        with self.assertRaises(KeyError):
            tslab.Epoch(policy="release")


class Facts(unittest.TestCase):
    def test_stats(self):
        stats = tslab.stats()
        self.assertEqual("tslab-statistics", stats["schema"])
        self.assertEqual(tslab.version(), stats["library"])
        self.assertGreater(stats["totals"]["committed_bytes"], 0)

    def test_units(self):
        before = tslab.stats()["totals"]["work_units"]
        with tslab.unit("job"), tslab.unit("inner"):
            pass
        tslab.rotate()
        self.assertEqual(before + 1, tslab.stats()["totals"]["work_units"])

    def test_trim(self):
        large = bytes(50 * LARGE)
        del large
        self.assertGreaterEqual(tslab.trim(), 0)


class Arrays(unittest.TestCase):
    """numpy takes the data of its arrays from malloc."""

    def setUp(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("there is no numpy")
        self.numpy = numpy

    def test_arrays_land_in_epochs(self):
        with tslab.epoch("arrays") as epoch:
            array = self.numpy.arange(100_000, dtype="f8")
            scaled = array * 2
            number = epoch.id
            self.assertEqual([number] * 2, [tslab.epoch_of(each.ctypes.data) for each in (array, scaled)])
            del array
        self.assertGreaterEqual(epoch.report.survivor_bytes, scaled.nbytes)
        self.assertLess(epoch.report.survivor_bytes, 2 * scaled.nbytes)
        self.assertEqual(199_998.0, scaled[-1])
        self.assertEqual("draining", states()[number])


if __name__ == "__main__":
    unittest.main()
