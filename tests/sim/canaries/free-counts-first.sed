# slab/chunk.c: a free counts before it clears the code: by then the chunk may be another's. Groups: epoch-free
/^bool chunk_free_other(/,/^}/{
s/^    return \(.*\);/    return last;/
/^    const uint32_t granules = /d
s/^    unsigned code = 0;/&\n    const uint32_t early = size_code_granules(chunk_code(p));\n    const bool last = fetch_sub_seq_cst(\&chunk->live, early) == early;/
}
