/* The exchange: full trays of the process that any thread may take, a stack for each class. A heap that has more slots
 * of a class than its magazine holds puts them here, and a heap that runs empty takes them, a whole tray for one short
 * stay under a lock. So slots that are freed and allocated again come back without a way through their slabs, whichever
 * threads do so. The idea is that of Bonwick's depot ("Magazines and Vmem", 2001) and tcmalloc's transfer cache.
 *
 * Only classes whose slots every thread may adopt are exchanged (tags, arena.h), and all while there is one thread.
 *
 * Of a class, so much may wait as came again: where slots found no room here, and the class was soon refilled from
 * slabs, more room would have kept them, and the class gets it. "Soon" is before heaps have fetched as much from slabs
 * as the process lately had in use. A class that has given back several times what may wait, and wanted nothing since,
 * *drains*: its last slots keep its slabs, so no tray comes in, and what is here goes back by and by.
 *
 * All trays and what is in use are together no more than the most that was in use in two windows, and a 32nd.
 * When more wait, the class that was used least lately goes back as a whole, some trays with each slow operation. Trays
 * that were not needed between two looks go back, too (docs/decisions/magazines.md).
 *
 * Threads: any, in a gate. Reports read the counts. */
#ifndef TSLAB_THREAD_EXCHANGE_H
#define TSLAB_THREAD_EXCHANGE_H

#include "base/bits.h"
#include "common/size_class.h"
#include "os/lock.h"
#include "thread/tray.h"

#include <stdbool.h>

/* The time between two looks for what nobody uses: of a heap, of the exchange, of the keeper. Also a window's length.
 */
enum { LOOK_MS = 250 };

/* Of one class. */
struct exchange {
    _Alignas(CACHE_LINE) struct lock lock;
    atomic_u32 slots;
    atomic_u32 most;           /* the slots that may wait, beside SLOTS_FIRST */
    atomic_u64 refused;        /* slots that found no room since a heap found nothing here, */
    atomic_u64 refused_before; /* of these, before a heap took a tray last */
    atomic_u64 refused_at;     /* what heaps had fetched from slabs when the first of these came */
    atomic_u8 is_unordered; /* the slots of the tray that a heap wanted to keep last (flush.h): they shall not wait */
    atomic_u64 used_at;     /* when a tray came or went last, by the number of such events */
    atomic_u32 surplus;     /* slots that were not needed between two looks, and are still here */
    uint32_t least;         /* the fewest slots since the last look, */
    uint32_t peak;          /* and the most */
    struct tray *trays;
    struct tray *empties; /* trays that were left for full ones */
};
extern struct exchange exchanges[CLASS_LIMIT];

/* Whether some class may have trays that nobody wanted, so that whoever comes by gives some back. */
extern atomic_u32 exchange_surplus;
static inline bool exchange_has_surplus(void)
{
    return load_relaxed(&exchange_surplus) != 0;
}

/* Counts bytes of slots that heaps took from slabs of the process. */
void exchange_fetched(size_t bytes);

/* A heap keeps a full tray of its own, whose count is set. It counts as if it were here, from here until the heap or
 * another one loads it, or flushes it (exchange_unkeep). False: so much may not wait. */
bool exchange_keep(unsigned class, struct tray *tray);
void exchange_unkeep(unsigned class, const struct tray *tray);

/* Takes over a tray that a heap keeps. False: there is enough here. *empty receives an empty tray in return, or NULL
 * when none was left here. */
bool exchange_put(unsigned class, struct tray *tray, struct tray **empty);

/* Gives a tray of the class, and takes over *spare, an empty one or NULL, which is then NULL. NULL: there is none, and
 * *spare stays. */
struct tray *exchange_take(unsigned class, struct tray **spare);

/* Whether the class drains. */
bool exchange_is_draining(unsigned class);

/* A heap flushes slots of the class: if the class drains, a tray goes back, too. */
void exchange_drain(unsigned class);

/* Gives a few trays back to their slabs while more are here than may wait, or some that were not needed. Cheap when
 * there is nothing to do. Returns whether there may be more of them. */
bool exchange_step(void);

/* The slots of a class that are here. */
uint32_t exchange_slots(unsigned class);

/* Finds out which trays were not needed since the last look, for exchange_step, or, with `all`, gives every tray back
 * to its slab. */
void exchange_tick(bool all);

/* Finds out, if that was not done lately. One thread at a time looks after what is shared. Returns whether there is any
 * slot here. */
bool exchange_look(uint64_t now_ms);

#endif
