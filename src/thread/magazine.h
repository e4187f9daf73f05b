/* A magazine: a heap's LIFO of free slots of one size class. Its slots are in a tray (tray.h), and its head has 32
 * bytes. The fast path touches the head and the upper end of the tray's slots. The term is Bonwick's ("Magazines and
 * Vmem", 2001).
 *
 * A magazine without a tray is empty and full at once: its top is magazine_none. So the fast path needs no test for it.
 *
 * Threads: the holder of the heap. Reports read the words at any time, and may find two that do not fit together. A
 * fork may cut a thread anywhere, and its child must find a slot in each place up to the top, so a push writes the slot
 * before the top. */
#ifndef TSLAB_THREAD_MAGAZINE_H
#define TSLAB_THREAD_MAGAZINE_H

#include "base/atomic.h"
#include "base/bits.h"
#include "os/fatal.h"

struct magazine {
    void **top;      /* the place of the slot that came in last; it holds NULL when there is none. Owned (atomic.h) */
    void **end;      /* the top of a full magazine. Owned */
    uint64_t served; /* slots handed out. Owned */
    uint32_t tag;    /* the tag of the slots that it accepts; changes only while it is empty */
    uint32_t limit;  /* the most slots that it takes, at most the length of its tray; 0: it has no tray. Owned */
};

/* The place that the top of a magazine without a tray points to. */
extern void *magazine_none[1];

/* The places of the magazine's tray, from number 0 on. */
always_inline void **magazine_places(const struct magazine *m)
{
    return m->end - m->limit;
}

always_inline unsigned magazine_slots(const struct magazine *m)
{
    return (unsigned)(m->top - magazine_places(m));
}

always_inline bool magazine_is_full(const struct magazine *m)
{
    return m->top == m->end;
}

/* The slots of a magazine that its holder may change meanwhile, and the places of them. 0 where it has none, and while
 * it gets another tray. */
static inline uint64_t magazine_seen(const struct magazine *m, void *const **places)
{
    const uint64_t limit = owned_load(&m->limit);
    if (limit == 0) { /* it may have no places at all */
        return 0;
    }
    *places = owned_load(&m->end) - limit;
    const uint64_t slots = (uint64_t)(owned_load(&m->top) - *places);
    return slots > limit ? 0 : slots;
}

/* Gives the magazine these places, of which it fills at most `limit`, and has filled `slots`. */
always_inline void magazine_set(struct magazine *m, void **places, unsigned limit, unsigned slots)
{
    invariant(slots <= limit && places[0] == NULL);
    owned_store(&m->top, places + slots);
    owned_store(&m->end, places + limit);
    owned_store(&m->limit, limit);
}

/* Takes the tray away from an empty magazine. */
always_inline void magazine_reset(struct magazine *m)
{
    magazine_set(m, magazine_none, 0, 0);
}

/* Whether p is the slot that came in last. */
always_inline bool magazine_has_last(const struct magazine *m, const void *p)
{
    return *m->top == p;
}

/* Hands out the slot that came in last. NULL: there is none. */
always_inline void *magazine_pop(struct magazine *m)
{
    void **const top = m->top;
    void *const p = *top;
    if (likely(p != NULL)) {
        owned_store(&m->top, top - 1);
        owned_add(&m->served, 1);
    }
    return p;
}

/* Takes a slot in. There is room. */
always_inline void magazine_push(struct magazine *m, void *slot)
{
    void **const top = m->top;
    invariant(slot != NULL && top != m->end);
    owned_write(&top[1], slot);
    owned_store(&m->top, top + 1);
}

/* How many slots a magazine of the class holds at most, and how many slots a refill takes at first and at most. */
uint16_t magazine_limit_most(unsigned class);
uint16_t magazine_batch_first(unsigned class);
uint16_t magazine_batch_most(unsigned class);

#endif
