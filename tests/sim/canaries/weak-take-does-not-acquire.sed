# slab/slab.c: taking slots acquires nothing: their last users may still write to them. Groups: slab
s/swap_acquire(&slab->bitmap\[word\], 0)/atomic_exchange_explicit(\&slab->bitmap[word], 0, memory_order_relaxed)/
