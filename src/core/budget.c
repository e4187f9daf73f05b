/* One counter. A heap touches it when the length of a magazine changes, not when slots come and go. */
#include "core/budget.h"

#include "core/depot.h"
#include "core/limit.h"
#include "core/option.h"
#include "core/reclaim.h"
#include "os/fatal.h"

enum { BUDGET_BYTES = 64 * 1024 * 1024, BUDGET_SHIFT = 3 };

static atomic_size_t taken_bytes;

static size_t budget_most(void)
{
    const size_t option = option_get(OPTION_CACHE_BYTES);
    const size_t in_use = counter_get(&depot.units[RUN_USED]) << UNIT_SHIFT;
    if (unlikely(limit_presses())) {
        return 0;
    }
    return max_size(option != 0 ? option : max_size(BUDGET_BYTES, in_use >> BUDGET_SHIFT), reclaim_learned_bytes());
}

bool budget_has(size_t bytes)
{
    return budget_taken() + bytes <= budget_most();
}

void budget_take(size_t bytes)
{
    const size_t before = fetch_add_relaxed(&taken_bytes, bytes);
    invariant(before + bytes >= before);
    (void)before;
}

void budget_put(size_t bytes)
{
    const size_t before = fetch_sub_relaxed(&taken_bytes, bytes);
    invariant(before >= bytes);
    (void)before;
}

size_t budget_taken(void)
{
    return load_relaxed(&taken_bytes);
}
