/* Shared by the storms. They call the functions of libtslab: linked with it alone, beside the system's malloc, and on
 * the drop-in, where those are malloc and its family. */
#ifndef STORM_H
#define STORM_H

#include "message.h"
#include "workers.h"

#include <errno.h>

#define STATUS(call, wanted)                                                                                           \
    do {                                                                                                               \
        const int status_found = (call);                                                                               \
        CHECK_SAY(status_found == (wanted), "%s: %s", #call, tslab_status_text(status_found));                         \
    } while (0)

/* Every thread of a storm has a small stack: thousands of large ones would hide what the heap weighs. */
enum { STORM_STACK_BYTES = 128 * 1024 };

static inline pthread_t storm_thread(void *(*body)(void *), void *argument, bool detached)
{
    pthread_attr_t attributes;
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, STORM_STACK_BYTES) == 0);
    CHECK(pthread_attr_setdetachstate(&attributes, detached ? PTHREAD_CREATE_DETACHED : PTHREAD_CREATE_JOINABLE) == 0);
    pthread_t thread;
    const int error = pthread_create(&thread, &attributes, body, argument);
    CHECK_SAY(error == 0, "no thread: %s", strerror(error));
    CHECK(pthread_attr_destroy(&attributes) == 0);
    return thread;
}

static inline void storm_threads(pthread_t *threads, size_t count, void *(*body)(void *), void *first, size_t step)
{
    for (size_t i = 0; i < count; i++) {
        threads[i] = storm_thread(body, (void *)((uintptr_t)first + i * step), false);
    }
}

static inline struct tslab_stats storm_stats(void)
{
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    return stats;
}

/* Messages that are in flight between threads: each takes out what another put in. */
enum { IN_FLIGHT = 256 };
static _Atomic(struct message *) in_flight[IN_FLIGHT];

static inline struct message *swap_in_flight(uint64_t *random, struct message *message)
{
    return atomic_exchange(&in_flight[below(random, IN_FLIGHT)], message);
}

static inline void free_in_flight(void)
{
    for (size_t i = 0; i < IN_FLIGHT; i++) {
        message_free(atomic_exchange(&in_flight[i], NULL));
    }
}

/* A program's own code, which neither allocates nor calls anybody. */
static inline void storm_compute(void)
{
    for (int i = 0; i < 300; i++) {
        __asm__ volatile("" : : : "memory");
    }
}

/* A short life of an epoch: some of its objects are freed one by one, the others end with it. */
static inline void live_in_an_epoch(uint64_t *random)
{
    const bool releases = below(random, 2) == 0;
    const struct tslab_epoch_options options = { .policy = releases ? TSLAB_POLICY_RELEASE : TSLAB_POLICY_DRAIN };
    const tslab_epoch epoch = tslab_epoch_open(&options);
    CHECK(epoch.id != 0);
    CHECK(tslab_epoch_enter(epoch) >= 0);
    for (size_t i = 0; i < 10; i++) {
        const size_t size = message_size(random);
        struct message *const message = message_fill(tslab_epoch_malloc(epoch, size), size, i);
        message_verify(message);
        if (!releases || i % 2 == 0) {
            message_free(message);
        }
    }
    void *lent;
    const tslab_handle handle = tslab_handle_malloc(epoch, message_size(random), &lent);
    CHECK(handle.id != 0 && tslab_handle_get(epoch, handle) == lent);
    CHECK(releases || tslab_handle_free(epoch, handle) == TSLAB_OK);
    STATUS(tslab_epoch_leave(epoch), TSLAB_OK);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
}

/* A block of any size is whole at both ends: to fill large ones is not what takes long. */
static inline void *ends_fill(void *p, size_t size, uint64_t seed)
{
    CHECK_SAY(p != NULL, "%zu bytes were refused", size);
    if (size <= 512) {
        pattern_fill(p, size, seed);
    } else {
        pattern_fill(p, 256, seed);
        pattern_fill((char *)p + size - 256, 256, seed);
    }
    return p;
}

static inline bool ends_hold(const void *p, size_t size, uint64_t seed)
{
    return size <= 512 ? pattern_holds(p, size, seed)
                       : pattern_holds(p, 256, seed) && pattern_holds((const char *)p + size - 256, 256, seed);
}

/* Two blocks of every size class, and some large ones. */
static inline void *use_every_size(void *unused)
{
    void *blocks[128][2];
    size_t sizes[128], n = 0;
    for (size_t size = 8; size < 400000; size += size < 33000 ? 8 + size / 8 : size) {
        CHECK(n < COUNT_OF(sizes));
        sizes[n] = size;
        blocks[n][0] = ends_fill(tslab_malloc(size), size, size);
        blocks[n][1] = tslab_calloc(1, size);
        CHECK(blocks[n][1] != NULL && (size > 33000 || all_zero(blocks[n][1], size)));
        ends_fill(blocks[n][1], size, size + 1);
        n++;
    }
    for (size_t i = 0; i < n; i++) {
        CHECK(ends_hold(blocks[i][0], sizes[i], sizes[i]));
        tslab_free(blocks[i][0]);
        CHECK(ends_hold(blocks[i][1], sizes[i], sizes[i] + 1));
        blocks[i][1] = tslab_realloc(blocks[i][1], sizes[i] / 2 + 1);
        CHECK(blocks[i][1] != NULL);
        tslab_free(blocks[i][1]);
    }
    return unused;
}

#endif
