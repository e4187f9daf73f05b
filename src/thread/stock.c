/* A stock keeps the trays of a class as a stack. */
#include "thread/stock.h"

#include "common/size_class.h"
#include "os/fatal.h"
#include "space/depot.h"
#include "thread/cache_budget.h"

enum {
    STOCK_BYTES_FIRST = 64 * 1024, /* what a heap's stock may hold at first */
    STOCK_TIMES = 4,               /* a class drains when it has given back more than this many times its limit */
    STOCK_PART = 32,               /* of what is in use, that all stocks may hold in any case */
    STOCK_PART_MOST = 4,           /* and at most, where there are several */
    SLOTS_LOOKED = 32,             /* the slots of a tray that are compared with their neighbours */
    TURNS_MOST = 4                 /* with more turns up or down among these, the tray is in no order */
};

/* A heap may free more than it fetched. */
#define NET_FETCHED_FIRST (SIZE_MAX / 2)

void stock_start(struct stock *stock, bool has_room)
{
    invariant(stock->bytes == 0);
    stock->limit = has_room ? STOCK_BYTES_FIRST : 0;
    stock->limit_unordered = stock->limit;
    stock->net_fetched_bytes = NET_FETCHED_FIRST;
    recent_use_note(&stock->use, stock->net_fetched_bytes, 0, 1);
}

/* Has so many bytes count in the budget of all caches. False: it has not so many. */
static bool stock_count(struct stock *stock, size_t bytes)
{
    if (bytes > stock->counted) {
        if (!cache_budget_has(bytes - stock->counted)) {
            return false;
        }
        cache_budget_take(bytes - stock->counted);
    } else if (bytes < stock->counted) {
        cache_budget_put(stock->counted - bytes);
    }
    stock->counted = bytes;
    invariant(bytes == 0 || bytes >= STOCK_BYTES_FIRST);
    return true;
}

/* Whether neighbours in the tray tend to lie in one word of a slab, but neither upwards nor downwards. */
static bool is_unordered(struct tray *tray, unsigned class)
{
    char *const *const slots = (char *const *)tray_places(tray) + 1;
    const unsigned looked = (unsigned)min_size(tray->count, SLOTS_LOOKED);
    const ptrdiff_t reach = (ptrdiff_t)class_geometry[class].size * WORD_SLOTS;
    unsigned near = 0, turns = 0;
    bool was_down = false;
    for (unsigned i = 1; i < looked; i++) {
        const ptrdiff_t distance = slots[i] - slots[i - 1];
        near += distance < reach && distance > -reach;
        turns += (distance < 0) != was_down;
        was_down = distance < 0;
    }
    return near * 2 >= looked && turns > TURNS_MOST;
}

static size_t limit_of(const struct stock *stock, const struct stock_class *of_class)
{
    return of_class->is_unordered ? min_size(stock->limit, stock->limit_unordered) : stock->limit;
}

bool stock_is_draining(const struct stock *stock, const struct stock_class *of_class)
{
    return of_class->drained_bytes > STOCK_TIMES * limit_of(stock, of_class);
}

bool stock_put(struct stock *stock, struct stock_class *of_class, unsigned class, struct tray *tray)
{
    const size_t bytes = (size_t)tray->count * class_geometry[class].size;
    invariant(class != CLASS_NONE && class < CLASS_LIMIT && tray->count != 0 && tray->count <= tray->length);
    of_class->is_unordered = is_unordered(tray, class);
    if (stock_is_draining(stock, of_class) || stock->bytes + bytes > limit_of(stock, of_class) ||
        !stock_count(stock, stock->limit)) {
        return false;
    }
    tray->next = of_class->trays;
    of_class->trays = tray;
    counter_add(&of_class->slots, tray->count);
    stock->bytes += bytes;
    stock->peak = max_size(stock->peak, stock->bytes);
    invariant(stock->bytes <= stock->limit && stock->bytes <= stock->peak);
    return true;
}

struct tray *stock_take(struct stock *stock, struct stock_class *of_class, unsigned class)
{
    struct tray *const tray = of_class->trays;
    if (tray == NULL) {
        invariant(counter_get(&of_class->slots) == 0);
        return NULL;
    }
    of_class->trays = tray->next;
    invariant(counter_get(&of_class->slots) >= tray->count);
    counter_sub(&of_class->slots, tray->count);
    invariant((of_class->trays == NULL) == (counter_get(&of_class->slots) == 0));
    invariant(stock->bytes >= (size_t)tray->count * class_geometry[class].size);
    stock->bytes -= (size_t)tray->count * class_geometry[class].size;
    return tray;
}

/* Sets the limit, if the budget of all caches allows it. */
static void set_limit(struct stock *stock, size_t limit)
{
    invariant(stock->limit >= STOCK_BYTES_FIRST && limit >= STOCK_BYTES_FIRST);
    if (stock_count(stock, limit)) {
        stock->limit = limit;
    }
}

/* The clock is that of the last tick. */
static void set_net_fetched(struct stock *stock, size_t bytes)
{
    stock->net_fetched_bytes = bytes;
    recent_use_note(&stock->use, bytes, stock->use.since_ms, 1);
}

bool stock_drained(struct stock *stock, struct stock_class *of_class, size_t bytes)
{
    invariant(bytes != 0 && bytes <= stock->net_fetched_bytes);
    if (!stock_is_draining(stock, of_class)) {
        of_class->drained_at = stock->fetched_bytes;
    }
    of_class->drained_bytes += bytes;
    set_net_fetched(stock, stock->net_fetched_bytes - bytes);
    return stock_is_draining(stock, of_class);
}

void stock_fetched(struct stock *stock, size_t bytes)
{
    stock->fetched_bytes += bytes;
    set_net_fetched(stock, stock->net_fetched_bytes + bytes);
}

void stock_learn(struct stock *stock, struct stock_class *of_class, uint32_t heaps)
{
    const size_t used = counter_get(&depot.units[RUN_USED]) << UNIT_SHIFT;
    const size_t bound = heaps == 1 ? SIZE_MAX : used / STOCK_PART_MOST / heaps;
    const size_t least = used / STOCK_PART / heaps;
    const size_t most = max_size(min_size(load_plain(&stock->use.reuse), bound), least);
    invariant(heaps != 0 && of_class->drained_at <= stock->fetched_bytes);
    const bool lately =
        of_class->drained_bytes != 0 && stock->fetched_bytes - of_class->drained_at <= STOCK_TIMES * stock->limit;
    if (lately && stock->limit < most) {
        set_limit(stock, min_size(stock->limit + max_size(stock->limit, of_class->drained_bytes), most));
    }
    stock->limit_unordered = max_size(least, STOCK_BYTES_FIRST);
    of_class->drained_bytes = 0;
}

void stock_tick(struct stock *stock, uint64_t now_ms, uint64_t tick_ms)
{
    recent_use_note(&stock->use, stock->net_fetched_bytes, now_ms, tick_ms);
    if (stock->peak == 0 && stock->limit <= STOCK_BYTES_FIRST) {
        stock_reset_limit(stock);
    } else if (stock->peak < stock->limit / 4 && stock->limit > STOCK_BYTES_FIRST) {
        set_limit(stock, max_size(stock->limit / 2, STOCK_BYTES_FIRST));
    }
    invariant(stock->bytes <= stock->peak);
    stock->peak = stock->bytes;
}

void stock_reset_limit(struct stock *stock)
{
    invariant(stock->bytes == 0);
    stock->limit = min_size(stock->limit, STOCK_BYTES_FIRST);
    (void)stock_count(stock, 0);
}
