/* Every call of the operating system fails in turn, once or from then on. What fails is refused cleanly, nothing is
 * lost, and afterwards all works again. */
#include "faults.h"
#include "child.h"
#include "engine.h"

#include "core/guard.h"
#include "core/thread.h"
#include "core/trap.h"

#include <pthread.h>
#include <sched.h>
#include <tslab/tslab.h>

/* A sanitizer does not know the child of a process of several threads. */
#if defined __has_feature
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED 0
#endif

/* The objects of the test. */
enum { OBJECTS = 600 };
static struct {
    char *start;
    size_t size;
} objects[OBJECTS];
static size_t refused;

/* Keeps what an allocation returned, or counts that it was refused. */
static char *keep_object(size_t i, char *p, size_t size)
{
    if (p == NULL) {
        CHECK(errno == ENOMEM);
        refused++;
        return NULL;
    }
    CHECK(tslab_usable_size(p) >= size);
    pattern_fill(p, size, i);
    objects[i].start = p;
    objects[i].size = size;
    return p;
}

static void allocate(size_t i)
{
    static const size_t sizes[] = { 1, 16, 64, 80, 200, 1000, 3000, 8000, 16000, 32000, 33000, 70000, 200000 };
    const size_t size = sizes[i % COUNT_OF(sizes)] + i % 7;
    errno = 0;
    if (i % 5 == 3) {
        char *const p = tslab_calloc(1, size);
        CHECK(p == NULL || all_zero(p, size));
        (void)keep_object(i, p, size);
    } else if (i % 5 == 4) {
        const size_t alignment = (size_t)16 << (i % 13);
        char *const p = tslab_aligned_alloc(alignment, size);
        CHECK((uintptr_t)p % alignment == 0);
        (void)keep_object(i, p, size);
    } else {
        (void)keep_object(i, tslab_malloc(size), size);
    }
}

static void reallocate(size_t i)
{
    if (objects[i].start != NULL) {
        const size_t size = i % 2 == 0 ? objects[i].size * 2 + 1 : objects[i].size / 3 + 1;
        errno = 0;
        char *const p = tslab_realloc(objects[i].start, size);
        /* Refused or not, the contents are there. */
        CHECK(pattern_holds(p == NULL ? objects[i].start : p, min_size(size, objects[i].size), i));
        CHECK(p != NULL || pattern_holds(objects[i].start, objects[i].size, i));
        (void)keep_object(i, p, size);
    }
}

static void release(size_t i)
{
    if (objects[i].start != NULL) {
        CHECK(pattern_holds(objects[i].start, objects[i].size, i));
        errno = 4711;
        tslab_free(objects[i].start);
        CHECK(errno == 4711);
        objects[i].start = NULL;
    }
}

static void *in_a_thread(void *argument)
{
    (void)argument;
    /* A thread that gets no memory for its record has nothing to free. */
    char *p = tslab_malloc(100);
    if (p != NULL) {
        tslab_free(p);
    } else {
        refused++;
    }
    return NULL;
}

static size_t work(size_t count)
{
    refused = 0;
    for (size_t i = 0; i < count; i++) {
        allocate(i);
        if (i % 3 == 0) {
            reallocate(i / 2);
        }
        if (i % 4 == 0) {
            release(i / 3);
        }
        if (i % 64 == 0) {
            pthread_t thread;
            CHECK(pthread_create(&thread, NULL, in_a_thread, NULL) == 0);
            CHECK(pthread_join(thread, NULL) == 0);
        }
        if (i % 512 == 100) {
            (void)tslab_trim();
        }
    }
    for (size_t i = 0; i < count; i++) {
        release(i);
    }
    return refused;
}

static void check_nothing_is_lost(void)
{
    (void)tslab_trim();
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    CHECK_SAY(stats.live_objects == 0, "%zu objects are lost", stats.live_objects);
    CHECK_SAY(stats.slabs_opened == stats.slabs_recycled && stats.slab_bytes == 0, "slabs are lost");
    CHECK_SAY(stats.large_bytes == 0, "%zu bytes of large objects are lost", stats.large_bytes);
    CHECK(stats.cached_bytes == 0);
    CHECK(stats.dirty_bytes == 0);
    CHECK(stats.allocations == stats.frees);
    CHECK(stats.clean_bytes + (1 + stat_get(&trap_units)) * UNIT_BYTES == arena.used_units * UNIT_BYTES);
}

