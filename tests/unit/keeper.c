/* The keeper: who gets one, what a look gives back of threads that are idle, and what it leaves alone. tests/company
 * has the view of a program on the drop-in. */
#include "child.h"
#include "company.h"
#include "engine.h"
#include "faults.h"

#include "space/reclaim.h"
#include "thread/cache_budget.h"
#include "thread/exchange.h"
#include "thread/keeper.h"
#include "thread/nap.h"
#include "thread/thread.h"

#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <tslab/tslab.h>

enum { OBJECTS = 40000, OBJECT_BYTES = 500, PATIENCE_MS = 60000 };

/* The number of threads of this process that have the name. */
static unsigned threads_named(const char *name)
{
    unsigned count = 0;
    DIR *const tasks = opendir("/proc/self/task");
    CHECK(tasks != NULL);
    for (const struct dirent *task; (task = readdir(tasks)) != NULL;) {
        char path[64], line[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", task->d_name);
        FILE *const file = task->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (file != NULL) {
            CHECK(fgets(line, sizeof line, file) != NULL);
            fclose(file);
            line[strcspn(line, "\n")] = 0;
            count += strcmp(line, name) == 0;
        }
    }
    closedir(tasks);
    return count;
}

static void wait_until(bool (*holds)(void), const char *what)
{
    for (unsigned ms = 0; !holds(); ms += 10) {
        CHECK_SAY(ms < PATIENCE_MS, "it does not come to that: %s", what);
        usleep(10000);
    }
}

/* Allocates and frees some MiB. */
static void burst(void)
{
    void **const objects = keep(tslab_malloc(OBJECTS * sizeof *objects));
    for (size_t i = 0; i < OBJECTS; i++) {
        objects[i] = keep(tslab_malloc(OBJECT_BYTES));
        memset(objects[i], 1, OBJECT_BYTES);
    }
    for (size_t i = 0; i < OBJECTS; i++) {
        tslab_free(objects[i]);
    }
    tslab_free(objects);
    void *const large = keep(tslab_malloc(600000));
    memset(large, 1, 600000);
    tslab_free(large);
}

/* Another thread that has a burst, and then is idle until it is told to end. */
static struct {
    pthread_t thread;
    pthread_barrier_t bursts, ends;
} other;

/* Few enough that the heap keeps some beside its magazine. */
static void fill_kept(void)
{
    void *objects[600];
    for (unsigned i = 0; i < COUNT_OF(objects); i++) {
        objects[i] = keep(tslab_malloc(OBJECT_BYTES));
    }
    for (unsigned i = 0; i < COUNT_OF(objects); i++) {
        tslab_free(objects[i]);
    }
}

static uint64_t kept_slots(const struct heap *heap)
{
    return counter_get(&heap_class_of(heap, class_of_size(OBJECT_BYTES))->kept_slots);
}

static void *be_idle(void *unused)
{
    burst();
    fill_kept();
    (void)pthread_barrier_wait(&other.bursts);
    (void)pthread_barrier_wait(&other.ends);
    return unused;
}

static void begin_other(void)
{
    CHECK(pthread_barrier_init(&other.bursts, NULL, 2) == 0 && pthread_barrier_init(&other.ends, NULL, 2) == 0);
    make_counted(&other.thread, be_idle, NULL);
    (void)pthread_barrier_wait(&other.bursts);
}

static void end_other(void)
{
    (void)pthread_barrier_wait(&other.ends);
    CHECK(pthread_join(other.thread, NULL) == 0);
}

static bool has_keeper(void)
{
    return threads_named("tslab-keeper") == 1;
}

/* The slots that lie in the exchange. */
static size_t exchanged(void)
{
    size_t slots = 0;
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        slots += exchange_slots(c);
    }
    return slots;
}

static bool keeper_sleeps(void)
{
    return load_plain(&reclaim_waits) == RECLAIM_SLEEPS;
}

static size_t dirty(void)
{
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    return stats.dirty_bytes;
}

IN_A_CHILD(one_thread_gets_none)
{
    burst();
    burst();
    CHECK(TSLAB_TSAN || !has_keeper()); /* ThreadSanitizer has a thread of its own */
}

