/* A new mapping is published, under the depot's lock, as a clean run. Where the arena ends with absent units, it grows
 * by what these lack: a longer block takes the place of a shorter one that left, and the process needs no second part
 * of the side tables. */
#include "space/growth.h"

#include "os/fatal.h"

enum { RETURN_TRIES = 8 }; /* absent runs that are tried, one after the other, until one is mapped again */

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

bool growth_is_under_way(void)
{
    invariant(lock_is_held(&depot.lock));
    return lock_is_held(&growing);
}

/* Absent runs. */

/* The units of an absent run to map again at once, if the run is that long. */
static uint32_t return_units(uint32_t n)
{
    enum { RETURN_UNITS_MIN = (4 << 20) / UNIT_BYTES, RETURN_SHIFT = 3 };
    const size_t in_use = counter_get(&depot.units[RUN_USED]);
    return (uint32_t)max_size(n, max_size(RETURN_UNITS_MIN, in_use >> RETURN_SHIFT));
}

static void join_absent(uint32_t first, uint32_t end)
{
    if (first != end) {
        (void)run_join(first, end - first, RUN_ABSENT, TABLES_GONE);
    }
}

/* Maps units of an absent run again, from `first` on, which starts a page: `least` of them, or more where that
 * succeeds. They become part of the run *clean, or a gap. The descriptors inside of the absent run cannot be written
 * before. So all of it is taken out. */
static enum os_placed growth_return(uint32_t run, uint32_t first, uint32_t least, uint32_t *clean)
{
    const uint32_t end = run + arena.runs[run].units;
    invariant(arena.runs[run].kind == RUN_ABSENT && first >= run && first < end && least <= end - first);
    uint32_t units = arena_page_up((uint32_t)min_size(first + (size_t)return_units(least), end)) - first;
    run_unlink(run);
    run_hide(run, end - run);
    depot_unlock();
    enum os_placed returned = arena_return(first, units);
    if (returned != OS_PLACED && units > least) {
        units = least;
        returned = arena_return(first, units);
    }
    depot_lock();
    if (returned == OS_NO_MEMORY) {
        join_absent(run, end);
        return returned;
    }
    run_hide(first, units); /* its neighbours look at its ends */
    join_absent(run, first);
    join_absent(first + units, end);
    if (returned == OS_PLACED) {
        *clean = run_join(first, units, RUN_CLEAN, TABLES_GONE);
    } else {
        run_lose(first, units);
    }
    return returned;
}

/* Maps a part of an absent run again that has n aligned units. Returns the clean run that has them, or 0 when there is
 * none, or no memory. A kernel that refuses some addresses may refuse all, so it tries only some runs. */
static uint32_t return_aligned(struct growth *growth)
{
    uint32_t clean = 0;
    enum os_placed returned = OS_TAKEN;
    while (returned == OS_TAKEN && growth->returns < RETURN_TRIES) {
        const uint32_t run = run_find(RUN_ABSENT, growth->n, growth->align);
        if (run == 0) {
            break;
        }
        const uint32_t place = run_place(run, growth->n, growth->align);
        const uint32_t first = arena_page_down(place);
        growth->returns++;
        returned = growth_return(run, first, arena_page_up(place + growth->n) - first, &clean);
    }
    growth->returns = returned == OS_PLACED ? growth->returns : RETURN_TRIES;
    invariant(clean == 0 || run_place(clean, growth->n, growth->align) != 0);
    return clean;
}

/* The end of the arena. */

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

/* Maps the absent units at the arena's end again, from the first place on that is aligned for n units. Returns the
 * clean run that they are in, or 0. */
static uint32_t return_tail(const struct growth *growth)
{
    const uint32_t end = (uint32_t)load_plain(&arena.committed_units), clean = clean_before(end);
    const uint32_t behind = clean != 0 ? clean : end;
    const uint32_t absent = behind == 0 ? 0 : run_before(behind, RUN_ABSENT);
    const uint32_t start = absent == 0 ? 0 : run_place(absent, 1, growth->align);
    uint32_t run = 0;
    if (start != 0) {
        const uint32_t first = arena_page_down(start);
        (void)growth_return(absent, first, behind - first, &run);
    }
    return run;
}

static uint32_t run_that_serves(const struct growth *growth, uint32_t run)
{
    return run != 0 && run_place(run, growth->n, growth->align) != 0 ? run : 0;
}

bool growth_step(struct growth *growth, uint32_t *run)
{
    invariant(growth_is_under_way());
    *run = growth->returns < RETURN_TRIES ? return_aligned(growth) : 0;
    if (*run == 0 && !growth->tail_failed) {
        *run = run_that_serves(growth, return_tail(growth));
    }
    if (*run != 0) {
        return true;
    }
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

/* The absent run there, if it is long enough; else 0. */
static uint32_t absent_behind(uint32_t behind, uint32_t more)
{
    const uint32_t absent = run_behind(behind, RUN_ABSENT);
    return absent != 0 && arena.runs[absent].units >= more ? absent : 0;
}

bool growth_could_serve(uint32_t behind, uint32_t more)
{
    uint32_t units;
    invariant(lock_is_held(&depot.lock) && more != 0);
    return ends_behind(behind, more, &units) || absent_behind(behind, more) != 0;
}

void growth_behind(uint32_t behind, uint32_t more)
{
    uint32_t units, absent;
    invariant(growth_is_under_way() && more != 0);
    if (ends_behind(behind, more, &units)) {
        (void)extend(more, 1, units);
    } else if ((absent = absent_behind(behind, more)) != 0) {
        (void)growth_return(absent, absent, arena_page_up(absent + more) - absent, &units);
    }
}
