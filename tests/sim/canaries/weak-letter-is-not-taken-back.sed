# thread/mailbox.c: the writer acquires nothing from whoever emptied a letter.
s/^    uint32_t count = load_acquire(&letter->count);$/    uint32_t count = load_relaxed(\&letter->count);/
s/^        count = load_acquire(&letter->count);$/        count = load_relaxed(\&letter->count);/
