"""In a process that does not run on the drop-in, marks do nothing, and questions are refused."""

import unittest

import tslab
from tslab import middleware


class Without(unittest.TestCase):
    def test_marks_do_nothing(self):
        self.assertFalse(tslab.preloaded())
        with tslab.epoch("report") as epoch, epoch.inside(), tslab.unit("job"), tslab.pause():
            self.assertEqual(0, epoch.id)
        self.assertEqual(tslab.Closed(), epoch.report)
        with tslab.domain("tenant", limit=1 << 20) as tenant, tslab.domain("tenant"):
            self.assertEqual((0, False), (tenant.id, tenant.drained))
        self.assertEqual(tslab.Closed(), tenant.retire())
        self.assertTrue(tenant.drained)
        self.assertEqual(0, tslab.trim())
        tslab.rotate()

    def test_questions_are_refused(self):
        for question in (tslab.stats, tslab.version, lambda: tslab.epoch_of(0), tslab.Domain("t").report):
            with self.assertRaisesRegex(tslab.NotPreloaded, "python -m tslab run"):
                question()

    def test_requests_pass(self):
        self.assertEqual([b"answer"], middleware.WSGI(lambda *_: [b"answer"])({}, None))


if __name__ == "__main__":
    unittest.main()
