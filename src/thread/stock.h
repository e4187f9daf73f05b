/* A stock: the full trays that a heap keeps for its next refills, within a limit of bytes for all its classes. A stock
 * takes a tray over whole and gives it back whole.
 *
 * The limit starts small. It doubles when a class refills so soon after a flush that a larger stock would have kept
 * the slots. It halves when little of it was used between two ticks. Its bound gives way to what the program has lately
 * freed and taken again (space/recent_use.h), divided among the heaps, because that memory waits in the process anyway
 * (docs/decisions/magazines.md). What all caches may keep together is bounded, too (cache_budget.h).
 *
 * Invariants: bytes <= peak; after a put, bytes <= limit; `bytes` is the sum over the slots of all classes.
 *
 * Threads: the holder of the heap, in its gate. Reports read the counts of slots. */
#ifndef TSLAB_THREAD_STOCK_H
#define TSLAB_THREAD_STOCK_H

#include "thread/tray.h"

#include <stdbool.h>

struct stock {
    size_t bytes;
    size_t peak;            /* the largest value of `bytes` since the last tick */
    size_t limit;           /* what it may hold */
    size_t counted;         /* what of that counts in the budget of all caches: nothing, until the stock is used */
    uint64_t flushed_bytes; /* total bytes that magazines flushed because the stock had no room */
};

struct stock_class {
    struct tray *trays;  /* the tray that came in last; NULL: none */
    atomic_u32 slots;    /* the slots in all trays */
    uint64_t flushed_at; /* flushed_bytes at the last flush of the class; 0: no flush since the last refill */
};

/* Starts an empty stock in zeroed memory. */
void stock_start(struct stock *stock, bool has_room);

/* Takes a tray over, whose count is set. False: the limit does not allow it. */
bool stock_put(struct stock *stock, struct stock_class *of_class, unsigned class, struct tray *tray);

/* Gives the tray back that came in last. NULL: there is none. */
struct tray *stock_take(struct stock *stock, struct stock_class *of_class, unsigned class);

/* Records that a magazine was flushed to its slabs. */
void stock_missed(struct stock *stock, struct stock_class *of_class, size_t bytes);

/* Records that the class fetches slots from slabs again. If it was flushed a short while ago, the limit grows, up to
 * the share that so many heaps leave it. */
void stock_learn(struct stock *stock, struct stock_class *of_class, uint32_t heaps);

/* A tick: shrinks a limit that was hardly used. */
void stock_tick(struct stock *stock);

/* Shrinks the limit to the first one, which counts no more. The stock is empty. */
void stock_reset_limit(struct stock *stock);

#endif
