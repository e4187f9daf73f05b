"""The graph of a process's memory on its screen. No process runs here.
usage: test_graph.py [LIBRARY]"""

import unittest
import unittest.mock

import channels
import tslab_test
from tslab_tools.live import graph, processes, screen

MIB = 1 << 20


def past_of(*points):
    past = graph.Past()
    for point in points:
        past.add(*point)
    return past


class Graph(unittest.TestCase):
    def rows(self, past, width=46, height=4):
        lines = [line.plain for line in graph.draw(past, width, height, screen.size)]
        self.assertTrue(all(len(line) == width for line in lines[:-1]), lines)
        return [line[graph.AXIS :] for line in lines[:height]], lines[height:]

    def test_bands(self):
        """From below: a quarter lives, a quarter is waste, the rest is the rest; nothing before the first point."""
        rows, words = self.rows(past_of((30, 10 * MIB, 10 * MIB, 40 * MIB), (60, 10 * MIB, 10 * MIB, 40 * MIB)))
        for row, sign in zip(rows, "░░▒█"):
            self.assertEqual(row.strip(), sign * len(row.strip()))
            self.assertIn(len(row.strip()), (20, 21))  # of 40: half of a minute
            self.assertTrue(row.endswith(sign))
        self.assertEqual(words[0].split(), ["1", "min", "ago", "now"])
        self.assertEqual(
            words[1].split(), ["█", "live", "10.0M", "▒", "waste", "10.0M", "░", "the", "rest", "of", "RSS", "20.0M"]
        )

    def test_steps(self):
        rows, _ = self.rows(past_of((0, MIB, 0, MIB), (30, 4 * MIB, 0, 4 * MIB), (60, 2 * MIB, 0, 2 * MIB)))
        self.assertEqual([row.count("█") for row in rows], [20, 20, 21, 40])
        self.assertTrue(all(row.endswith(last) for row, last in zip(rows, (" ", " ", "█", "█"))))

    def test_windows(self):
        for seconds, minutes in ((0, 1), (60, 1), (61, 2), (121, 5), (599, 10), (6000, 10)):
            past = past_of(*((time, MIB, 0, MIB) for time in range(seconds + 1)))
            _, words = self.rows(past)
            self.assertTrue(words[0].strip().startswith(f"{minutes} min ago"), (seconds, words))
            self.assertLessEqual(len(past.points), graph.WINDOWS[-1] + 1)

    def test_objects_that_were_not_touched(self):
        rows, words = self.rows(past_of((0, 90 * MIB, MIB, MIB)))
        self.assertEqual(rows[0].strip(), "█")
        self.assertIn("live 1.00M", words[1])
        self.rows(past_of((0, 0, 0, 0)))


class OnTheScreen(unittest.TestCase):
    def shown(self, width, height, seconds=100):
        view = screen.View([], inside=7)
        for second in range(seconds):
            with unittest.mock.patch.object(processes, "now", lambda now=second: float(now)):
                process = channels.process_of(rss_bytes=(second + 1) * MIB, labels=())
                process.pid, process.program = 7, "made up"
                view.show([process])
        lines = [line.plain for line in screen.lines(view, width, height)]
        self.assertEqual(len(lines), height)
        self.assertLessEqual(max(map(len, lines)), width)
        return view, lines

    def test_of_80_columns(self):
        """It is below the sum, and the tables follow."""
        _, lines = self.shown(80, 24)
        self.assertTrue(lines[4].startswith(" 100M "), lines)
        self.assertIn("2 min ago", lines[10])
        self.assertEqual(lines[12].strip(), "rates")
        self.assertIn("why: tslab doctor 7", lines[10])

    def test_of_200_columns(self):
        """It is beside the tables, as wide as there is room."""
        _, lines = self.shown(200, 24)
        self.assertTrue(lines[0][:82].startswith("made up, process 7"))
        self.assertTrue(lines[0][82:].startswith(" 100M "), lines)
        self.assertTrue(any(len(line) == 200 and line.endswith("now") for line in lines), lines)

    def test_what_has_ended_is_forgotten(self):
        view, _ = self.shown(80, 24, 3)
        view.show([])
        self.assertEqual(view.pasts, {})


if __name__ == "__main__":
    tslab_test.main()
