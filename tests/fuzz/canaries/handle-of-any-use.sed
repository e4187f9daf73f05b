# slab/handle_table.c: a handle names the object in its entry, whichever handle that was lent to.
/^void \*handle_table_look(/,/^}/s/lent = lent_word(handle);/lent = entry == NULL ? 0 : load_acquire(\&entry->word) | ENTRY_LENT;/
