# thread/mailbox.c: the count that posts a letter releases nothing.
s/^    store_release(&letter->count, count + 1);$/    store_relaxed(\&letter->count, count + 1);/
