"""What names.py is to find, it finds."""

import unittest

import names

OPTIONS, KNOBS = {"purge", "stats_signal"}, {"TESTS"}
COMMANDS = {"tslab top": 'add("--once")', "tslab run": 'Option("stats_signal", "SIGNAL") "--checked"'}


def found(text):
    return list(names.complaints({"page": text}, OPTIONS, KNOBS, COMMANDS, '"--help"'))


class Names(unittest.TestCase):
    def test_what_is_there(self):
        self.assertEqual(found("Set `TSLAB_PURGE=eager`, the option `stats_signal`, the options `purge=never`, or -DTSLAB_TESTS=ON."), [])
        self.assertEqual(found("    TSLAB_PURGE=eager tools/tslab top --once  # --nothing\n    tslab-run --checked ./server --its"), [])
        self.assertEqual(found("`tslab run --stats-signal F -- ./server --its-own`, `tslab top --help`"), [])

    def test_what_is_not(self):
        self.assertEqual(found("TSLAB_PURGES=eager"), ["page: TSLAB_PURGES is no option"])
        self.assertEqual(found("the option `stats_signals`"), ["page: stats_signals is no option"])
        self.assertEqual(found("`tslab tops`"), ["page: tslab tops is no command"])
        self.assertEqual(found("    lab/lab top"), ["page: lab top is no command"])
        self.assertEqual(found("    tslab top --twice"), ["page: tslab top has no option --twice"])
        self.assertEqual(found("    tslab-run --unchecked ./server"), ["page: tslab run has no option --unchecked"])


if __name__ == "__main__":
    unittest.main()
