/* Shared by storms of objects: messages that carry their own proof, rings to hand them on, and the reckoning at the
 * end. */
#ifndef MESSAGE_H
#define MESSAGE_H

#include "check.h"
#include "figures.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <tslab/tslab.h>

/* An object: after the header comes a pattern that follows from the seed. */
struct message {
    size_t size; /* all of it, at least that of the header */
    uint64_t seed;
};

static inline size_t below(uint64_t *random, size_t limit)
{
    return random_next(random) % limit;
}

/* Mostly small ones; some of every class; a few large ones. */
static inline size_t message_size(uint64_t *random)
{
    const size_t what = below(random, 1000);
    const size_t rest = what < 800   ? below(random, 240)
                        : what < 950 ? below(random, 2000)
                        : what < 998 ? below(random, 34000)
                                     : below(random, 300000);
    return sizeof(struct message) + rest;
}

static inline struct message *message_fill(void *p, size_t size, uint64_t seed)
{
    struct message *message = p;
    CHECK(message != NULL && tslab_usable_size(message) >= size);
    *message = (struct message){ size, seed };
    pattern_fill(message + 1, size - sizeof *message, seed);
    return message;
}

/* A new message, allocated in one of all ways. */
static inline struct message *message_new(uint64_t *random)
{
    const size_t size = message_size(random);
    const size_t way = below(random, 20);
    void *p;
    if (way == 0) {
        p = tslab_calloc(1, size);
        CHECK(p != NULL && all_zero(p, size));
    } else if (way == 1) {
        const size_t alignment = (size_t)16 << below(random, 11);
        p = tslab_aligned_alloc(alignment, size);
        CHECK((uintptr_t)p % alignment == 0);
    } else {
        p = tslab_malloc(size);
    }
    return message_fill(p, size, random_next(random));
}

static inline void message_verify(const struct message *message)
{
    CHECK_SAY(pattern_holds(message + 1, message->size - sizeof *message, message->seed), "%p was overwritten",
              (const void *)message);
}

static inline void message_free(struct message *message)
{
    if (message != NULL) {
        message_verify(message);
        tslab_free(message);
    }
}

static inline struct message *message_resize(struct message *message, uint64_t *random)
{
    const size_t size = message_size(random);
    const size_t kept = size < message->size ? size : message->size;
    struct message *const moved = tslab_realloc(message, size);
    CHECK(moved != NULL);
    CHECK(pattern_holds(moved + 1, kept - sizeof *moved, moved->seed));
    return message_fill(moved, size, random_next(random));
}

/* A ring of one producer and one consumer, who may change over time. */
enum { RING = 512 };
struct ring {
    struct message *items[RING];
    _Alignas(64) _Atomic size_t put;
    _Alignas(64) _Atomic size_t taken;
};

static inline bool ring_put(struct ring *ring, struct message *message)
{
    const size_t put = atomic_load_explicit(&ring->put, memory_order_relaxed);
    if (put - atomic_load_explicit(&ring->taken, memory_order_acquire) == RING) {
        return false;
    }
    ring->items[put % RING] = message;
    atomic_store_explicit(&ring->put, put + 1, memory_order_release);
    return true;
}

static inline struct message *ring_take(struct ring *ring)
{
    const size_t taken = atomic_load_explicit(&ring->taken, memory_order_relaxed);
    if (taken == atomic_load_explicit(&ring->put, memory_order_acquire)) {
        return NULL;
    }
    struct message *const message = ring->items[taken % RING];
    atomic_store_explicit(&ring->taken, taken + 1, memory_order_release);
    return message;
}

/* When all is freed, and no thread is left but the calling one: nothing lives, nothing is cached, every slab is back.
 */
static inline void check_all_is_back(unsigned threads)
{
    (void)tslab_trim();
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    CHECK_SAY(stats.live_objects == 0 && stats.allocations == stats.frees, "%zu objects live", stats.live_objects);
    CHECK_SAY(figure("slabs_opened") == figure("slabs_recycled") && stats.slab_bytes == 0, "%zu slabs are not recycled",
              (size_t)(figure("slabs_opened") - figure("slabs_recycled")));
    CHECK_SAY(stats.large_bytes == 0, "%zu bytes of large objects", stats.large_bytes);
    CHECK_SAY(stats.cached_bytes == 0, "%zu bytes are cached", stats.cached_bytes);
    CHECK_SAY(stats.dirty_bytes == 0, "%zu bytes are dirty", stats.dirty_bytes);
    CHECK_SAY(stats.threads == threads, "%zu threads", stats.threads);
}

#endif
