# core/chunk.c: codes are cleared by plain stores, although who comes late with an old handle may look at them.
s/^        stat_set((atomic_u64 \*)(uintptr_t)code, 0);/        *(uint64_t *)(uintptr_t)code = 0;/
