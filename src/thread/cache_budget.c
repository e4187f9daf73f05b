/* One counter. A heap touches it when the length of a magazine changes, not when slots come and go. */
#include "thread/cache_budget.h"

#include "common/option.h"
#include "os/fatal.h"
#include "space/depot.h"
#include "space/limit.h"

enum { BUDGET_BYTES = 128 * 1024 * 1024, BUDGET_SHIFT = 3, HOT_SHIFT = 2, HOT_USED_SHIFT = 3 };

static atomic_size_t taken_bytes;

static size_t cache_budget_most(void)
{
    const size_t option = option_get(OPTION_CACHE_BYTES);
    const size_t in_use = counter_get(&depot.units[RUN_USED]) << UNIT_SHIFT;
    if (unlikely(limit_presses())) {
        return 0;
    }
    return option != 0 ? option - (option >> HOT_SHIFT) : max_size(BUDGET_BYTES, in_use >> BUDGET_SHIFT);
}

bool cache_budget_is_set(void)
{
    return option_get(OPTION_CACHE_BYTES) != 0;
}

uint32_t cache_budget_hot(uint32_t threads)
{
    const size_t option = option_get(OPTION_CACHE_BYTES), in_use = counter_get(&depot.units[RUN_USED]);
    const size_t all = option != 0 ? option >> UNIT_SHIFT >> HOT_SHIFT : in_use >> HOT_USED_SHIFT;
    const size_t share = all / max_size(threads, 1);
    if (unlikely(limit_presses())) {
        return 0;
    }
    invariant(share <= all && HOT_UNITS_MIN <= HOT_UNITS);
    return (uint32_t)min_size(option != 0 ? share : max_size(share, HOT_UNITS_MIN), HOT_UNITS);
}

bool cache_budget_has(uint32_t threads, size_t heap_bytes, size_t bytes)
{
    const size_t most = cache_budget_most();
    const size_t share = most / 2 / max_size(threads, 1);
    invariant(share <= most / 2);
    return heap_bytes + bytes <= share || cache_budget_taken() + bytes <= most - most / 2 + share;
}

bool cache_budget_has_beside(size_t bytes)
{
    return cache_budget_taken() + bytes <= cache_budget_most();
}

void cache_budget_change(size_t bytes)
{
    const size_t before = fetch_add_relaxed(&taken_bytes, bytes);
    invariant(before + bytes < SIZE_MAX / 2);
    (void)before;
}

size_t cache_budget_taken(void)
{
    return load_relaxed(&taken_bytes);
}
