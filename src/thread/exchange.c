/* A stack of trays for each class, each under a lock of its own. Threads that put at the same time may exceed a bound
 * by a tray each. */
#include "thread/exchange.h"

#include "os/fatal.h"
#include "space/depot.h"
#include "thread/cache_budget.h"
#include "thread/flush.h"

enum {
    EXCHANGE_BYTES = 1024 * 1024, /* the bytes of a class that may wait here */
    EXCHANGE_SLOTS_MIN = 16,      /* a class of large slots may have this many, however many bytes they are */
    EXCHANGE_TIMES = 4            /* a class drains when the slots without room are this many times what may wait */
};

struct exchange exchanges[CLASS_LIMIT] = { [0 ... CLASS_LIMIT - 1] = { .lock = LOCK_INIT(RANK_EXCHANGE) } };

static size_t slots_most(unsigned class)
{
    return max_size(EXCHANGE_SLOTS_MIN, EXCHANGE_BYTES / class_geometry[class].size);
}

static struct exchange *exchange_lock(unsigned class)
{
    struct exchange *const exchange = &exchanges[class];
    invariant(class != CLASS_NONE && class < CLASS_LIMIT && !class_geometry[class].shares_lines);
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
    }
    return tray;
}

static bool is_draining(unsigned class)
{
    return load_relaxed(&exchanges[class].refused) > (uint64_t)EXCHANGE_TIMES * slots_most(class);
}

bool exchange_put(unsigned class, struct tray *tray, struct tray **empty)
{
    *empty = NULL;
    invariant(tray->count != 0 && tray->count <= tray->length);
    if (is_draining(class) || load_relaxed(&exchanges[class].slots) + tray->count > slots_most(class)) {
        (void)fetch_add_relaxed(&exchanges[class].refused, tray->count);
        return false;
    }
    const uint32_t counting = cache_budget_is_set() ? tray->count : 0;
    if (counting != 0) {
        const size_t bytes = (size_t)counting * class_geometry[class].size;
        if (!cache_budget_has(bytes)) {
            return false;
        }
        cache_budget_take(bytes);
    }
    struct exchange *const exchange = exchange_lock(class);
    invariant((exchange->trays == NULL) == (counter_get(&exchange->slots) == 0));
    exchange->counted += counting;
    push(&exchange->trays, tray);
    counter_add(&exchange->slots, tray->count);
    *empty = pop(&exchange->empties);
    lock_release(&exchange->lock);
    return true;
}

static struct tray *take_locked(struct exchange *exchange, unsigned class)
{
    struct tray *const tray = pop(&exchange->trays);
    if (tray != NULL) {
        invariant(exchange->counted <= counter_get(&exchange->slots));
        const uint32_t slots = (uint32_t)min_size(exchange->counted, tray->count);
        if (slots != 0) {
            cache_budget_put((size_t)slots * class_geometry[class].size);
            exchange->counted -= slots;
        }
        invariant(counter_get(&exchange->slots) >= tray->count);
        counter_sub(&exchange->slots, tray->count);
        exchange->least = (uint32_t)min_size(exchange->least, counter_get(&exchange->slots));
    }
    return tray;
}

struct tray *exchange_drain(unsigned class)
{
    if (!is_draining(class) || load_relaxed(&exchanges[class].slots) == 0) {
        return NULL;
    }
    struct exchange *const exchange = exchange_lock(class);
    struct tray *const tray = take_locked(exchange, class);
    lock_release(&exchange->lock);
    return tray;
}

/* Leaves an empty tray, if there is one. */
static void leave_spare(struct exchange *exchange, struct tray **spare)
{
    if (*spare != NULL) {
        push(&exchange->empties, *spare);
        *spare = NULL;
    }
}

struct tray *exchange_take(unsigned class, struct tray **spare)
{
    if (load_relaxed(&exchanges[class].refused) != 0) {
        store_relaxed(&exchanges[class].refused, 0);
    }
    if (load_relaxed(&exchanges[class].slots) == 0) {
        return NULL;
    }
    struct exchange *const exchange = exchange_lock(class);
    struct tray *const tray = take_locked(exchange, class);
    if (tray != NULL) {
        leave_spare(exchange, spare);
    }
    lock_release(&exchange->lock);
    return tray;
}

uint32_t exchange_slots(unsigned class)
{
    invariant(class < CLASS_LIMIT);
    return counter_get(&exchanges[class].slots);
}

const struct tray *exchange_first(unsigned class)
{
    return exchanges[class].trays;
}

/* Gives back one class down to `least` slots. */
static void give_back(unsigned class, bool all)
{
    struct tray *surplus = NULL;
    struct exchange *const exchange = exchange_lock(class);
    uint32_t n = all ? counter_get(&exchange->slots) : exchange->least;
    while (exchange->trays != NULL && n >= exchange->trays->count) {
        struct tray *const tray = take_locked(exchange, class);
        n -= tray->count;
        push(&surplus, tray);
    }
    struct tray *empties = exchange->empties;
    exchange->empties = NULL;
    invariant(!all || exchange->trays == NULL);
    invariant((exchange->trays == NULL) == (counter_get(&exchange->slots) == 0));
    exchange->least = counter_get(&exchange->slots);
    lock_release(&exchange->lock);
    struct tray *tray;
    while ((tray = pop(&surplus)) != NULL) {
        (void)fetch_sub_relaxed(&depot_usage.out_bytes, (size_t)tray->count * class_geometry[class].size);
        flush_slots(class, tray_places(tray) + 1, tray->count);
        tray_put(tray);
    }
    while ((tray = pop(&empties)) != NULL) {
        tray_put(tray);
    }
}

bool exchange_look(uint64_t now_ms)
{
    enum { LOOK_MS = 250 };
    static atomic_u64 looked_ms;
    bool has_some = false;
    if (now_ms - load_relaxed(&looked_ms) >= LOOK_MS) {
        store_relaxed(&looked_ms, now_ms);
        exchange_tick(false);
    }
    for (unsigned c = 1; c < CLASS_LIMIT && !has_some; c++) {
        has_some = exchange_slots(c) != 0;
    }
    return has_some;
}

void exchange_tick(bool all)
{
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        if (!class_geometry[c].shares_lines && (all || load_relaxed(&exchanges[c].slots) != 0)) {
            give_back(c, all);
        }
    }
}