/* An arena that does not fill up. */
#define ROOMY (8 * GIB)

struct plan {
    enum call call;
    unsigned from;
    bool once;
    bool refuses; /* a NULL is expected, once at least */
    size_t arena_bytes;
    size_t count;
};

/* Works with failures, then without. Exit code 2: the call that should fail was never made. */
static void run_plan(const void *argument)
{
    const struct plan *plan = argument;
    live_in_arena_of(plan->arena_bytes);
    inject(plan->call, plan->from, plan->once ? plan->from + 1 : UINT32_MAX);
    const size_t refused_then = work(plan->count);
    if (calls_made[plan->call] <= plan->from) {
        _exit(2);
    }
    /* Later failures may find enough that was freed before. */
    CHECK_SAY(!plan->refuses || plan->from > 0 || refused_then > 0, "nothing was refused");
    inject_nothing();
    CHECK_SAY(!is_hint(plan->call) || plan->arena_bytes != ROOMY || refused_then == 0, "%zu were refused",
              refused_then);
    /* With a small arena, small objects may find no room even without failures. */
    if (plan->arena_bytes == ROOMY) {
        CHECK_SAY(work(plan->count) == 0, "it does not work again");
    }
    check_nothing_is_lost();
}

/* Lets the calls of a kind fail from the first on, from the second on, and so on until there are no more of them, or
 * `most` were tried. */
static void fail_in_turn(struct plan plan, unsigned least, unsigned most, unsigned stride)
{
    unsigned tried = 0;
    for (plan.from = 0; plan.from < most * stride; plan.from += stride) {
        const struct child child = child_run(run_plan, &plan);
        assert_string_equal(child.said, "");
        assert_true(WIFEXITED(child.status));
        if (WEXITSTATUS(child.status) == 2) {
            break;
        }
        assert_int_equal(WEXITSTATUS(child.status), 0);
        tried++;
    }
    assert_true(tried >= least);
}

static size_t most_reserved;

static void *reserve_little(size_t bytes)
{
    return bytes > most_reserved ? NULL : real.reserve(bytes);
}

static void reserve_in_vain(const void *argument)
{
    (void)argument;
    inject(RESERVE, 0, UINT32_MAX);
    arena = (struct arena){ .units = NULL };
    CHECK(!arena_start(TIB));
    CHECK(calls_made[RESERVE] > 10); /* smaller and smaller ones */
    errno = 0;
    CHECK(tslab_malloc(1) == NULL && errno == ENOMEM);
    errno = 4711;
    tslab_free(NULL);
    CHECK(errno == 4711 && tslab_trim() == 0);
    /* What the kernel grants is taken. */
    inject_nothing();
    os_calls.reserve = reserve_little;
    most_reserved = GIB;
    CHECK(arena_start(TIB));
    CHECK(arena.reserved_units * UNIT_BYTES <= GIB && arena.reserved_units * UNIT_BYTES >= GIB / 4);
    inject_nothing();
    CHECK(work(OBJECTS) == 0);
    check_nothing_is_lost();
}

static void a_refused_reservation(void **state)
{
    (void)state;
    child_succeeds(reserve_in_vain, NULL, "");
}

static void a_refused_commit(void **state)
{
    (void)state;
    fail_in_turn((struct plan){ .call = COMMIT, .once = true, .arena_bytes = ROOMY, .count = OBJECTS }, 8, 9, 1);
    fail_in_turn((struct plan){ .call = COMMIT, .refuses = true, .arena_bytes = ROOMY, .count = OBJECTS }, 8, 9, 1);
}

static bool commit_little(void *start, size_t bytes)
{
    return bytes <= MIB && real.commit(start, bytes);
}

static void commit_in_small_steps(const void *argument)
{
    (void)argument;
    inject_nothing();
    os_calls.commit = commit_little;
    CHECK_SAY(work(OBJECTS) == 0, "%zu allocations were refused", refused);
    inject_nothing();
    check_nothing_is_lost();
}

