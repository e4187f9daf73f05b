/* A stack of trays for each class, each under a lock of its own. The sums over all classes are atomic, and a little
 * late (heap.c). Threads that put at the same time may exceed the bound by a tray each. */
#include "thread/exchange.h"

#include "common/option.h"
#include "os/fatal.h"
#include "os/os.h"
#include "space/depot.h"
#include "space/limit.h"
#include "space/reclaim.h"
#include "thread/cache_budget.h"
#include "thread/flush.h"

enum {
    WAITING_SHIFT = 5,          /* this fraction of the bytes in use may wait in any case, */
    WAITING_LEAST = 512 * 1024, /* or this many bytes, if that is more */
    WAITING_FIRST = 64 * 1024,  /* bytes of a class that may wait at first, and of all while unordered slots come in */
    SLOTS_FIRST = 16,           /* slots of a class that may wait at first, if these are more bytes */
    UNKEPT_MOST = 64 << 20,     /* all that may wait where there is no keeper */
    DRAINS_FROM = 4,            /* a class drains when this many times what may wait found no room */
    STEP_TRAYS = 2,             /* the most that a slow operation gives back where more waits than may, */
    STEP_BYTES = 1 << 20,       /* and of what nobody wanted */
};

struct exchange exchanges[CLASS_LIMIT] = { [0 ... CLASS_LIMIT - 1] = { .lock = LOCK_INIT(RANK_EXCHANGE) } };

/* Of all classes. */
static struct {
    _Alignas(CACHE_LINE) atomic_u64 fetched; /* bytes of slots that heaps ever took from slabs of the process */
    atomic_size_t waiting;                   /* bytes of slots that are here, or kept by heaps */
    atomic_u64 events;                       /* trays that came or went */
    atomic_u64 draining_at;                  /* when the class was used last that goes back as a whole */
    atomic_u32 draining;                     /* that class; CLASS_NONE: none */
    atomic_size_t peak, peak_before;         /* the most bytes from slabs that were not here, in two windows */
} exchange_all;

void exchange_fetched(size_t bytes)
{
    (void)fetch_add_relaxed(&exchange_all.fetched, bytes);
}

/* The bytes of slots that are out of slabs and do not wait. Heaps count late, so it may look as if fewer were out. */
static size_t used_bytes(void)
{
    const size_t out = depot_out_bytes(), waiting = load_relaxed(&exchange_all.waiting);
    return out > waiting ? out - waiting : 0;
}

/* Returns the most that was in use in this window and in the one before. */
static size_t note_used(size_t used)
{
    if (used > load_relaxed(&exchange_all.peak)) {
        store_relaxed(&exchange_all.peak, used);
    }
    return max_size(load_relaxed(&exchange_all.peak), load_relaxed(&exchange_all.peak_before));
}

/* Whether trays of this many bytes in all may wait. They count in the budget of all caches, where the option
 * cache_bytes sets it. */
static bool may_wait(size_t bytes, bool is_unordered)
{
    const size_t used = used_bytes(), below = note_used(used) - used;
    const size_t beside = max_size(used >> WAITING_SHIFT, WAITING_LEAST);
    const size_t again = load_plain(&reclaim_is_kept) != 0 ? below : min_size(below, UNKEPT_MOST);
    const size_t most = is_unordered ? WAITING_FIRST : again + beside;
    const bool is_eager = option_choice(OPTION_PURGE) == PURGE_EAGER;
    return bytes <= most && !is_eager && !limit_presses() && (!cache_budget_is_set() || cache_budget_has_beside(bytes));
}

/* The slots of a class that may wait. */
static size_t slots_most(unsigned class)
{
    return load_relaxed(&exchanges[class].most) + max_size(SLOTS_FIRST, WAITING_FIRST / class_geometry[class].size);
}

bool exchange_is_draining(unsigned class)
{
    const struct exchange *const exchange = &exchanges[class];
    return load_relaxed(&exchange->refused) > load_relaxed(&exchange->refused_before) + DRAINS_FROM * slots_most(class);
}

static struct exchange *exchange_lock(unsigned class)
{
    struct exchange *const exchange = &exchanges[class];
    invariant(class != CLASS_NONE && class < CLASS_LIMIT);
    lock_acquire(&exchange->lock);
    return exchange;
}

static void push(struct tray **list, struct tray *tray)
{
    tray->next = *list;
    *list = tray;
}

static struct tray *pop(struct tray **list)
{
    struct tray *const tray = *list;
    if (tray != NULL) {
        *list = tray->next;
        tray->next = NULL;
    }
    return tray;
}

static void note_event(struct exchange *exchange)
{
    const uint64_t now = load_relaxed(&exchange_all.events) + 1; /* two events at once may have one number */
    store_relaxed(&exchange_all.events, now);
    store_relaxed(&exchange->used_at, now);
}

