/* A stock keeps the trays of a class as a stack. */
#include "thread/stock.h"

#include "common/size_class.h"
#include "os/fatal.h"
#include "space/depot.h"
#include "thread/cache_budget.h"

/* What a heap's stock may hold at first and at most. */
enum { STOCK_BYTES_FIRST = 64 * 1024, STOCK_BYTES = 256 * 1024 };

void stock_start(struct stock *stock, bool has_room)
{
    invariant(stock->bytes == 0);
    stock->limit = has_room ? STOCK_BYTES_FIRST : 0;
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

bool stock_put(struct stock *stock, struct stock_class *of_class, unsigned class, struct tray *tray)
{
    const size_t bytes = (size_t)tray->count * class_geometry[class].size;
    invariant(class != CLASS_NONE && class < CLASS_LIMIT && tray->count != 0 && tray->count <= tray->length);
    if (stock->bytes + bytes > stock->limit || !stock_count(stock, stock->limit)) {
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

void stock_missed(struct stock *stock, struct stock_class *of_class, size_t bytes)
{
    stock->flushed_bytes += bytes;
    of_class->flushed_at = stock->flushed_bytes;
    invariant(of_class->flushed_at >= bytes);
}

/* Sets the limit, if the budget of all caches allows it. */
static void set_limit(struct stock *stock, size_t limit)
{
    invariant(stock->limit >= STOCK_BYTES_FIRST && limit >= STOCK_BYTES_FIRST);
    if (stock_count(stock, limit)) {
        stock->limit = limit;
    }
}

void stock_learn(struct stock *stock, struct stock_class *of_class, uint32_t heaps)
{
    const size_t again = load_plain(&depot.use.again) << UNIT_SHIFT;
    const size_t most = max_size(STOCK_BYTES, again / heaps);
    invariant(of_class->flushed_at <= stock->flushed_bytes);
    const bool lately = of_class->flushed_at != 0 && stock->flushed_bytes - of_class->flushed_at <= most;
    if (lately && stock->limit < most) {
        set_limit(stock, min_size(stock->limit * 2, most));
    }
    of_class->flushed_at = 0;
}

void stock_tick(struct stock *stock)
{
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
