# core/blocks.c: the table of blocks grows before the lock is taken.
/^    const bool kept = grow();/d
s/^    block.start = (void \*)round_up.*/&\n    const bool kept = grow();/
