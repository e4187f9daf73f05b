# thread/heap.c: the tray that a heap keeps beside its magazine goes into the pool as well. Groups: trays
s/^        hc->kept = old;$/&\n        tray_put(old);/
