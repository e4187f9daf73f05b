// A ring of objects from one thread to one other. Either side looks at the other's index only when its own copy of it
// says that there is nothing left to do, so that the ring costs little beside what is measured.

#ifndef RING_H
#define RING_H

#include "pattern.h"

typedef struct {
    _Alignas(64) _Atomic uint32_t head; // next to take
    uint32_t tail_seen;
    _Alignas(64) _Atomic uint32_t tail; // next to put
    uint32_t head_seen;
    _Alignas(64) void **slots;
    uint32_t size; // a power of two
} ring;

static inline void ring_init(ring *r, uint64_t size)
{
    require(size != 0 && (size & (size - 1)) == 0, "the size of a ring must be a power of two");
    r->size = (uint32_t)size;
    r->slots = table_map(size * sizeof *r->slots);
}

// False: the ring is full.
static inline int ring_put(ring *r, void *object)
{
    uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    if (tail - r->head_seen == r->size) {
        r->head_seen = atomic_load_explicit(&r->head, memory_order_acquire);
        if (tail - r->head_seen == r->size) {
            return 0;
        }
    }
    r->slots[tail & (r->size - 1)] = object;
    atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
    return 1;
}

// NULL: the ring is empty.
static inline void *ring_take(ring *r)
{
    uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    if (head == r->tail_seen) {
        r->tail_seen = atomic_load_explicit(&r->tail, memory_order_acquire);
        if (head == r->tail_seen) {
            return NULL;
        }
    }
    void *object = r->slots[head & (r->size - 1)];
    atomic_store_explicit(&r->head, head + 1, memory_order_release);
    return object;
}

#endif
