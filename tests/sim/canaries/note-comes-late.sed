# thread/overflow.c: a single give notes its slab after it gave. Groups: fork
/^    gate_note(heap->gate, run_index(slot.slab));/d
s/^    if (slab_give(slot.slab, \(.*\))) {$/    const bool look = slab_give(slot.slab, \1);\n    gate_note(heap->gate, run_index(slot.slab));\n    if (look) {/
