/* Clears codes in whole words, by atomic stores: the free of a wild pointer may look at them at any time. */
#include "slab/size_codes.h"

#include "space/live_bits.h"

/* Each store clears eight codes. `start` is that of a unit, so the first eight are aligned, and behind the end no
 * object starts in the last eight. */
void size_code_clear(const char *start, size_t bytes)
{
    invariant((uintptr_t)start % UNIT_BYTES == 0 && bytes % GRANULE_BYTES == 0);
    const size_t codes = round_up(bytes >> GRANULE_SHIFT, sizeof(uint64_t));
    store_plain_zeros((atomic_u64 *)(uintptr_t)size_code_at(start), codes / sizeof(uint64_t));
    live_bits_forget(start, bytes);
}

void size_code_clear_run(uint32_t first, uint32_t units)
{
    invariant(first != 0 && units != 0);
    size_code_clear(arena_address(first), (size_t)units << UNIT_SHIFT);
}