IN_A_CHILD(threads_get_one)
{
    const size_t before = os_resident_bytes();
    burst();
    begin_other();
    burst();
    wait_until(has_keeper, "there is a keeper");
    wait_until(keeper_sleeps, "the keeper has nothing to do");
    CHECK_SAY(TSLAB_TSAN || os_resident_bytes() < before + 4 * MIB, "%zu bytes became %zu", before,
              os_resident_bytes());
    CHECK(dirty() == 0);
    burst();
    wait_until(keeper_sleeps, "the keeper was woken, and sleeps again");
    CHECK(dirty() == 0);
    end_other();
    CHECK(TSLAB_TSAN || (!has_keeper() && load_plain(&reclaim_waits) == 0));
}

/* A thread that ends leaves its slots to others. Where only one is left, nobody may ever come by for them. */
IN_A_CHILD(the_last_to_end_leaves_nothing)
{
    begin_other();
    end_other();
    CHECK_SAY(exchanged() == 0, "%zu slots are left in the exchange", exchanged());
}

static void *never_allocate(void *unused)
{
    (void)pthread_barrier_wait(&other.ends);
    return unused;
}

/* A server's main thread does all the work, and its helpers never allocate. */
IN_A_CHILD(the_only_one_that_allocates_is_not_alone)
{
    CHECK(pthread_barrier_init(&other.ends, NULL, 2) == 0);
    make_counted(&other.thread, never_allocate, NULL);
    burst();
    burst();
    wait_until(has_keeper, "there is a keeper");
    wait_until(keeper_sleeps, "the keeper has nothing to do");
    CHECK(dirty() == 0 && counter_get(&heap_live_count) == 1);
    end_other();
}

IN_A_CHILD(the_option_says_no)
{
    option_values[OPTION_KEEPER] = 0;
    begin_other();
    burst();
    CHECK(!has_keeper());
    end_other();
}

/* A system that refuses threads to the library, so often. */
static unsigned refusals, creations;

static int refuse(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *), void *argument)
{
    creations++;
    if (refusals != 0) {
        refusals--;
        return EAGAIN;
    }
    return pthread_create(thread, attributes, routine, argument);
}

IN_A_CHILD(where_no_thread_is_to_be_had)
{
    program_threads.create = refuse;
    refusals = 1; /* a second try, with libc's own stack, succeeds */
    begin_other();
    CHECK(creations == 2 && load_plain(&program_threads.is_kept) != 0);
    end_other();
    CHECK(load_plain(&program_threads.is_kept) == 0 && load_plain(&program_threads.threads) == 1);
    refusals = UINT_MAX;
    begin_other();
    CHECK(creations == 4 && load_plain(&program_threads.is_kept) == 0);
    program_threads_settle(); /* it is not tried again and again */
    burst();
    CHECK(creations == 4 && !program_threads_make_room());
    refusals = 0;
    program_threads_settle();
    CHECK(creations == 4);
    end_other();
    begin_other(); /* another time, another try */
    CHECK(creations == 5 && load_plain(&program_threads.is_kept) != 0);
    /* The program is refused one: the keeper ends, and none comes while there are threads. */
    CHECK(program_threads_make_room() && load_plain(&program_threads.is_kept) == 0 && !program_threads_make_room());
    program_threads_settle();
    CHECK(creations == 5 && load_plain(&program_threads.is_kept) == 0);
    end_other();
    begin_other();
    CHECK(creations == 6);
    end_other();
}

/* The child of a fork has none, and gets one as any process does. */
IN_A_CHILD_IF(!TSLAB_TSAN, a_child_gets_its_own)
{
    begin_other();
    burst();
    wait_until(has_keeper, "there is a keeper");
    const pid_t child = fork();
    if (child == 0) {
        CHECK(!has_keeper());
        burst();
        CHECK(!has_keeper());
        begin_other();
        burst();
        wait_until(has_keeper, "the child has a keeper");
        end_other();
        _exit(0);
    }
    child_ends_well(child);
    end_other();
}

