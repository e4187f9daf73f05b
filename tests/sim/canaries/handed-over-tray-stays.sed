# core/overflow.c: the tray that was handed over stays the magazine's.
s/^    (void)heap_swap_tray(heap, class, empty);$/    hc->spare = NULL;\n    return true;/
