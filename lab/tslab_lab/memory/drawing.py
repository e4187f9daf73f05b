"""Several rounds of memory over time, as one line and a shade."""

from collections.abc import Sequence
from statistics import median

from tslab_lab.display.figures import Array
from tslab_lab.memory import series

STEPS = 600  # of the time axis
SHADE = 0.18


def on_grid(runs: Sequence[series.Line], steps: int = STEPS) -> tuple[Array, Array, Array, Array]:
    """(seconds, middle, low, high), in MiB, of several rounds. Each step has the median over the rounds of their means within
    it, and the least and the most that any sample showed. It ends where half of the rounds have ended; those that ended
    earlier count with their last value."""
    import numpy as np

    end = median(times[-1] for times, _ in runs)
    edges = np.linspace(0, max(end, 1), steps + 1)
    middles = (edges[1:] + edges[:-1]) / 2
    means, lows, highs = list[Array](), list[Array](), list[Array]()
    for run in runs:
        times, values = (np.asarray(column, float) for column in run)
        line = np.interp(middles, times, values)
        low, high, total, count = line.copy(), line.copy(), np.zeros(steps), np.zeros(steps)
        step = np.minimum(np.searchsorted(edges, times, side="right") - 1, steps - 1)
        inside = times <= edges[-1]
        step, values = step[inside], values[inside]
        np.minimum.at(low, step, values)
        np.maximum.at(high, step, values)
        np.add.at(total, step, values)
        np.add.at(count, step, 1)
        line[count > 0] = total[count > 0] / count[count > 0]
        means.append(line)
        lows.append(low)
        highs.append(high)
    middle, low, high = np.median(means, axis=0), np.min(lows, axis=0), np.max(highs, axis=0)
    return middles / 1000, middle / 1024, low / 1024, high / 1024
