/* The keeper announces that it naps before it looks, so that what a thread leaves after the look wakes it. */
#include "core/keeper.h"

#include "core/depot.h"
#include "core/due.h"
#include "core/epoch.h"
#include "core/exchange.h"
#include "core/holes.h"
#include "core/limit.h"
#include "core/option.h"
#include "core/reclaim.h"
#include "core/thread.h"
#include "core/timeline.h"
#include "os/fatal.h"
#include "os/os.h"

#include <errno.h>
#include <pthread.h>

enum {
    KEEP_MS = 250,
    KEEP_UNITS_MIN = (4 << 20) / UNIT_BYTES, /* units in use that make a keeper worth its stack */
    HEAPS_AT_ONCE = 64,                      /* heaps that the keeper looks at in one step */
    STACK_BYTES = 128 << 10,
};

struct keeper keeper = { .lock = LOCK_INIT(RANK_KEEPER) };

/* Looks at the heaps of some records, from the given one on, and empties those that are idle. The list of all records
 * only grows. Returns the next record, or NULL at the end. */
static struct thread *look_at_heaps(struct thread *thread, bool *left)
{
    invariant(lock_is_held(&keeper.lock));
    for (unsigned i = 0; thread != NULL && i < HEAPS_AT_ONCE; thread = thread->made_before, i++) {
        invariant(thread->heap.epoch == &epoch_process);
        if (lock_try(&thread->gate.lock)) {
            *left |= heap_flush_idle(&thread->heap);
            lock_release(&thread->gate.lock);
        }
    }
    return thread;
}

/* Repeats a step with the lock until it is done. A fork comes in between two steps. */
static void repeat(bool (*step)(bool first))
{
    bool first = true;
    bool goes_on = true;
    while (goes_on) {
        lock_acquire(&keeper.lock);
        goes_on = step(first);
        lock_release(&keeper.lock);
        first = false;
    }
}

static bool purge_some(bool first)
{
    invariant(lock_is_held(&keeper.lock));
    (void)first;
    return reclaim_due();
}

static bool sweep_some(bool first)
{
    size_t purged = 0;
    return holes_step(first, &purged) && !reclaim_is_refused();
}

static bool purge_records(bool first)
{
    (void)first;
    return epoch_purge_idle();
}

bool keeper_look(bool sweeps)
{
    bool left = false;
    struct thread *thread = load_acquire(&registry.made);
    invariant(!lock_is_held(&keeper.lock) || os_has_threads());
    counter_add(&keeper.looks, 1);
    while (thread != NULL) {
        lock_acquire(&keeper.lock);
        thread = look_at_heaps(thread, &left);
        lock_release(&keeper.lock);
    }
    lock_acquire(&keeper.lock);
    limit_look_at_container(os_now_ms());
    left |= exchange_look(os_now_ms());
    lock_release(&keeper.lock);
    repeat(purge_some);
    if (sweeps) {
        repeat(sweep_some);
        repeat(purge_records);
    }
    return left || (counter_get(&depot.units[RUN_DIRTY]) != 0 && !reclaim_is_refused());
}

static _Noreturn void *keep(void *unused)
{
    static atomic_u32 nap; /* always 0 */
    bool swept = false;
    (void)unused;
    invariant(load_plain(&keeper.state) == KEEPER_STARTED);
    os_name_thread("tslab-keeper");
    for (;;) {
        store_seq_cst(&reclaim_waits, RECLAIM_NAPS);
        os_futex_wait(&nap, 0, KEEP_MS);
        due_write_without_record();
        timeline_sample_if_due();
        uint32_t naps = RECLAIM_NAPS;
        bool left = keeper_look(false);
        if (load_seq_cst(&reclaim_waits) != naps) {
            swept = false;
        } else if (!left && !swept) {
            left = keeper_look(true);
            swept = true;
        }
        if (!left && cas_seq_cst(&reclaim_waits, &naps, RECLAIM_SLEEPS)) {
            os_futex_wait(&reclaim_waits, RECLAIM_SLEEPS, due_is_armed() ? KEEP_MS : 0);
            swept = load_seq_cst(&reclaim_waits) == RECLAIM_SLEEPS;
        }
    }
}

static bool create(size_t stack_bytes)
{
    pthread_attr_t attributes;
    pthread_t thread;
    invariant(load_plain(&keeper.state) == KEEPER_STARTED);
    if (pthread_attr_init(&attributes) != 0) {
        return false;
    }
    const bool done = pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0 &&
                      (stack_bytes == 0 || pthread_attr_setstacksize(&attributes, stack_bytes) == 0) &&
                      pthread_create(&thread, &attributes, keep, NULL) == 0;
    (void)pthread_attr_destroy(&attributes);
    return done;
}

noinline void keeper_start(void)
{
    uint32_t none = KEEPER_NONE;
    if (TSLAB_SIM || option_get(OPTION_KEEPER) == 0 ||
        (counter_get(&depot.units[RUN_USED]) < KEEP_UNITS_MIN && !due_is_armed()) ||
        !cas_acquire(&keeper.state, &none, KEEPER_STARTED)) {
        return;
    }
    const int saved = errno;
    struct os_signals signals;
    os_signals_hold(&signals);
    /* Programs with much thread-local memory need a longer stack. Where there is no thread to be had, there is none
     * later: the process does without. */
    (void)(create(STACK_BYTES) || create(0));
    os_signals_restore(&signals);
    errno = saved;
}

void keeper_is_gone(void)
{
    invariant(lock_is_held(&keeper.lock) && os_has_threads());
    store_plain(&keeper.state, KEEPER_NONE);
    store_plain(&keeper.is_in_child, 1);
    store_plain(&reclaim_waits, 0);
}
