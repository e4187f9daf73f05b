# slab/chunk.c: a free counts before it clears the code: by then the chunk may be another's.
/^bool chunk_free_other(/,/^}/{
s/^    return \(.*\);/    return last;/
s/^    atomic_u8 \*const code = size_code_at(p);/&\n    const uint32_t early = size_code_granules(load_plain(code));\n    const bool last = fetch_sub_seq_cst(\&arena.runs[arena.units[arena_unit(p)].first].live, early) == early;/
}