/* When memory is short, what is asked for may fit where a step in advance does not. */
static void a_commit_of_a_step_is_no_condition(void **state)
{
    (void)state;
    child_succeeds(commit_in_small_steps, NULL, "");
}

static void a_refused_mapping(void **state)
{
    (void)state;
    /* Large objects that do not fit a small arena. Between guard pages they are reserved. */
    const enum call call = GUARDED ? RESERVE : MAP;
    fail_in_turn((struct plan){ .call = call, .once = true, .arena_bytes = 4 * MIB, .count = OBJECTS }, 5, 8, 5);
    fail_in_turn((struct plan){ .call = call, .arena_bytes = 4 * MIB, .count = OBJECTS }, 5, 8, 5);
    if (GUARDED) {
        fail_in_turn((struct plan){ .call = COMMIT, .once = true, .arena_bytes = 4 * MIB, .count = OBJECTS }, 5, 8, 5);
        fail_in_turn((struct plan){ .call = COMMIT, .arena_bytes = 4 * MIB, .count = OBJECTS }, 5, 8, 5);
    }
}

/* Guard pages, and what is trapped. */
static void a_refused_guard(void **state)
{
    (void)state;
    fail_in_turn((struct plan){ .call = FORBID, .once = true, .arena_bytes = ROOMY, .count = OBJECTS }, 5, 8, 11);
    fail_in_turn((struct plan){ .call = FORBID, .arena_bytes = ROOMY, .count = OBJECTS }, 5, 8, 11);
}

static void a_refused_purge(void **state)
{
    (void)state;
    fail_in_turn((struct plan){ .call = PURGE, .once = true, .arena_bytes = ROOMY, .count = OBJECTS }, 4, 6, 3);
    fail_in_turn((struct plan){ .call = PURGE, .arena_bytes = ROOMY, .count = OBJECTS }, 4, 6, 3);
}

enum { THREADS = 100, EACH = OBJECTS / THREADS };

static pthread_barrier_t barrier;
static atomic_int threads_refused;
static atomic_int forks;
static bool forks_without_record;

/* The child has a record for the fork, and memory afterwards. */
static void fork_and_work(size_t i)
{
    const pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        inject_nothing();
        for (size_t at = i; at < i + EACH; at++) {
            tslab_free(keep(tslab_malloc(100)));
        }
        _exit(0);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

/* Each thread has a share of the objects to free, whether it has a record or not. */
static void *allocate_twice(void *argument)
{
    const size_t first = (size_t)(uintptr_t)argument * EACH;
    void *p = tslab_malloc(100);
    CHECK(p != NULL || errno == ENOMEM);
    CHECK(p != NULL || tslab_usable_size(p) == 0);
    tslab_free(NULL);
    atomic_fetch_add(&threads_refused, p == NULL);
    for (size_t i = first; i < first + EACH; i++) {
        CHECK(objects[i].start == NULL || tslab_usable_size(objects[i].start) >= objects[i].size);
        release(i);
    }
    pthread_barrier_wait(&barrier); /* all have tried, none has ended */
    if (p == NULL && forks_without_record && atomic_fetch_add(&forks, 1) < 3) {
        fork_and_work(first);
    }
    pthread_barrier_wait(&barrier); /* and now there is memory again */
    if (p == NULL) {
        p = tslab_malloc(100);
    }
    CHECK(p != NULL);
    tslab_free(p);
    return NULL;
}

/* More threads at once than there is memory for their records. */
static void threads_without_records(const void *argument)
{
    forks_without_record = argument != NULL;
    live_in_arena_of(4 * MIB); /* large objects are blocks of their own */
    pthread_t threads[THREADS];
    for (size_t i = 0; i < OBJECTS; i++) {
        allocate(i);
    }
    CHECK(pthread_barrier_init(&barrier, NULL, THREADS + 1) == 0);
    inject(MAP, 0, UINT32_MAX);
    for (size_t i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, allocate_twice, (void *)(uintptr_t)i) == 0);
    }
    pthread_barrier_wait(&barrier);
    CHECK_SAY(atomic_load(&threads_refused) > THREADS / 2, "%d threads have no record", atomic_load(&threads_refused));
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    CHECK(stats.threads < THREADS / 2);
    inject_nothing();
    pthread_barrier_wait(&barrier);
    for (size_t i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    check_nothing_is_lost();
}

