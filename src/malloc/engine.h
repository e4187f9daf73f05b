/* The engine as a whole: whether it runs, and its start.
 *
 * It starts with the first allocation, or with the library's constructor if that comes first, and never stops. The next
 * allocation retries a start that failed for want of memory. Steps that succeeded are kept.
 *
 * Invariants: an engine that runs has an arena, and a last record set aside.
 *
 * Threads: any. `lock` is also held from before a fork until after it, so that nothing starts meanwhile. */
#ifndef TSLAB_MALLOC_ENGINE_H
#define TSLAB_MALLOC_ENGINE_H

#include "os/lock.h"

/* While a thread makes the key, all other threads, and what allocates inside of libc's function, borrow records as a
 * thread does whose end was noticed. */
enum key_state { KEY_NONE, KEY_IN_MAKING, KEY_MADE };

struct engine {
    struct lock lock;
    atomic_u32 running;
    atomic_u32 dying; /* 1: a thread is ending the program, perhaps in the middle of a slow operation */
    atomic_u32 key;   /* of the ends of threads: an enum key_state */
    bool has_options;
    uint64_t started_ms; /* for reports; before `running` is set */
};

extern struct engine engine;

/* Starts the engine, if that has not happened. False: no memory. */
bool engine_start_slow(void);

static inline bool engine_start(void)
{
    return load_acquire(&engine.running) != 0 || engine_start_slow();
}

/* Reads the options, if that has not happened and there is an environment. Writes nothing, because it runs under the
 * lock. */
void engine_load_options(char *const *environment);

#endif
