/* A magazine: a heap's LIFO of free slots of one size class. Its slots are in a tray (tray.h), and its head has 32
 * bytes. The fast path touches the head and the upper end of the tray's slots. The term is Bonwick's ("Magazines and
 * Vmem", 2001).
 *
 * A magazine without a tray is empty and full at once: its top is magazine_none. So the fast path needs no test for it.
 *
 * The magazine counts the slots that it hands out. The count ends where the next object is to be sampled (sampling.h):
 * it is so placed that one more would set its highest bit, and the fast path branches on that. `offset` is the distance
 * by which it was placed, so both in one word give any reader the slots handed out. Another thread stops the count by a
 * write to its highest byte alone, which changes no number.
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
    void **top; /* the place of the slot that came in last; it holds NULL when there is none. Owned (atomic.h) */
    void **end; /* the top of a full magazine. Owned */
    union {
        uint64_t counts; /* both of these. Owned */
        struct {
            uint32_t count;  /* slots handed out, more or less `offset`, in the lower 24 bits */
            uint32_t offset; /* modulo 2^32 */
        };
        uint8_t count_bytes[4];
    };
    uint32_t tag;   /* the tag of the slots that it accepts. It changes only while it is empty */
    uint32_t limit; /* the most slots that it takes, at most the length of its tray; 0: it has no tray. Owned, but that
                       the keeper may lower it (idle.h) */
};

enum {
    COUNT_BITS = 24,
    COUNT_MOST = (1 << COUNT_BITS) - 1, /* slots that are handed out before a count ends, at most */
    COUNT_END = INT32_MAX,              /* the next slot is not the fast path's */
    COUNT_ENDED = 0x80,                 /* the highest byte when a slow path has handed that slot out, */
    COUNT_STOPPED = 0xc1,               /* or when the count was stopped */
};
#define COUNTS_NONE ((uint64_t)COUNT_STOPPED << COUNT_BITS)

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the halves and the bytes of a count are where they are");

/* The place that the top of a magazine without a tray points to. */
extern void *magazine_none[1];

/* The places of the magazine's tray, from number 0 on. */
always_inline void **magazine_places(const struct magazine *m)
{
    return owned_load(&m->end) - __atomic_load_n(&m->limit, __ATOMIC_ACQUIRE);
}

always_inline unsigned magazine_slots(const struct magazine *m)
{
    return (unsigned)(m->top - magazine_places(m));
}

always_inline bool magazine_is_full(const struct magazine *m)
{
    return m->top == m->end;
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
    return owned_compare(m->top, p);
}

/* The slots that were handed out, modulo 2^32. The fast path steps beyond the end of a count for a moment. */
static inline uint32_t magazine_handed_out(uint64_t counts)
{
    const uint32_t count = (uint32_t)counts, state = count >> COUNT_BITS;
    const bool is_beyond = state == COUNT_ENDED || state == COUNT_STOPPED + 1;
    return (count & COUNT_MOST) + (is_beyond ? COUNT_MOST + 1 : 0) + (uint32_t)(counts >> 32);
}

/* Whether the fast path has to leave the next slot to the slow one, or the slow one has handed it out. */
always_inline bool magazine_is_stopped(const struct magazine *m)
{
    return (int32_t)owned_load(&m->count) < 0;
}

/* Whether the count came to its end with the slot that the slow path has handed out just now. */
static inline bool magazine_has_ended(const struct magazine *m)
{
    return owned_load(&m->count) >> COUNT_BITS == COUNT_ENDED;
}

/* Has the count end when so many more slots were handed out. */
static inline void magazine_count_down(struct magazine *m, uint64_t slots)
{
    const uint32_t count = COUNT_END - (uint32_t)min_size(slots, COUNT_MOST);
    const uint32_t offset = magazine_handed_out(owned_get(&m->counts)) - (count & COUNT_MOST);
    invariant(count >> COUNT_BITS == COUNT_END >> COUNT_BITS);
    owned_set(&m->counts, (uint64_t)offset << 32 | count);
}

/* For another thread than the holder: has it come to the slow path for its next slot. The holder may write the count
 * at the same moment, and then it goes on. */
static inline void magazine_stop(struct magazine *m)
{
    owned_write(&m->count_bytes[3], COUNT_STOPPED);
}

/* Counts a slot that a slow path hands out: `handed_out` is 1, or 0 where it is counted elsewhere. */
static inline void magazine_count(struct magazine *m, uint32_t handed_out)
{
    if (likely(handed_out == 1 && !owned_count(&m->count))) { /* the write that magazine_stop may meet is as short */
        return;
    }
    const uint64_t counts = owned_get(&m->counts);
    const uint32_t count = (uint32_t)counts, now = magazine_handed_out(counts) + handed_out;
    const bool is_end = count == COUNT_END || count >> COUNT_BITS == COUNT_ENDED;
    const uint32_t next = is_end               ? (uint32_t)COUNT_ENDED << COUNT_BITS
                          : (int32_t)count < 0 ? (uint32_t)COUNT_STOPPED << COUNT_BITS
                                               : count + 1;
    const uint32_t offset = now - magazine_handed_out(next);
    owned_set(&m->counts, (uint64_t)offset << 32 | next);
}

/* Hands out the slot that came in last. NULL: there is none, or it is not the fast path's. */
always_inline void *magazine_pop(struct magazine *m)
{
    void **const top = m->top;
    void *const p = owned_load(top);
    if (likely(p != NULL)) {
        if (unlikely(owned_count(&m->count))) {
            return NULL;
        }
        owned_store(&m->top, top - 1);
    }
    return p;
}

/* The same for a slow path, which looks at the count behind it. NULL: there is none. */
always_inline void *magazine_take(struct magazine *m)
{
    void **const top = m->top;
    void *const p = owned_load(top);
    if (p != NULL) {
        owned_store(&m->top, top - 1);
        magazine_count(m, 1);
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

/* How many slots a magazine of the class may hold at most, and whatever the budget says, and how many slots a refill
 * takes at first and at most. */
uint16_t magazine_limit_most(unsigned class);
uint16_t magazine_limit_least(unsigned class);
uint16_t magazine_batch_first(unsigned class);
uint16_t magazine_batch_most(unsigned class);

#endif
