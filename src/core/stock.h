/* A stock: the full magazines that a heap keeps for its next refills, in a budget of bytes for all its classes.
 *
 * A full magazine is a chain of free slots. A stock takes it over whole and gives it back whole: no slot is touched but
 * the first, whose second word links it to the chain below.
 *
 * The budget begins small. It doubles when slots come to be refilled soon after they were flushed, within what the
 * stock could have held, and halves when little of it was used between two ticks. What the heaps may keep beyond their
 * first budgets is bounded for all of them together. Both bounds yield to what the purger has learned to keep
 * (reclaim.h): that memory stays in the process either way (docs/decisions/stock.md).
 *
 * Threads: the holder of the heap, in its gate. Reports read the counts of slots. */
#ifndef TSLAB_CORE_STOCK_H
#define TSLAB_CORE_STOCK_H

#include "base/atomic.h"

#include <stdbool.h>

struct stock {
    size_t bytes;
    size_t peak; /* the most that was in it since the last tick */
    size_t budget;
    uint64_t flushed_bytes; /* flushed by magazines that found no room here, in total */
};

struct stock_class {
    uint64_t chains;     /* the last one that came in, packed (stock.c); 0: none */
    atomic_u32 slots;    /* in all of them */
    uint64_t flushed_at; /* the stock's flushed_bytes at the last flush of the class; 0: none since the last refill */
};

/* An empty stock. */
void stock_start(struct stock *stock, bool has_budget);

/* Takes a chain over; false: the budget does not allow it. */
bool stock_put(struct stock *stock, struct stock_class *of_class, unsigned class, void *chain, unsigned slots);

/* Gives the last chain back, of which there is one. *slots receives its length. */
void *stock_take(struct stock *stock, struct stock_class *of_class, unsigned class, unsigned *slots);

/* The chain that stock_take would give back, or the one below another; NULL: there is none. */
void *stock_first(const struct stock_class *of_class, unsigned *slots);
void *stock_below(void *chain, unsigned *slots);

/* Slots of a magazine were flushed to their slabs. */
void stock_missed(struct stock *stock, struct stock_class *of_class, size_t bytes);

/* Slots of the class are fetched from slabs again: what was flushed may have been flushed too soon. */
void stock_learn(struct stock *stock, struct stock_class *of_class);

/* A tick: a budget that was hardly used shrinks. */
void stock_tick(struct stock *stock);

/* The heap gives back all that it has: so does its budget. */
void stock_reset_budget(struct stock *stock);

#endif
