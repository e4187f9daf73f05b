# thread/overflow.c: a slot in the outbox is counted before it is written, and a fork may come between. Groups: outbox
/^    owned_write(&hc->outbox\[slots + 1\], p);$/d
s/^    store_release(&hc->outbox_slots, slots + 1);$/&\n    (void)load_relaxed(\&hc->counters.flushes);\n    owned_write(\&hc->outbox[slots + 1], p);/
