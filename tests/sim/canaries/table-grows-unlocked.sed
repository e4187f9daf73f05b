# core/blocks.c: the table of blocks grows before the lock is taken.
/^void \*blocks_map/,/^}/{
/^    const bool kept = grow();/d
s/^    lock_acquire(&blocks.lock);/    const bool kept = grow();\n&/
}