/* Signals of the program's never run on the keeper. */
IN_A_CHILD(it_takes_no_signals)
{
    begin_other();
    burst();
    wait_until(has_keeper, "there is a keeper");
    char path[64], line[128];
    DIR *const tasks = opendir("/proc/self/task");
    uint64_t blocked = 0;
    CHECK(tasks != NULL);
    for (const struct dirent *task; (task = readdir(tasks)) != NULL;) {
        snprintf(path, sizeof path, "/proc/self/task/%.20s/status", task->d_name);
        FILE *const file = task->d_name[0] == '.' ? NULL : fopen(path, "r");
        bool is_keeper = false;
        while (file != NULL && fgets(line, sizeof line, file) != NULL) {
            is_keeper |= strstr(line, "tslab-keeper") != NULL;
            if (is_keeper && strncmp(line, "SigBlk:", 7) == 0) {
                blocked = strtoull(line + 7, NULL, 16);
            }
        }
        if (file != NULL) {
            fclose(file);
        }
    }
    closedir(tasks);
    for (int signal = 1; signal < 32; signal++) {
        CHECK_SAY(signal == SIGKILL || signal == SIGSTOP || (blocked >> (signal - 1) & 1) != 0, "signal %d", signal);
    }
    end_other();
}

/* The slots of the fullest magazine. */
static unsigned most_slots(const struct heap *heap)
{
    unsigned most = 0;
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        most = (unsigned)max_size(most, magazine_slots(&heap->front.magazine[c]));
    }
    return most;
}

/* A look, with a clock of the test's and no thread that looks meanwhile. */
IN_A_CHILD(a_look_empties_idle_heaps)
{
    inject_nothing();
    os_calls.now_ms = test_clock;
    option_values[OPTION_KEEPER] = 0;
    begin_other();
    const struct heap *const idle = &registry.live->heap;
    CHECK(registry.live != front_current->thread && kept_slots(idle) != 0 && hot_runs_units(&idle->hot) != 0);
    CHECK(keeper_look(false)); /* it was not seen before */
    CHECK(kept_slots(idle) != 0 && hot_runs_units(&idle->hot) != 0);
    clock_ms += 300;
    CHECK(keeper_look(false));
    CHECK(kept_slots(idle) == 0 && hot_runs_units(&idle->hot) == 0);
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        CHECK(heap_class_of(idle, c)->slab == NULL);
    }
    clock_ms += 300;
    (void)keeper_look(false);
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        CHECK(class_geometry[c].shares_lines || exchange_slots(c) == 0);
    }
    clock_ms += option_get(OPTION_PURGE_DELAY_MS) + 1;
    CHECK(!keeper_look(false) && dirty() == 0);
    CHECK(most_slots(idle) > 1 && keeper.waits);
    for (unsigned looks = 0; looks < 3; looks++, clock_ms += 4000) {
        (void)keeper_look(false);
    }
    CHECK(most_slots(idle) == 1 && !keeper.waits && cache_budget_taken() < 8 * MIB);
    end_other();
}

/* Of a magazine whose slots were never handed out, the keeper takes some. Freed ones in their place are no zeros. */
IN_A_CHILD(what_a_look_leaves_serves_on)
{
    enum { HELD = 40 };
    unsigned char *held[HELD];
    inject_nothing();
    os_calls.now_ms = test_clock;
    option_values[OPTION_KEEPER] = 0;
    for (size_t bytes = 16; bytes <= 8192; bytes *= 2) {
        for (unsigned i = 0; i < HELD; i++) {
            held[i] = memset(keep(tslab_malloc(bytes)), 1, bytes);
        }
        for (unsigned looks = 0; looks < 3; looks++, clock_ms += 4000) {
            (void)keeper_look(false);
        }
        CHECK(most_slots(&front_current->thread->heap) <= 1);
        for (unsigned i = 0; i < HELD; i++) {
            tslab_free(held[i]);
            held[i] = keep(tslab_calloc(1, bytes));
            for (size_t byte = 0; byte < bytes; byte++) {
                CHECK(held[i][byte] == 0);
            }
            memset(held[i], 1, bytes);
        }
        for (unsigned i = 0; i < HELD; i++) {
            tslab_free(held[i]);
        }
    }
}

/* A heap that is used between two looks keeps what it has. */
IN_A_CHILD(a_look_leaves_busy_heaps)
{
    inject_nothing();
    os_calls.now_ms = test_clock;
    option_values[OPTION_KEEPER] = 0;
    burst();
    const struct heap *const heap = &front_current->thread->heap;
    (void)keeper_look(false);
    for (unsigned i = 0; i < 10; i++) {
        tslab_free(keep(tslab_malloc(3 * MIB)));
        fill_kept();
        const uint64_t slots = kept_slots(heap);
        CHECK(slots != 0 && keeper_look(false) && kept_slots(heap) == slots);
    }
}

