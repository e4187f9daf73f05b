/* A limit of several epochs together: those of an instance.
 *
 * A quota counts the units of its epochs' runs. What is added for a run is taken away when the run leaves its epoch, so
 * the count is right however epochs begin and end meanwhile.
 *
 * Threads: any. Cost: an atomic addition for each run that an epoch with a quota gets or gives away. */
#ifndef TSLAB_CORE_QUOTA_H
#define TSLAB_CORE_QUOTA_H

#include "base/atomic.h"
#include "os/fatal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct quota {
    atomic_u64 units;
    atomic_u64 limit_units; /* 0: none */
};

/* Whether there may be so many units more. Threads that ask at the same moment may get a little more. */
static inline bool quota_allows(const struct quota *quota, uint32_t units)
{
    const uint64_t limit = load_plain(&quota->limit_units);
    return limit == 0 || counter_get(&quota->units) + units <= limit;
}

static inline void quota_change(struct quota *quota, uint32_t before, uint32_t after)
{
    invariant(counter_get(&quota->units) >= before);
    counter_add_shared(&quota->units, (uint64_t)after - before);
}

#endif
