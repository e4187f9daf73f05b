/* The exchange: full trays of the process that any thread may take. A heap that has more slots of a class than it may
 * keep puts them here, and a heap that runs empty takes them, a whole tray for one short stay under a lock. So slots
 * that are allocated by one thread and freed by another come back without a way through their slabs. The idea is that
 * of tcmalloc's transfer cache.
 *
 * Only classes whose slots every thread may adopt are exchanged (tags, arena.h), and only while there are several
 * threads. Trays that were not asked for since the last look go back to the slabs.
 *
 * A class *drains* when several times what may lie here found no room, and nobody asked for any. As in a stock
 * (stock.h), its slots only keep slabs from being empty: none comes in, and what is here goes back by and by.
 *
 * Threads: any, in a gate. Reports read the counts. */
#ifndef TSLAB_THREAD_EXCHANGE_H
#define TSLAB_THREAD_EXCHANGE_H

#include "base/bits.h"
#include "common/size_class.h"
#include "os/lock.h"
#include "thread/tray.h"

#include <stdbool.h>

/* Of one class. */
struct exchange {
    _Alignas(CACHE_LINE) struct lock lock;
    atomic_u32 slots;
    atomic_u64 refused; /* slots that found no room since the class was last asked for */
    uint32_t least;     /* the fewest slots since the last tick: they were not needed */
    uint32_t counted; /* slots that count in the budget: only where the option sets it, because counting has its cost */
    struct tray *trays;
    struct tray *empties; /* trays that were left for full ones */
};
extern struct exchange exchanges[CLASS_LIMIT];

/* Takes over a tray of slots of the class, whose count is set. False: the class has enough here. *empty receives an
 * empty tray in return, or NULL when none was left here. */
bool exchange_put(unsigned class, struct tray *tray, struct tray **empty);

/* Gives a tray of the class, and takes over *spare, an empty one or NULL, which is then NULL. NULL: there is none, and
 * *spare stays. */
struct tray *exchange_take(unsigned class, struct tray **spare);

/* Gives a tray of a class that drains. NULL: there is none, or the class does not drain. */
struct tray *exchange_drain(unsigned class);

/* The slots of a class that are here. */
uint32_t exchange_slots(unsigned class);

/* Gives trays that were not asked for since the last tick back to their slabs, or, with `all`, every tray. */
void exchange_tick(bool all);

/* Does so, if that was not done lately. One thread at a time looks after what is shared. Returns whether there is any
 * slot here. */
bool exchange_look(uint64_t now_ms);

/* The tray that came in last, for walks that run alone (tests/laws). */
const struct tray *exchange_first(unsigned class);

#endif
