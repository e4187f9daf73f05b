/* Clears codes in whole words, by atomic stores: a thread with an old handle may look at them at any time. */
#include "core/code.h"

#include "core/checked.h"

/* Each store clears eight codes. `start` is that of a unit, so the first eight are aligned, and behind the end no
 * object starts in the last eight. */
void code_clear(const char *start, size_t bytes)
{
    invariant((uintptr_t)start % UNIT_BYTES == 0 && bytes % GRANULE_BYTES == 0);
    const size_t codes = round_up(bytes >> GRANULE_SHIFT, sizeof(uint64_t));
    store_plain_zeros((atomic_u64 *)(uintptr_t)code_at(start), codes / sizeof(uint64_t));
    checked_forget(start, bytes);
}

void code_clear_run(uint32_t first, uint32_t units)
{
    invariant(first != 0 && units != 0);
    code_clear(arena_address(first), (size_t)units << UNIT_SHIFT);
}
