# thread/heap.c: the tray that a magazine keeps as its spare goes into the pool as well.
s/^        hc->spare = old;$/&\n        tray_put(old);/