/* Pages between scattered survivors. */
IN_A_CHILD(a_sweep_purges_around_survivors)
{
    inject_nothing();
    os_calls.now_ms = test_clock;
    option_values[OPTION_KEEPER] = 0;
    static void *objects[OBJECTS];
    for (size_t i = 0; i < OBJECTS; i++) {
        objects[i] = keep(tslab_malloc(OBJECT_BYTES));
        memset(objects[i], 1, OBJECT_BYTES);
    }
    const size_t full = os_resident_bytes();
    for (size_t i = 0; i < OBJECTS; i++) {
        if (i % 100 != 0) {
            tslab_free(objects[i]);
        }
    }
    for (unsigned i = 0; i < 4; i++, clock_ms += 1000) {
        (void)keeper_look(false);
    }
    (void)keeper_look(true);
    CHECK_SAY(os_resident_bytes() + 12 * MIB < full, "%zu became %zu", full, os_resident_bytes());
    for (size_t i = 0; i < OBJECTS; i += 100) {
        CHECK(((const char *)objects[i])[OBJECT_BYTES - 1] == 1);
        tslab_free(objects[i]);
    }
}

static enum signals_came nap_alone(void)
{
    return nap_take(&(struct sleeper){ .count = 0 });
}

static void burst_of_slots(unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        burst();
    }
}

static size_t dirty_bytes(void)
{
    return (size_t)counter_get(&depot.units[RUN_DIRTY]) << UNIT_SHIFT;
}

/* Young memory stays, as it does for the keeper. When nothing is left there are no naps until a slow operation. */
IN_A_CHILD(naps_give_back_what_is_old)
{
    inject_nothing();
    os_calls.now_ms = test_clock;
    clock_ms += 5000;
    option_values[OPTION_KEEPER] = 0;
    CHECK(nap_wait_ms() == UINT64_MAX);
    nap_allow();
    burst_of_slots(2);
    CHECK(nap_wait_ms() == 0 && dirty_bytes() > 2 * MIB);
    CHECK(nap_alone() == SIGNALS_NONE && dirty_bytes() > MIB && nap_wait_ms() == 250);
    clock_ms += 200;
    CHECK(nap_wait_ms() == 50);
    for (unsigned i = 0; i < 30; i++, clock_ms += 250) {
        (void)nap_alone();
    }
    CHECK(dirty_bytes() == 0 && nap_wait_ms() == UINT64_MAX);
    burst_of_slots(2);
    nap_is_in_child();
    clock_ms += 250;
    CHECK(nap_wait_ms() == 0);
    option_values[OPTION_PURGE] = PURGE_NEVER;
    CHECK(nap_wait_ms() == UINT64_MAX);
    option_values[OPTION_PURGE] = PURGE_ADAPTIVE;
    CHECK(nap_wait_ms() == 0);
    nap_forbid();
    CHECK(nap_wait_ms() == UINT64_MAX);
}

/* A signal ends it, and so does a file that is ready. */
static volatile sig_atomic_t came;
static void note(int signal)
{
    came = signal;
}

IN_A_CHILD(a_nap_ends_for_signals_and_files)
{
    inject_nothing();
    os_calls.now_ms = test_clock;
    clock_ms += 5000;
    option_values[OPTION_KEEPER] = 0;
    nap_allow();
    burst_of_slots(2);
    (void)nap_alone();
    clock_ms += 5000;
    const size_t dirty = dirty_bytes();
    struct pollfd file = { 1 << 20, POLLIN, 0 }; /* there is no such file, so nothing would wait for it */
    CHECK(nap_take(&(struct sleeper){ .files = &file, .count = 1 }) == SIGNALS_NONE && dirty_bytes() == dirty);
    CHECK(nap_wait_ms() == 250);
    clock_ms += 250;
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGUSR1);
    struct sigaction action = { .sa_handler = note, .sa_flags = SA_RESTART };
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0 && sigprocmask(SIG_BLOCK, &set, NULL) == 0);
    CHECK(raise(SIGUSR1) == 0 && memory_is_readable(&set, sizeof set) && !memory_is_readable(NULL, sizeof set));
    CHECK(signals_came(0) == SIGNALS_RESTART && signals_came(UINT64_MAX) == SIGNALS_NONE && came == 0);
    CHECK(nap_alone() == SIGNALS_NONE && dirty_bytes() < dirty && came == 0);
    CHECK(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0 && came == SIGUSR1);
}
