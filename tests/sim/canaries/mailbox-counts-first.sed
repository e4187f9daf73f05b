# thread/mailbox.c: a slot in a letter is counted before it is written.
/^    letter->slots\[count\] = slot;$/d
s/^    store_release(&letter->count, count + 1);$/&\n    (void)load_relaxed(\&letter->count);\n    letter->slots[count] = slot;/