static void note_refused(struct exchange *exchange, uint32_t slots)
{
    if (load_relaxed(&exchange->refused) == 0) {
        store_relaxed(&exchange->refused_at, load_relaxed(&exchange_all.fetched));
    }
    (void)fetch_add_relaxed(&exchange->refused, slots);
}

/* A class has to be refilled from slabs, which may have got slots back that found no room here. */
static void learn(struct exchange *exchange)
{
    const uint64_t refused = load_relaxed(&exchange->refused);
    if (refused == 0) {
        return;
    }
    const uint64_t between = load_relaxed(&exchange_all.fetched) - load_relaxed(&exchange->refused_at);
    if (!load_relaxed(&exchange->is_unordered) && between <= note_used(used_bytes())) {
        store_relaxed(&exchange->most, (uint32_t)min_size(load_relaxed(&exchange->most) + refused, UINT32_MAX / 2));
    }
    store_relaxed(&exchange->refused_before, 0);
    store_relaxed(&exchange->refused, 0);
}

static size_t tray_slot_bytes(const struct tray *tray, unsigned class)
{
    return (size_t)tray->count * class_geometry[class].size;
}

bool exchange_keep(unsigned class, struct tray *tray)
{
    const size_t bytes = tray_slot_bytes(tray, class);
    invariant(class != CLASS_NONE && class < CLASS_LIMIT && bytes != 0 && tray->count <= tray->length);
    const bool is_unordered = flush_is_unordered(class, tray_places(tray) + 1, tray->count);
    const bool may = may_wait(load_relaxed(&exchange_all.waiting) + bytes, is_unordered);
    if (may) {
        (void)fetch_add_relaxed(&exchange_all.waiting, bytes);
    } else {
        note_refused(&exchanges[class], tray->count);
    }
    store_relaxed(&exchanges[class].is_unordered, is_unordered);
    return may;
}

void exchange_unkeep(unsigned class, const struct tray *tray)
{
    const size_t bytes = tray_slot_bytes(tray, class), before = fetch_sub_relaxed(&exchange_all.waiting, bytes);
    invariant(tray->count != 0 && before >= bytes);
    (void)before;
}

bool exchange_put(unsigned class, struct tray *tray, struct tray **empty)
{
    struct exchange *const exchange = &exchanges[class];
    *empty = NULL;
    invariant(tray->count != 0 && tray->count <= tray->length);
    if (exchange_is_draining(class) || load_relaxed(&exchange->slots) + tray->count > slots_most(class) ||
        !may_wait(load_relaxed(&exchange_all.waiting), false)) {
        note_refused(exchange, tray->count);
        return false;
    }
    (void)exchange_lock(class);
    invariant((exchange->trays == NULL) == (counter_get(&exchange->slots) == 0));
    push(&exchange->trays, tray);
    counter_add(&exchange->slots, tray->count);
    exchange->peak = (uint32_t)max_size(exchange->peak, counter_get(&exchange->slots));
    note_event(exchange);
    *empty = pop(&exchange->empties);
    lock_release(&exchange->lock);
    return true;
}

static struct tray *take_locked(struct exchange *exchange)
{
    struct tray *const tray = pop(&exchange->trays);
    if (tray != NULL) {
        invariant(counter_get(&exchange->slots) >= tray->count);
        counter_sub(&exchange->slots, tray->count);
        exchange->least = (uint32_t)min_size(exchange->least, counter_get(&exchange->slots));
        if (load_relaxed(&exchange->surplus) > counter_get(&exchange->slots)) {
            store_relaxed(&exchange->surplus, counter_get(&exchange->slots));
        }
    }
    return tray;
}

struct tray *exchange_take(unsigned class, struct tray **spare)
{
    if (load_relaxed(&exchanges[class].slots) == 0) {
        learn(&exchanges[class]);
        return NULL;
    }
    struct exchange *const exchange = exchange_lock(class);
    struct tray *const tray = take_locked(exchange);
    store_relaxed(&exchange->refused_before, load_relaxed(&exchange->refused));
    note_event(exchange);
    if (tray != NULL && *spare != NULL) {
        push(&exchange->empties, *spare);
        *spare = NULL;
    }
    lock_release(&exchange->lock);
    if (tray != NULL) {
        exchange_unkeep(class, tray);
    }
    return tray;
}

/* Gives trays back to their slabs, and empty ones to the pool. */
static void give_back(unsigned class, struct tray *trays, struct tray *empties)
{
    struct tray *tray;
    while ((tray = pop(&trays)) != NULL) {
        flush_slots(class, tray_places(tray) + 1, tray->count);
        (void)fetch_sub_relaxed(&depot_usage.out_bytes, tray_slot_bytes(tray, class));
        exchange_unkeep(class, tray);
        tray_put(tray);
    }
    while ((tray = pop(&empties)) != NULL) {
        tray_put(tray);
    }
}

atomic_u32 exchange_surplus;

