/* The count changes without the lock. The thread that changes it looks afterwards whether there is a keeper, and the
 * holder of the lock looks at the count again after it has changed that. So one of the two sees the other. */
#include "malloc/program_threads.h"

#include "common/option.h"
#include "epoch/scope.h"
#include "os/fatal.h"
#include "os/helper_thread.h"
#include "os/os.h"
#include "space/reclaim.h"
#include "thread/keeper.h"

#include <errno.h>

enum {
    STACK_BYTES = 128 << 10,
    LATELY_MS = 100, /* the time over which keepers that end are counted */
    LIVES_MOST = 8,  /* keepers that may end in that time. After so many, none begins for the rest of it */
};

struct program_threads program_threads = { .lock = LOCK_INIT(RANK_PROGRAM_THREADS),
                                           .create = pthread_create,
                                           .join = pthread_join };
per_thread bool program_threads_counts_me;

static bool is_kept(void)
{
    return load_seq_cst(&program_threads.is_kept) != 0;
}

enum keeper_wanted program_threads_keeper_wanted(void)
{
    /* A host that is built with ThreadSanitizer has no threads before that has started. Nothing is exported there. */
    const bool tells =
        (option_get(OPTION_EXPORT) | option_get(OPTION_BLACKBOX)) != 0 && (TSLAB_TSAN || !os_has_thread_sanitizer());
    return tells ? KEEPER_ALWAYS : (enum keeper_wanted)option_get(OPTION_KEEPER);
}

static bool should_be_kept(void)
{
    const enum keeper_wanted wanted = program_threads_keeper_wanted();
    const uint32_t least = wanted == KEEPER_ALWAYS ? 1 : 2;
    return wanted != KEEPER_NEVER && load_seq_cst(&program_threads.threads) >= least &&
           load_plain(&program_threads.is_barred) == 0 && load_plain(&program_threads.is_over) == 0 && !TSLAB_SIM;
}

/* To begin and end a keeper takes longer than to make and join a few threads. Beside threads that come and go so fast,
 * it would have nothing to do. */
static bool comes_and_goes(void)
{
    return load_plain(&program_threads.lives_lately) >= LIVES_MOST &&
           os_ms_since(load_plain(&program_threads.lately_ms)) < LATELY_MS;
}

static void count_life(void)
{
    invariant(lock_is_held(&program_threads.lock));
    if (os_ms_since(load_plain(&program_threads.lately_ms)) >= LATELY_MS) {
        store_plain(&program_threads.lately_ms, os_now_ms());
        store_plain(&program_threads.lives_lately, 0);
    }
    store_plain(&program_threads.lives_lately, load_plain(&program_threads.lives_lately) + 1);
}

/* Whether the keeper has to begin or to end. */
static bool has_to_change(void)
{
    const bool should = should_be_kept();
    return should != is_kept() && !(should && comes_and_goes());
}

static bool create(size_t stack_bytes)
{
    pthread_attr_t attributes;
    invariant(load_plain(&keeper.is_asked_to_end) == 0 && load_plain(&reclaim_waits) == 0);
    if (pthread_attr_init(&attributes) != 0) {
        return false;
    }
    const bool done = (stack_bytes == 0 || pthread_attr_setstacksize(&attributes, stack_bytes) == 0) &&
                      program_threads.create(&program_threads.keeper, &attributes, keeper_run, NULL) == 0;
    (void)pthread_attr_destroy(&attributes);
    return done;
}

/* Memory that libc allocates for a thread is no object of an epoch. Programs with much thread-local memory need a
 * longer stack. Where there is no thread to be had, the process does without for now. */
static void start(void)
{
    struct thread *const thread = front_current->thread;
    invariant(lock_is_held(&program_threads.lock) && !is_kept());
    store_seq_cst(&program_threads.is_kept, 1);
    store_seq_cst(&reclaim_waits, 0); /* no thread naps any more */
    os_thread_comes();
    if (thread != NULL) {
        scope_pause(thread);
    }
    if (!create(STACK_BYTES) && !create(0)) {
        store_plain(&program_threads.is_barred, 1);
        store_seq_cst(&program_threads.is_kept, 0);
    }
    if (thread != NULL) {
        (void)scope_resume(thread);
    }
}

/* The calling thread may be cancelled, but not here. */
static void end(void)
{
    int cancelled;
    invariant(lock_is_held(&program_threads.lock) && is_kept());
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelled);
    keeper_ask_to_end();
    (void)program_threads.join(program_threads.keeper, NULL);
    helper_thread_wait(load_plain(&keeper.thread));
    keeper_is_gone();
    (void)pthread_setcancelstate(cancelled, NULL);
    store_seq_cst(&program_threads.is_kept, 0);
}

/* A signal handler that forks would wait for the lock of its own thread. The keeper is to have no signals, either. */
struct stay {
    struct os_signals signals;
    int saved;
};

static struct stay enter(void)
{
    struct stay stay = { .saved = errno };
    os_signals_hold(&stay.signals);
    lock_acquire(&program_threads.lock);
    return stay;
}

static void leave(struct stay stay)
{
    while (has_to_change()) {
        if (is_kept()) {
            end();
            count_life();
        } else {
            start();
        }
    }
    invariant(lock_is_held(&program_threads.lock));
    lock_release(&program_threads.lock);
    os_signals_restore(&stay.signals);
    errno = stay.saved;
}

void program_threads_settle(void)
{
    if (has_to_change()) {
        leave(enter());
    }
}

void program_threads_grow(void)
{
    invariant(load_plain(&program_threads.threads) < UINT32_MAX);
    if (fetch_add_seq_cst(&program_threads.threads, 1) <= 1) {
        store_plain(&program_threads.is_barred, 0);
    }
}

void program_threads_shrink(void)
{
    const uint32_t before = fetch_sub_seq_cst(&program_threads.threads, 1);
    invariant(before != 0);
    (void)before;
    program_threads_settle();
}

void program_threads_clear(void)
{
    if (load_seq_cst(&program_threads.threads) == 1 && !is_kept()) {
        const struct stay stay = enter();
        if (load_seq_cst(&program_threads.threads) == 1 && !is_kept()) {
            keeper_look_last();
        }
        leave(stay);
    }
}

bool program_threads_make_room(void)
{
    if (!is_kept()) {
        return false;
    }
    const struct stay stay = enter();
    store_plain(&program_threads.is_barred, 1);
    leave(stay);
    return true;
}

void program_threads_is_gone(void)
{
    invariant(lock_is_held(&program_threads.lock) && load_plain(&program_threads.threads) >= program_threads_counts_me);
    store_plain(&program_threads.threads, program_threads_counts_me);
    store_plain(&program_threads.is_barred, 0);
    store_plain(&program_threads.is_kept, 0);
    store_plain(&program_threads.lives_lately, 0);
    keeper_is_gone();
}
