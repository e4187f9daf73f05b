/* A stock keeps the chains of a class as a stack of packed words, each in the second word of the chain above it. The
 * bytes that all heaps were granted beyond their first budgets are one shared counter. */
#include "core/stock.h"

#include "core/arena.h"
#include "core/magazine.h"
#include "core/reclaim.h"
#include "os/fatal.h"

/* The budget of a heap at first and at most, and what all heaps together may have beyond their first budgets. */
enum { STOCK_BYTES_FIRST = 64 * 1024, STOCK_BYTES = 256 * 1024, STOCK_BYTES_TOGETHER = 8 * 1024 * 1024 };

/* A packed chain: its number of slots, and the granule of its first slot, counted from the arena's base. */
enum { CHAIN_COUNT_SHIFT = 44 };

static atomic_size_t stock_granted; /* bytes granted to all heaps beyond the first budget of each */

static uint64_t chain_pack(const void *chain, unsigned slots)
{
    invariant((uintptr_t)chain >= arena.base && (uintptr_t)chain % GRANULE_BYTES == 0);
    return ((uintptr_t)chain - arena.base) >> GRANULE_SHIFT | (uint64_t)slots << CHAIN_COUNT_SHIFT;
}

static void *chain_unpack(uint64_t packed, unsigned *slots)
{
    *slots = (unsigned)(packed >> CHAIN_COUNT_SHIFT);
    return *slots == 0 ? NULL : (void *)(arena.base + ((packed & bit_mask(CHAIN_COUNT_SHIFT)) << GRANULE_SHIFT));
}

static uint64_t *chain_link(void *chain)
{
    return (uint64_t *)chain + 1;
}

void stock_start(struct stock *stock, bool has_budget)
{
    invariant(stock->bytes == 0);
    stock->budget = has_budget ? STOCK_BYTES_FIRST : 0;
}

bool stock_put(struct stock *stock, struct stock_class *of_class, unsigned class, void *chain, unsigned slots)
{
    const size_t bytes = (size_t)slots * class_geometry[class].size;
    invariant(class != CLASS_NONE && class < CLASS_LIMIT && (slots == 0 || chain != NULL));
    if (slots == 0 || stock->bytes + bytes > stock->budget) {
        return false;
    }
    *chain_link(chain) = of_class->chains;
    of_class->chains = chain_pack(chain, slots);
    counter_add(&of_class->slots, slots);
    stock->bytes += bytes;
    stock->peak = max_size(stock->peak, stock->bytes);
    invariant(stock->bytes <= stock->budget && stock->bytes <= stock->peak);
    return true;
}

void *stock_take(struct stock *stock, struct stock_class *of_class, unsigned class, unsigned *slots)
{
    void *const chain = chain_unpack(of_class->chains, slots);
    invariant(chain != NULL && counter_get(&of_class->slots) >= *slots);
    of_class->chains = *chain_link(chain);
    counter_sub(&of_class->slots, *slots);
    invariant((of_class->chains == 0) == (counter_get(&of_class->slots) == 0));
    invariant(stock->bytes >= (size_t)*slots * class_geometry[class].size);
    stock->bytes -= (size_t)*slots * class_geometry[class].size;
    return chain;
}

void *stock_first(const struct stock_class *of_class, unsigned *slots)
{
    return chain_unpack(of_class->chains, slots);
}

void *stock_below(void *chain, unsigned *slots)
{
    return chain_unpack(*chain_link(chain), slots);
}

void stock_missed(struct stock *stock, struct stock_class *of_class, size_t bytes)
{
    stock->flushed_bytes += bytes;
    of_class->flushed_at = stock->flushed_bytes;
    invariant(of_class->flushed_at >= bytes);
}

/* Sets the budget, if the bound for all heaps together allows it. */
static void set_budget(struct stock *stock, size_t budget)
{
    invariant(stock->budget >= STOCK_BYTES_FIRST && budget >= STOCK_BYTES_FIRST);
    const size_t change = budget - stock->budget; /* modulo 2^64 when the budget shrinks, like the sum */
    const size_t granted = fetch_add_relaxed(&stock_granted, change) + change;
    if (budget > stock->budget && granted > max_size(STOCK_BYTES_TOGETHER, reclaim_learned_bytes())) {
        (void)fetch_sub_relaxed(&stock_granted, change);
    } else {
        stock->budget = budget;
    }
}

void stock_learn(struct stock *stock, struct stock_class *of_class)
{
    const size_t most = max_size(STOCK_BYTES, reclaim_learned_bytes());
    invariant(of_class->flushed_at <= stock->flushed_bytes);
    const bool lately = of_class->flushed_at != 0 && stock->flushed_bytes - of_class->flushed_at <= most;
    if (lately && stock->budget < most) {
        set_budget(stock, min_size(stock->budget * 2, most));
    }
    of_class->flushed_at = 0;
}

void stock_tick(struct stock *stock)
{
    if (stock->peak < stock->budget / 4) {
        set_budget(stock, max_size(stock->budget / 2, STOCK_BYTES_FIRST));
    }
    invariant(stock->bytes <= stock->peak);
    stock->peak = stock->bytes;
}

void stock_reset_budget(struct stock *stock)
{
    if (stock->budget > STOCK_BYTES_FIRST) {
        set_budget(stock, STOCK_BYTES_FIRST);
    }
}
