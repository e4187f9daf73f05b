# epoch/epoch_alloc.c: a free of an object in another's chunk is noted after its first write. Groups: epoch-fork
/^void epoch_free_chunk(/,/^}/{
s/^    gate_note(&thread->gate, first);//
s/^    if (chunk_free_other(p)) {/    const bool last = chunk_free_other(p);\n    gate_note(\&thread->gate, first);\n    if (last) {/
}
