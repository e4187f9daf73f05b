# thread/mailbox.c: the home says that it is done with a letter, and then reads it.
/^                memcpy(places + n, letter->slots, sizeof letter->slots);$/d
s/^                store_release(&letter->count, 0);$/&\n                (void)load_relaxed(\&letter->count);\n                memcpy(places + n, letter->slots, sizeof letter->slots);/
