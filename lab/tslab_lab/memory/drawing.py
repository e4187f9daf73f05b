"""The figure of `tslab rss`: the memory of all allocators over time."""

from statistics import median

from tslab_lab.display import figures, palette

STEPS = 600  # of the time axis
WIDTH, HEIGHT = 8.0, 4.5
MARKS = 8  # on each line
SHADE = 0.18
SHADED = 4  # shades of more lines than that hide each other


def on_grid(runs, steps=STEPS):
    """(seconds, middle, low, high) of several rounds. Each step has the median over the rounds of their means within
    it, and the least and the most that any sample showed. It ends where half of the rounds have ended; those that ended
    earlier count with their last value. `runs`: for each the times in ms and the KiB."""
    import numpy as np

    end = median(times[-1] for times, _ in runs)
    edges = np.linspace(0, max(end, 1), steps + 1)
    middles = (edges[1:] + edges[:-1]) / 2
    means, lows, highs = [], [], []
    for times, values in runs:
        times, values = np.asarray(times, float), np.asarray(values, float)
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


def draw(series, title, processes, folder):
    """rss.png and rss.pdf. `series`: dict allocator -> runs as above."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
    axes = figure.add_subplot()
    for index, (name, runs) in enumerate(series.items()):
        seconds, middle, low, high = on_grid(runs)
        looks = palette.style(name)
        if len(series) <= SHADED:
            axes.fill_between(seconds, low, high, color=looks["color"], alpha=SHADE, linewidth=0)
        every = max(1, STEPS // MARKS)
        start = index * every // max(1, len(series))  # markers of lines that lie upon each other are side by side
        axes.plot(seconds, middle, label=name, markevery=(start, every), zorder=3, **looks)
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("time, s")
    axes.set_ylabel("RSS of all processes, MiB" if processes > 1 else "RSS, MiB")
    axes.grid(color=figures.GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.set_title(title if len(title) < 90 else title[:87] + "...", fontsize=10, loc="left")
    rounds = max(len(runs) for runs in series.values())
    legend = "" if rounds < 2 else f"median of {rounds} rounds"
    legend += ",\nshade: all of them" if legend and len(series) <= SHADED else ""
    place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "frameon": False, "handlelength": 3.5}
    axes.legend(fontsize=9, title=legend, title_fontsize=8, **place)
    return figures.save(figure, folder, "rss")