/* A class of which nobody wanted some trays. CLASS_NONE: there is none. */
static unsigned class_with_surplus(void)
{
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        if (load_relaxed(&exchanges[c].surplus) != 0) {
            return c;
        }
    }
    store_relaxed(&exchange_surplus, 0);
    return CLASS_NONE;
}

/* The class of which trays go back: one that was chosen, until it is used again, or that which was used least lately.
 * CLASS_NONE: no more waits than may. */
static unsigned class_to_drain(void)
{
    unsigned class = load_relaxed(&exchange_all.draining);
    uint64_t used_at = load_relaxed(&exchange_all.draining_at);
    invariant(class < CLASS_LIMIT);
    if (load_relaxed(&exchanges[class].slots) != 0 && load_relaxed(&exchanges[class].used_at) == used_at) {
        return class;
    }
    class = CLASS_NONE;
    used_at = UINT64_MAX;
    const bool is_enough = may_wait(load_relaxed(&exchange_all.waiting), false);
    for (unsigned c = 1; !is_enough && c < CLASS_LIMIT; c++) {
        if (load_relaxed(&exchanges[c].slots) != 0 && load_relaxed(&exchanges[c].used_at) < used_at) {
            class = c;
            used_at = load_relaxed(&exchanges[c].used_at);
        }
    }
    store_relaxed(&exchange_all.draining, class);
    store_relaxed(&exchange_all.draining_at, used_at);
    return class;
}

/* Gives a tray back. Returns the bytes of its slots; 0: there was none. */
static size_t give_one_back(unsigned class)
{
    struct exchange *const exchange = exchange_lock(class);
    const uint32_t surplus = load_relaxed(&exchange->surplus);
    struct tray *const tray = take_locked(exchange);
    const uint32_t given = tray == NULL ? surplus : tray->count;
    invariant(tray == NULL || (tray->count != 0 && tray->count <= tray->length));
    store_relaxed(&exchange->surplus, surplus - (uint32_t)min_size(surplus, given));
    lock_release(&exchange->lock);
    const size_t bytes = tray == NULL ? 0 : tray_slot_bytes(tray, class);
    if (tray != NULL) {
        give_back(class, tray, NULL);
    }
    return bytes;
}

void exchange_drain(unsigned class)
{
    if (load_relaxed(&exchanges[class].slots) != 0 && exchange_is_draining(class)) {
        (void)give_one_back(class);
    }
}

bool exchange_step(void)
{
    unsigned class = CLASS_NONE;
    for (unsigned i = 0; i < STEP_TRAYS && load_relaxed(&exchange_all.waiting) != 0; i++) {
        class = class_to_drain();
        if (class == CLASS_NONE) {
            break;
        }
        (void)give_one_back(class);
    }
    for (size_t bytes = 0; bytes < STEP_BYTES && exchange_has_surplus();) {
        class = class_with_surplus();
        bytes += class == CLASS_NONE ? 0 : give_one_back(class);
    }
    return class != CLASS_NONE;
}

uint32_t exchange_slots(unsigned class)
{
    invariant(class < CLASS_LIMIT);
    return counter_get(&exchanges[class].slots);
}

/* The trays that a class did not need become its surplus, or, with `all`, all go back. */
static void look_at(unsigned class, bool all)
{
    struct tray *given = NULL;
    struct exchange *const exchange = exchange_lock(class);
    while (all && exchange->trays != NULL) {
        push(&given, take_locked(exchange));
    }
    struct tray *const empties = exchange->empties;
    exchange->empties = NULL;
    invariant((exchange->trays == NULL) == (counter_get(&exchange->slots) == 0));
    if (exchange->peak < load_relaxed(&exchange->most) / 4) {
        store_relaxed(&exchange->most, load_relaxed(&exchange->most) / 2);
    }
    invariant(exchange->least <= counter_get(&exchange->slots));
    store_relaxed(&exchange->surplus, exchange->least);
    exchange->least = exchange->peak = counter_get(&exchange->slots);
    lock_release(&exchange->lock);
    if (load_relaxed(&exchange->surplus) != 0) {
        store_relaxed(&exchange_surplus, 1);
    }
    give_back(class, given, empties);
}

bool exchange_look(uint64_t now_ms)
{
    static atomic_u64 looked_ms;
    const uint64_t passed_ms = now_ms - load_relaxed(&looked_ms);
    if (passed_ms >= LOOK_MS) {
        const size_t used = used_bytes();
        store_relaxed(&looked_ms, now_ms);
        store_relaxed(&exchange_all.peak_before,
                      passed_ms >= (uint64_t)4 * LOOK_MS ? used : max_size(load_relaxed(&exchange_all.peak), used));
        store_relaxed(&exchange_all.peak, used);
        exchange_tick(false);
    }
    return load_relaxed(&exchange_all.waiting) != 0;
}

void exchange_tick(bool all)
{
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        if (all || load_relaxed(&exchanges[c].slots) + load_relaxed(&exchanges[c].most) != 0) {
            look_at(c, all);
        }
    }
}
