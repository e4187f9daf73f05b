#include "core/trap.h"

#include "core/depot.h"
#include "core/reclaim.h"
#include "os/os.h"

/* A ring; under the lock. */
static struct {
    struct lock lock;
    uint32_t next;
    struct {
        uint32_t first, units;
    } runs[TRAP_RUNS];
} trapped = { .lock = LOCK_INIT(RANK_TRAP) };

atomic_size_t trap_units;

void trap_run(uint32_t first, uint32_t units)
{
    char *const start = arena_address(first);
    const size_t bytes = (size_t)units << UNIT_SHIFT;
    /* Pages larger than a unit may be shared with neighbours. */
    const bool whole = (uintptr_t)start % os_page_bytes() == 0 && bytes % os_page_bytes() == 0;
    if (!whole || !reclaim_pages(start, bytes) || !os_forbid(start, bytes)) {
        depot_put(first, units, false);
        return;
    }
    (void)fetch_add_relaxed(&trap_units, units);
    lock_acquire(&trapped.lock);
    const uint32_t place = trapped.next++ % TRAP_RUNS;
    const uint32_t old_first = trapped.runs[place].first;
    const uint32_t old_units = trapped.runs[place].units;
    trapped.runs[place].first = first;
    trapped.runs[place].units = units;
    lock_release(&trapped.lock);
    /* Without memory for that, the old one stays as it is: it holds addresses, nothing else. */
    if (old_first != 0 && os_commit(arena_address(old_first), (size_t)old_units << UNIT_SHIFT)) {
        (void)fetch_sub_relaxed(&trap_units, old_units);
        depot_put(old_first, old_units, true);
    }
}
