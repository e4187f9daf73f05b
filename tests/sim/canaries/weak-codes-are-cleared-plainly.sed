# slab/size_codes.c: codes are cleared by plain stores, although who comes late with an old handle may look at them.
s/^    store_plain_zeros((atomic_u64 \*)(uintptr_t)size_code_at(start), codes \/ sizeof(uint64_t));/    for (size_t i = 0; i < codes; i++) ((uint8_t *)(uintptr_t)size_code_at(start))[i] = 0;/
