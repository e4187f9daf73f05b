/* The engine as a whole: whether it runs, and its start.
 *
 * It starts with the first allocation, or with the library's constructor if that comes first, and never stops. A start
 * that fails for want of memory is tried again by the next allocation; steps that succeeded are kept.
 *
 * Threads: any. `lock` is also held from before a fork until after it, so that nothing starts meanwhile. */
#ifndef TSLAB_CORE_ENGINE_H
#define TSLAB_CORE_ENGINE_H

#include "os/lock.h"

struct engine {
    struct lock lock;
    atomic_u32 running;
    atomic_u32 dying; /* 1: a thread is ending the program, perhaps in the middle of a slow operation */
    bool has_options;
};

extern struct engine engine;

/* Starts the engine where that has not happened; false: no memory. */
bool engine_start_slow(void);

static inline bool engine_start(void)
{
    return load_acquire(&engine.running) != 0 || engine_start_slow();
}

/* Reads the options, if that has not happened and there is an environment. In silence, for it may be under the lock. */
void engine_load_options(char *const *environment);

#endif
