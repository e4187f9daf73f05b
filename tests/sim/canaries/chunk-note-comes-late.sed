# core/scope.c: a free of an object in another's chunk is noted after its first write.
/^void scope_free_chunk(/,/^}/{
s/^    store_relaxed(&thread->noted, first);//
s/^    if (chunk_free_other(p)) {/    const bool last = chunk_free_other(p);\n    store_relaxed(\&thread->noted, first);\n    if (last) {/
}
