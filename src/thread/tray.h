/* Trays: the arrays in which free slots wait. A tray lies in the engine's own memory, so that a free slot holds nothing
 * of the allocator's: neither a free nor a refill touches the object, and a write into a freed object changes nothing
 * that the engine reads.
 *
 * The slots of a tray have the numbers from 1 on. Place 0 holds no slot and is NULL, so that the slot that came in last
 * can be looked at without a test whether there is one.
 *
 * Trays come from a pool, in lengths of powers of two, and go back to it. A full tray changes hands by its pointer:
 * from a magazine to the exchange, and back.
 *
 * The longest trays are pages, and most of the memory where many small slots wait. Those in the pool lie in a list of
 * books: trays whose places are other free trays. So a free page holds nothing, and the system may have it.
 *
 * Threads: any, in a gate. A tray belongs to one owner. */
#ifndef TSLAB_THREAD_TRAY_H
#define TSLAB_THREAD_TRAY_H

#include "base/atomic.h"
#include "base/limits.h"

struct tray {
    struct tray *next; /* in an exchange, or the pool */
    uint32_t count;    /* the slots in it. A magazine or an outbox counts its own */
    uint32_t length;   /* the most slots that it can have */
};

_Static_assert(sizeof(struct tray) == 16, "the places follow the header");

/* The places of a tray; the first one is number 0. */
static inline void **tray_places(struct tray *tray)
{
    return (void **)(tray + 1);
}

/* The tray with these places. */
static inline struct tray *tray_of(void **places)
{
    return (struct tray *)places - 1;
}

extern atomic_size_t tray_bytes;      /* the bytes of all trays ever made, */
extern atomic_size_t tray_gone_bytes; /* and of those that have no pages */

/* An empty tray of at least this length, at most TRAY_MOST. NULL: no memory. */
struct tray *tray_take(unsigned length);

/* Puts a tray back into the pool. */
void tray_put(struct tray *tray);

/* Gives back the pages of trays in the pool. Returns their bytes. Any thread, in a gate or with the keeper's lock. */
size_t tray_purge(void);

#endif
