"""Two threads read CSV into frames of pandas, add columns and group them. Every thousandth row of each frame is kept."""

import gc
import io
import threading
import time

import pandas

TEXT = "id,name,value\n" + "".join(f"{i},customer number {i} of somewhere,{i / 7:.5f}\n" for i in range(100000))
kept = []


def rss():
    lines = open("/proc/self/smaps_rollup", encoding="ascii").read().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("Rss:"))


def job():
    frames = []
    for _ in range(5):
        frame = pandas.read_csv(io.StringIO(TEXT))
        frame["twice"] = frame["value"] * 2
        frame["label"] = frame["name"].str.upper()
        frames.append(frame)
        kept.append(frame.iloc[::1000].copy())
    pandas.concat(frames).groupby("label")["twice"].sum()


threads = [threading.Thread(target=job) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
full = rss()
gc.collect()
time.sleep(2.5)
print(f"full {full} MiB, after {rss()} MiB")