static void no_memory_for_a_thread(void **state)
{
    (void)state;
    child_succeeds(threads_without_records, NULL, "");
    if (!SANITIZED) {
        child_succeeds(threads_without_records, "and forks", "");
    }
}

/* Mappings that the kernel does not take back lose their pages at once, and their addresses when it does. */
static void unmap_in_vain(const void *argument)
{
    (void)argument;
    enum { BLOCKS = SANITIZED ? 50 : 200, BYTES = 1 << 20 };
    live_in_arena_of(4 * MIB);
    inject_nothing();
    tslab_free(keep(tslab_malloc(8 * MIB))); /* has the table and the thread's record made */
    const size_t before = bytes_mapped;
    for (size_t i = 0; i < BLOCKS; i++) {
        (void)keep_object(i, tslab_malloc(5 * MIB), BYTES);
    }
    const size_t most = resident_kib();
    inject(UNMAP, 0, UINT32_MAX);
    for (size_t i = 0; i < BLOCKS; i++) {
        release(i);
    }
    CHECK(resident_kib() + BLOCKS * (BYTES / 1024) * 9 / 10 < most);
    CHECK(bytes_mapped >= before + BLOCKS * (size_t)BYTES);
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    CHECK(stats.large_bytes == 0);
    inject_nothing();
    tslab_free(keep(tslab_malloc(8 * MIB)));
    CHECK_SAY(bytes_mapped <= before + 64 * KIB, "%zu bytes stay mapped", bytes_mapped - before);
}

static bool keep_pages(void *start, size_t bytes)
{
    (void)start;
    (void)bytes;
    note_site(PURGE, SITE);
    return false;
}

/* Neither the mapping nor its pages, nor a place in the table of those that there are. */
static void map_in_vain(const void *argument)
{
    (void)argument;
    live_in_arena_of(4 * MIB);
    inject_nothing();
    tslab_free(keep(tslab_malloc(1))); /* has the thread's record made */
    const size_t before = bytes_mapped;
    inject(MAP, calls_made[MAP] + 1, calls_made[MAP] + 2);
    errno = 0;
    CHECK(tslab_malloc(8 * MIB) == NULL && errno == ENOMEM && bytes_mapped == before);
    char *const p = keep_object(0, tslab_malloc(8 * MIB), 1000);
    inject(UNMAP, 0, UINT32_MAX);
    os_calls.purge = keep_pages;
    release(0);
    inject_nothing();
    char *const q = keep_object(0, tslab_malloc(8 * MIB), 1000);
    CHECK(q != NULL && p != NULL);
    release(0);
    CHECK_SAY(bytes_mapped <= before + 64 * KIB, "%zu bytes stay mapped", bytes_mapped - before);
}

static void a_refused_unmapping(void **state)
{
    (void)state;
    if (!GUARDED) {
        child_succeeds(unmap_in_vain, NULL, "");
        child_succeeds(map_in_vain, NULL, "");
    }
    fail_in_turn((struct plan){ .call = UNMAP, .once = true, .arena_bytes = 4 * MIB, .count = OBJECTS }, 5, 8, 5);
    fail_in_turn((struct plan){ .call = UNMAP, .arena_bytes = 4 * MIB, .count = OBJECTS }, 5, 8, 5);
}

static void a_clock_that_cannot_be_trusted(void **state)
{
    (void)state;
    fail_in_turn((struct plan){ .call = CLOCK, .once = true, .arena_bytes = ROOMY, .count = OBJECTS }, 8, 9, 7);
    fail_in_turn((struct plan){ .call = CLOCK, .arena_bytes = ROOMY, .count = OBJECTS }, 8, 9, 7);
}

static void *take_and_let_go(void *lock)
{
    for (int i = 0; i < 100; i++) {
        lock_acquire(lock);
        lock_release(lock);
    }
    return NULL;
}

