/* A stock: the full trays that a heap keeps for its next refills, within a limit of bytes for all its classes. A stock
 * takes a tray over whole and gives it back whole.
 *
 * The limit starts small. It rises when a class refills so soon after a flush that a larger stock would have kept the
 * slots. Its bound is the bytes that the heap lately returned to slabs and fetched again. With n heaps it is at most
 * in_use / 4n, and never below in_use / 32n. The limit halves when little of it was used between two ticks. A budget
 * bounds what all caches keep together (cache_budget.h).
 *
 * Slots that lie near each other but were freed in no order go back to their slabs at little cost, many by one
 * operation, and come out in the order of addresses. A stock would hand them out in the order in which they were freed,
 * and each round would mix them more. So the stock takes at most in_use / 32n of them.
 *
 * A class *drains* when it has given back several times what a stock can keep of it, and fetched nothing since. Slots
 * that were freed in any order each keep a slab from being empty, so the stock takes no tray of such a class
 * (docs/decisions/magazines.md).
 *
 * Invariants: bytes <= peak. After a put, bytes <= limit. `bytes` is the sum over the slots of all classes.
 *
 * Threads: the holder of the heap, in its gate. Reports read the counts of slots. */
#ifndef TSLAB_THREAD_STOCK_H
#define TSLAB_THREAD_STOCK_H

#include "space/recent_use.h"
#include "thread/tray.h"

#include <stdbool.h>

struct stock {
    size_t bytes;
    size_t peak;              /* the largest value of `bytes` since the last tick */
    size_t limit;             /* what it may hold */
    size_t limit_unordered;   /* and up to which it takes unordered slots */
    size_t counted;           /* what of that counts in the budget of all caches: nothing, until the stock is used */
    uint64_t fetched_bytes;   /* the total of what came from slabs */
    size_t net_fetched_bytes; /* came from slabs less what went back, and NET_FETCHED_FIRST */
    struct recent_use use;    /* of `net_fetched_bytes`. Its windows are ticks */
};

struct stock_class {
    struct tray *trays;     /* the tray that came in last; NULL: none */
    atomic_u32 slots;       /* the slots in all trays */
    bool is_unordered;      /* the slots of the tray that came last lie near each other, but in no order */
    uint64_t drained_bytes; /* what went back to slabs since the last refill */
    uint64_t drained_at;    /* fetched_bytes when slots went back last before the class drained */
};

/* Starts an empty stock in zeroed memory. */
void stock_start(struct stock *stock, bool has_room);

/* Takes a tray over, whose count is set. False: the limit does not allow it. */
bool stock_put(struct stock *stock, struct stock_class *of_class, unsigned class, struct tray *tray);

/* Gives the tray back that came in last. NULL: there is none. */
struct tray *stock_take(struct stock *stock, struct stock_class *of_class, unsigned class);

/* Records that slots of the class went back to their slabs. Returns whether the class drains. */
bool stock_drained(struct stock *stock, struct stock_class *of_class, size_t bytes);

/* Whether the class drains. */
bool stock_is_draining(const struct stock *stock, const struct stock_class *of_class);

/* Records that slots came from a slab. */
void stock_fetched(struct stock *stock, size_t bytes);

/* Records that the class refills. If it gave slots back a short while ago, the limit rises. So many heaps share what
 * stocks may hold. */
void stock_learn(struct stock *stock, struct stock_class *of_class, uint32_t heaps);

/* A tick: shrinks a limit that was hardly used. */
void stock_tick(struct stock *stock, uint64_t now_ms, uint64_t tick_ms);

/* Shrinks the limit to the first one, which counts no more. The stock is empty. */
void stock_reset_limit(struct stock *stock);

#endif
