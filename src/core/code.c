#include "core/code.h"

#include "core/checked.h"

/* All objects there are dead, but who comes late with an old handle may still look: so these are atomic stores, of
 * eight codes each. `start` is that of a unit, and the last eight have no object behind the end. */
void code_clear(const char *start, size_t bytes)
{
    const size_t codes = round_up(bytes >> GRANULE_SHIFT, sizeof(uint64_t));
    store_plain_zeros((atomic_u64 *)(uintptr_t)code_at(start), codes / sizeof(uint64_t));
    checked_forget(start, bytes);
}

void code_clear_run(uint32_t first, uint32_t units)
{
    code_clear(arena_address(first), (size_t)units << UNIT_SHIFT);
}
