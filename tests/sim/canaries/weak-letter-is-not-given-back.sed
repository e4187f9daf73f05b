# thread/mailbox.c: the home reads a letter, and releases nothing when it gives it back.
s/^                store_release(&letter->count, 0);$/                store_relaxed(\&letter->count, 0);/
