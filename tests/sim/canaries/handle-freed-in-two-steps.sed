# slab/handle_table.c: the free of a handle looks at the entry, then writes it. Groups: epoch-handle
/^void \*handle_table_end(/,/^}/s/!cas_acq_rel(&entry->word, &lent, lent & ~(uint64_t)ENTRY_LENT)/load_acquire(\&entry->word) != lent || (store_release(\&entry->word, lent \& ~(uint64_t)ENTRY_LENT), false)/