/* Threads that cannot sleep while they wait for a lock, for the kernel does not let them, get it all the same. */
static void wait_in_vain(const void *argument)
{
    const enum call call = *(const enum call *)argument;
    enum { WAITING = 4 };
    pthread_t threads[WAITING];
    static struct lock lock = LOCK_INIT(RANK_DEPOT);
    inject(call, 0, UINT32_MAX);
    lock_acquire(&lock);
    for (size_t i = 0; i < WAITING; i++) {
        CHECK(pthread_create(&threads[i], NULL, take_and_let_go, &lock) == 0);
    }
    while (atomic_load(&lock.word) == 1) { /* held, and nobody waits */
        sched_yield();
    }
    lock_release(&lock);
    for (size_t i = 0; i < WAITING; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    CHECK(calls_made[call] > 0);
    CHECK(atomic_load(&lock.word) == 0);
}

static void a_futex_that_does_not_work(void **state)
{
    (void)state;
    static const enum call calls[] = { WAIT, WAKE };
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        child_succeeds(wait_in_vain, &calls[i], "");
    }
}

static void trim_in_vain(const void *argument)
{
    (void)argument;
    enum { BYTES = 4 << 20 };
    option_values[OPTION_RETAIN_BYTES] = 64 * MIB;
    option_values[OPTION_PURGE_DELAY_MS] = 3600 * 1000;
    char *const p = tslab_malloc(BYTES);
    CHECK(p != NULL);
    memset(p, 1, BYTES);
    tslab_free(p);
    inject(PURGE, 0, UINT32_MAX);
    const size_t refused_bytes = tslab_trim();
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    CHECK(stats.dirty_bytes >= BYTES && stats.purged_bytes == 0);
    CHECK_SAY(refused_bytes == 0, "a trim that gave back nothing returned %zu", refused_bytes);
    inject_nothing();
    CHECK(tslab_trim() >= BYTES);
    tslab_stats_get(&stats);
    CHECK(stats.dirty_bytes == 0 && stats.purged_bytes >= BYTES);
    /* The pages that the kernel kept were not handed out as zero. */
    char *const zero = tslab_calloc(1, BYTES);
    CHECK(zero != NULL && all_zero(zero, BYTES));
}

static void a_trim_counts_what_it_gave_back(void **state)
{
    (void)state;
    child_succeeds(trim_in_vain, NULL, "");
}

static void calloc_after_refused_purge(const void *argument)
{
    (void)argument;
    enum { BYTES = 1 << 20 };
    option_values[OPTION_RETAIN_BYTES] = 0;
    inject(PURGE, 0, UINT32_MAX);
    for (int i = 0; i < 20; i++) {
        char *const p = tslab_calloc(1, BYTES);
        CHECK(p != NULL && all_zero(p, BYTES));
        memset(p, 0xa5, BYTES);
        tslab_free(p);
    }
    CHECK(calls_made[PURGE] > 0);
}

static void memory_that_was_not_purged_is_not_zero(void **state)
{
    (void)state;
    child_succeeds(calloc_after_refused_purge, NULL, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_reservation),
        cmocka_unit_test(a_refused_commit),
        cmocka_unit_test(a_commit_of_a_step_is_no_condition),
        cmocka_unit_test(a_refused_mapping),
        cmocka_unit_test(a_refused_purge),
        cmocka_unit_test(a_refused_unmapping),
        cmocka_unit_test(a_clock_that_cannot_be_trusted),
        cmocka_unit_test(a_futex_that_does_not_work),
        cmocka_unit_test(memory_that_was_not_purged_is_not_zero),
    };
    /* The checked library has its records between guard pages, and gives memory back at once. */
    const struct CMUnitTest guarded[] = {
        cmocka_unit_test(a_refused_guard),
    };
    const struct CMUnitTest unguarded[] = {
        cmocka_unit_test(no_memory_for_a_thread),
        cmocka_unit_test(a_trim_counts_what_it_gave_back),
    };
    const int failed =
        GUARDED ? cmocka_run_group_tests(guarded, NULL, NULL) : cmocka_run_group_tests(unguarded, NULL, NULL);
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
