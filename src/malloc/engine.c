/* The start is a row of steps under one lock: options, diagnosis, arena, last record, process epoch, lists. */
#include "malloc/engine.h"

#include "audit/diagnosis.h"
#include "common/option.h"
#include "os/fatal.h"
#include "os/given.h"
#include "os/os.h"
#include "slab/partial_list.h"
#include "space/limit.h"
#include "thread/thread.h"

#include <unistd.h>

struct engine engine = { .lock = LOCK_INIT(RANK_START) };

void engine_load_options(char *const *environment)
{
    if (!engine.has_options && environment != NULL) {
        option_load(environment);
        engine.has_options = true;
    }
}

noinline bool engine_start_slow(void)
{
    os_learn();
    lock_acquire(&engine.lock);
    bool running = load_plain(&engine.running) != 0;
    if (!running) {
        /* Before libc's constructors there is no environ. The library's own constructor brings one. */
        engine_load_options(environ);
        diagnosis_start();
        running = (arena.span_units != 0 || arena_start(option_get(OPTION_ARENA_BYTES))) && thread_reserve_last();
        if (running) {
            const struct tslab_limits of_options = { .hard_bytes = option_get(OPTION_LIMIT_BYTES),
                                                     .soft_bytes = option_get(OPTION_SOFT_LIMIT_BYTES) };
            limit_set(&of_options);
            partial_lists_begin();
            invariant(epoch_is_open(&epoch_process));
            engine.started_ms = os_now_ms();
            store_release(&engine.running, 1);
        }
    }
    invariant(!running || (arena.span_units != 0 && registry.last != NULL));
    lock_release(&engine.lock);
    return running;
}
