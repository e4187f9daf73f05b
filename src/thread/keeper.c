/* The keeper sets NAPS before it looks, so a thread that frees memory after the look wakes it. It sets SLEEPS before it
 * reads the request to end. The thread that asks stores the request, then wakes it. */
#include "thread/keeper.h"

#include "common/trace.h"
#include "os/fatal.h"
#include "os/helper_thread.h"
#include "os/os.h"
#include "slab/epoch_record.h"
#include "slab/holes.h"
#include "space/depot.h"
#include "space/limit.h"
#include "space/reclaim.h"
#include "thread/exchange.h"
#include "thread/idle.h"
#include "thread/resting.h"
#include "thread/thread.h"

enum {
    HEAPS_AT_ONCE = 64, /* heaps that the keeper looks at in one step */
};

struct keeper keeper = { .lock = LOCK_INIT(RANK_KEEPER) };

static bool is_to_end(void)
{
    return load_seq_cst(&keeper.is_asked_to_end) != 0 || (keeper.nap_is_over != NULL && keeper.nap_is_over());
}

/* Looks at the heaps of some records, from the given one on, and empties those that are idle. The list of all records
 * only grows. Returns the next record, or NULL at the end. */
static struct thread *look_at_heaps(struct thread *thread, bool *left)
{
    invariant(lock_is_held(&keeper.lock));
    for (unsigned i = 0; thread != NULL && i < HEAPS_AT_ONCE; thread = thread->made_before, i++) {
        invariant(thread->heap.epoch == &epoch_process);
        if (lock_try(&thread->gate.lock)) {
            *left |= idle_look(&thread->heap);
            keeper.waits |= idle_may_take(&thread->heap);
            lock_release(&thread->gate.lock);
        }
    }
    return thread;
}

/* Repeats a step with the lock until it is done. A fork comes in between two steps, and so does the end. */
static void repeat(bool (*step)(bool first))
{
    bool first = true;
    bool goes_on = true;
    while (goes_on && !is_to_end()) {
        lock_acquire(&keeper.lock);
        goes_on = step(first);
        lock_release(&keeper.lock);
        first = false;
    }
}

static bool give_trays_back(bool first)
{
    (void)first;
    return exchange_step();
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
    size_t purged = 0;
    (void)first;
    return epoch_purge_idle(&purged);
}

static bool purge_trays(bool first)
{
    invariant(first);
    (void)tray_purge();
    return false;
}

bool keeper_look(bool sweeps)
{
    bool left = false;
    struct thread *thread = load_acquire(&registry.made);
    invariant(!lock_is_held(&keeper.lock) || os_has_threads());
    counter_add(&keeper.looks, 1);
    keeper.waits = false;
    while (thread != NULL && !is_to_end()) {
        lock_acquire(&keeper.lock);
        thread = look_at_heaps(thread, &left);
        lock_release(&keeper.lock);
    }
    if (!is_to_end()) {
        lock_acquire(&keeper.lock);
        left |= exchange_look(os_now_ms());
        left |= resting_tick(os_now_ms());
        lock_release(&keeper.lock);
    }
    repeat(give_trays_back);
    repeat(purge_some);
    if (sweeps) {
        repeat(sweep_some);
        repeat(purge_records);
        repeat(purge_trays);
    }
    return left || (counter_get(&depot.units[RUN_DIRTY]) != 0 && !reclaim_is_refused());
}

bool keeper_nap(bool (*is_over)(void), bool *swept)
{
    uint32_t waits = 0;
    if (!lock_try(&keeper.lock)) {
        return true;
    }
    invariant(is_over != NULL && keeper.nap_is_over == NULL && !front_current->thread->gate.is_inside);
    keeper.nap_is_over = is_over;
    lock_release(&keeper.lock);
    const bool is_new = cas_seq_cst(&reclaim_waits, &waits, RECLAIM_NAPS);
    bool left = keeper_look(false) || is_new;
    *swept = *swept && !is_new;
    if (!left && !*swept) {
        left = keeper_look(true);
        *swept = true;
    }
    keeper.nap_is_over = NULL;
    return left || keeper.waits;
}

void keeper_look_last(void)
{
    lock_acquire(&keeper.lock);
    exchange_tick(true);
    lock_release(&keeper.lock);
    repeat(purge_some);
}

static bool nap(uint32_t most_ms)
{
    invariant(most_ms != 0);
    os_futex_wait(&keeper.is_asked_to_end, 0, most_ms);
    return !is_to_end();
}

/* Sleeps until a slow operation comes. Others may ask for something meanwhile. */
static bool sleep_until_woken(void)
{
    uint32_t naps = RECLAIM_NAPS;
    if (!cas_seq_cst(&reclaim_waits, &naps, RECLAIM_SLEEPS)) {
        return true;
    }
    if (!is_to_end()) {
        os_futex_wait(&reclaim_waits, RECLAIM_SLEEPS, trace_is_watched() ? LOOK_MS : 0);
    }
    return load_seq_cst(&reclaim_waits) != RECLAIM_SLEEPS;
}

/* False: it is to end. */
static bool nap_and_report(void)
{
    store_seq_cst(&reclaim_waits, RECLAIM_NAPS);
    limit_nap(nap, LOOK_MS);
    if (is_to_end()) {
        return false;
    }
    invariant(front_current->thread == NULL || !front_current->thread->gate.is_inside);
    helper_thread_follow();
    trace_from_keeper();
    return true;
}

/* It has a record only where a library that wraps pthread_create allocates in each new thread. */
void *keeper_run(void *unused)
{
    bool swept = false;
    invariant(os_has_threads() && (front_current->thread == NULL || !front_current->thread->gate.is_inside));
    store_plain(&keeper.thread, os_thread_id());
    store_plain(&reclaim_is_kept, 1);
    if (helper_thread_make("tslab-keeper", trace_is_watched() ? trace.keeps : -1)) {
        limit_watch_container();
    }
    trace_from_keeper();
    while (nap_and_report()) {
        const bool waited = keeper.waits;
        bool left = keeper_look(false);
        const bool is_wanted = load_seq_cst(&reclaim_waits) != RECLAIM_NAPS;
        swept = swept && !is_wanted && keeper.waits == waited;
        if (!is_wanted && !left && !swept) {
            left = keeper_look(true);
            swept = true;
        }
        if (!left && !keeper.waits && sleep_until_woken()) {
            swept = false;
        }
    }
    return unused;
}

void keeper_ask_to_end(void)
{
    invariant(load_plain(&keeper.is_asked_to_end) == 0);
    invariant(!lock_is_held(&keeper.lock) || os_has_threads());
    store_seq_cst(&keeper.is_asked_to_end, 1);
    os_futex_wake_one(&keeper.is_asked_to_end);
    reclaim_wake();
}

void keeper_is_gone(void)
{
    invariant(load_plain(&reclaim_waits) <= RECLAIM_SLEEPS);
    store_plain(&reclaim_waits, 0);
    limit_forget_container();
    store_plain(&reclaim_is_kept, 0);
    store_plain(&keeper.is_asked_to_end, 0);
}
