/* The limits are compared in units, where the footprint is counted. */
#include "core/limit.h"

#include "base/probe.h"
#include "core/timeline.h"
#include "os/container.h"
#include "os/fatal.h"

#include <string.h>

enum {
    CALM_SHIFT = 3, /* it is calm again when so large a part of the soft limit is free */
    NEAR_SHIFT = 4, /* the container presses when less than this part of its limit is left */
    STALLED = 1000, /* or when tasks wait for memory for this many in 10,000 of the time */
    LOOK_MS = 1000,
    /* Growth of the arena after which to look at the container: half of what is left to its limit, within these. */
    CONTAINER_GROWTH_LEAST = (4 << 20) / UNIT_BYTES,
    CONTAINER_GROWTH_MOST = (64 << 20) / UNIT_BYTES,
    CONTAINER_GROWTH_FIRST = (16 << 20) / UNIT_BYTES,
};

struct limits limits = { .hard_units = SIZE_MAX, .soft_units = SIZE_MAX, .container_units = CONTAINER_GROWTH_FIRST };

/* What the program has set. Number n is in copy n mod 2, and the other copy is written next, under the lock. A reader
 * takes no lock, because it may be in no gate: a fork would leave the lock taken. It reads again where the number has
 * changed. */
enum { SET_HARD, SET_SOFT, SET_ON_SOFT, SET_CONTEXT, SET_WORDS };

static struct {
    struct lock lock;
    atomic_u64 number;
    atomic_u64 words[2][SET_WORDS];
} limits_set = { .lock = LOCK_INIT(RANK_LIMITS) };

noinline void limit_reached(enum limit_kind kind, uint64_t used_bytes, uint64_t wanted_bytes, uint64_t epoch)
{
    invariant(kind < LIMIT_KINDS);
    PROBE4(limit, kind, used_bytes, wanted_bytes, epoch);
    timeline_limit(kind, used_bytes, wanted_bytes, epoch);
}

void limit_no_memory(size_t bytes)
{
    limit_reached(LIMIT_KIND_NO_MEMORY, limit_footprint() << UNIT_SHIFT, bytes, 0);
}

static size_t units_of(size_t bytes)
{
    return bytes == 0 ? SIZE_MAX : bytes >> UNIT_SHIFT;
}

void limit_set(const struct tslab_limits *set)
{
    lock_acquire(&limits_set.lock);
    const uint64_t number = load_plain(&limits_set.number) + 1;
    atomic_u64 *const words = limits_set.words[number % 2];
    store_release(&words[SET_HARD], set->hard_bytes);
    store_release(&words[SET_SOFT], set->soft_bytes);
    store_release(&words[SET_ON_SOFT], (uintptr_t)set->on_soft);
    store_release(&words[SET_CONTEXT], (uintptr_t)set->context);
    store_release(&limits_set.number, number);
    store_plain(&limits.hard_units, units_of(set->hard_bytes));
    store_plain(&limits.soft_units, units_of(set->soft_bytes));
    store_plain(&limits.state, LIMIT_CALM);
    lock_release(&limits_set.lock);
    invariant(set->hard_bytes == 0 || load_plain(&limits.hard_units) != SIZE_MAX);
    limit_look();
}

void limit_get(struct tslab_limits *set)
{
    uint64_t number;
    do {
        number = load_acquire(&limits_set.number);
        atomic_u64 *const words = limits_set.words[number % 2];
        set->hard_bytes = load_acquire(&words[SET_HARD]);
        set->soft_bytes = load_acquire(&words[SET_SOFT]);
        const uintptr_t on_soft = load_acquire(&words[SET_ON_SOFT]);
        memcpy(&set->on_soft, &on_soft, sizeof on_soft);
        set->context = (void *)(uintptr_t)load_acquire(&words[SET_CONTEXT]);
    } while (load_relaxed(&limits_set.number) != number);
}

void limit_look_at_container(uint64_t now_ms)
{
    static struct lock looking = LOCK_INIT(RANK_LIMITS);
    struct container container;
    if (now_ms - load_plain(&limits.container_ms) < LOOK_MS && load_plain(&limits.container_ms) != 0) {
        return;
    }
    if (!lock_try(&looking)) {
        return;
    }
    store_plain(&limits.container_ms, now_ms | 1);
    const bool is_limited = container_look(&container);
    const uint64_t left = container.limit_bytes - min_size(container.used_bytes, container.limit_bytes);
    const bool presses = is_limited && (container.stalled >= STALLED || left <= container.limit_bytes >> NEAR_SHIFT);
    const uint64_t growth = is_limited ? left / 2 >> UNIT_SHIFT : CONTAINER_GROWTH_MOST;
    store_plain(&limits.container_units, load_plain(&arena.committed_units) +
                                             max_size(CONTAINER_GROWTH_LEAST, min_size(growth, CONTAINER_GROWTH_MOST)));
    invariant(load_plain(&limits.container_units) >= CONTAINER_GROWTH_LEAST);
    if (presses && load_plain(&limits.container_presses) == 0) {
        limit_reached(LIMIT_KIND_CONTAINER, container.used_bytes, 0, 0);
    }
    store_plain(&limits.container_presses, presses ? 1 : 0);
    lock_release(&looking);
}

static void limit_note(size_t footprint)
{
    const size_t soft = load_plain(&limits.soft_units);
    const uint32_t state = load_plain(&limits.state);
    invariant(state <= LIMIT_TOLD);
    if (state == LIMIT_CALM && footprint > soft) {
        store_plain(&limits.state, LIMIT_RAISED);
        limit_reached(LIMIT_KIND_SOFT, footprint << UNIT_SHIFT, 0, 0);
    } else if (state != LIMIT_CALM && footprint <= soft - (soft >> CALM_SHIFT)) {
        store_plain(&limits.state, LIMIT_CALM);
    }
}

void limit_look(void)
{
    limit_note(limit_footprint());
}

bool limit_allows(size_t units)
{
    const size_t hard = load_plain(&limits.hard_units);
    invariant(lock_is_held(&depot.lock) && units != 0);
    const bool allowed = hard == SIZE_MAX || limit_footprint() + units <= hard;
    if (unlikely(!allowed)) {
        limit_reached(LIMIT_KIND_HARD, limit_footprint() << UNIT_SHIFT, units << UNIT_SHIFT, 0);
        counter_add(&limits.refusals, 1);
    }
    limit_note(limit_footprint() + (allowed ? units : 0));
    return allowed;
}

noinline void limit_tell(void)
{
    uint32_t raised = LIMIT_RAISED;
    if (!cas_acquire(&limits.state, &raised, LIMIT_TOLD)) {
        return;
    }
    struct tslab_limits set;
    limit_get(&set);
    invariant(load_plain(&limits.state) <= LIMIT_TOLD);
    if (set.on_soft != NULL) {
        set.on_soft(limit_footprint() << UNIT_SHIFT, set.soft_bytes, set.context);
    }
}
