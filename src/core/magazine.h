/* A magazine: a heap's LIFO of free slots of one size class, linked through their first words. It has 32 bytes, and the
 * fast path touches nothing else. The term is Bonwick's ("Magazines and Vmem", 2001).
 *
 * Counting costs nothing extra: the low 16 bits of one word hold the room that is left, and the bits above hold the
 * number of slots handed out. An allocation adds one constant to the word, and a free subtracts 1.
 *
 * Threads: the holder of the heap. Reports read the count at any time. `head` is atomic for the compiler only: a fork
 * may cut a thread anywhere, and its child must find a whole list, so a push writes the link before the head. */
#ifndef TSLAB_CORE_MAGAZINE_H
#define TSLAB_CORE_MAGAZINE_H

#include "base/atomic.h"
#include "base/bits.h"
#include "os/fatal.h"

struct magazine {
    _Atomic(void *) head;
    uint64_t count;            /* low 16 bits: slots that still fit; above: slots handed out. Owned (atomic.h) */
    _Alignas(16) uint32_t tag; /* the tag of the slots that it accepts; changes only while it is empty */
};

enum { MAGAZINE_SERVED_SHIFT = 16, MAGAZINE_ROOM_MASK = 0xffff, MAGAZINE_POP = (1 << MAGAZINE_SERVED_SHIFT) + 1 };

always_inline void *magazine_head(const struct magazine *m)
{
    return load_plain(&m->head);
}

always_inline void magazine_set_head(struct magazine *m, void *p)
{
    store_plain(&m->head, p);
}

always_inline unsigned magazine_room(const struct magazine *m)
{
    return (unsigned)(m->count & MAGAZINE_ROOM_MASK);
}

always_inline void magazine_set_room(struct magazine *m, unsigned room)
{
    invariant(room <= MAGAZINE_ROOM_MASK);
    owned_set(&m->count, (m->count & ~(uint64_t)MAGAZINE_ROOM_MASK) | room);
}

/* The slots that the magazine has ever handed out. */
always_inline uint64_t magazine_served(const struct magazine *m)
{
    return m->count >> MAGAZINE_SERVED_SHIFT;
}

/* The word of a free slot that links it to the next one. */
always_inline void **slot_link(void *slot)
{
    return (void **)slot;
}

/* Pops `head`, which is the magazine's head and not NULL. */
always_inline void *magazine_pop(struct magazine *m, void *head)
{
    invariant(head != NULL && head == magazine_head(m));
    magazine_set_head(m, *slot_link(head));
    owned_add(&m->count, MAGAZINE_POP);
    return head;
}

/* Pushes a slot on `head`, the magazine's head. There is room. */
always_inline void magazine_push(struct magazine *m, void *head, void *slot)
{
    invariant(magazine_room(m) != 0);
    invariant(slot != NULL && head == magazine_head(m));
    *slot_link(slot) = head;
    store_release(&m->head, slot);
    owned_add(&m->count, (uint64_t)-1);
}

/* How many slots a magazine of the class holds at first and at most, and how many slots a refill links at first and at
 * most. */
uint16_t magazine_capacity_first(unsigned class);
uint16_t magazine_capacity_most(unsigned class);
uint16_t magazine_batch_first(unsigned class);
uint16_t magazine_batch_most(unsigned class);

#endif
