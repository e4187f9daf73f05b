/* A new mapping is published, under the depot's lock, as a clean run. Where the arena ends with clean units, it grows
 * by what these lack. */
#include "space/growth.h"

#include "os/fatal.h"

static struct lock growing = LOCK_INIT(RANK_GROWTH);

void growth_lock(void)
{
    lock_acquire(&growing);
    depot_lock();
}

void growth_unlock(void)
{
    depot_unlock();
    lock_release(&growing);
}

/* The clean run that ends before a unit; 0: there is none. */
static uint32_t clean_before(uint32_t end)
{
    return end == 0 ? 0 : run_before(end, RUN_CLEAN);
}

/* Lets the arena grow by clean units that have n aligned ones, together with its last `tail` units if these stay empty
 * meanwhile. Only the step that the arena starts with may be too short. Returns the clean run that the new units are
 * in, or 0 when there is no memory. */
static uint32_t extend(size_t n, size_t align, size_t tail)
{
    depot_unlock();
    const struct stretch fresh = arena_extend(n, align, tail);
    depot_lock();
    if (fresh.units == 0) {
        return 0;
    }
    arena_publish(&fresh);
    return run_join(fresh.first, fresh.units, RUN_CLEAN, TABLES_GONE);
}

static uint32_t run_that_serves(const struct growth *growth, uint32_t run)
{
    return run != 0 && run_place(run, growth->n, growth->align) != 0 ? run : 0;
}

bool growth_step(struct growth *growth, uint32_t *run)
{
    invariant(lock_is_held(&growing) && lock_is_held(&depot.lock));
    const uint32_t end = (uint32_t)load_plain(&arena.committed_units);
    const uint32_t tail = growth->tail_failed ? 0 : clean_before(end);
    const uint32_t grown = extend(growth->n, growth->align, tail == 0 ? 0 : arena.runs[tail].units);
    *run = run_that_serves(growth, grown);
    growth->tail_failed = end != 0;
    invariant(grown == 0 || *run != 0 || end == 0 || tail != 0);
    return grown != 0;
}

/* Growing in place. */

/* Whether the arena ends behind the clean units there, of which there are too few. */
static bool ends_behind(uint32_t behind, uint32_t more, uint32_t *units)
{
    const uint32_t clean = run_behind(behind, RUN_CLEAN);
    *units = clean == 0 ? 0 : arena.runs[clean].units;
    return behind + *units == load_plain(&arena.committed_units) && *units < more;
}

bool growth_could_serve(uint32_t behind, uint32_t more)
{
    uint32_t units;
    invariant(lock_is_held(&depot.lock) && more != 0);
    return ends_behind(behind, more, &units);
}

void growth_behind(uint32_t behind, uint32_t more)
{
    uint32_t units;
    invariant(lock_is_held(&growing) && lock_is_held(&depot.lock) && more != 0);
    if (ends_behind(behind, more, &units)) {
        (void)extend(more, 1, units);
    }
}
