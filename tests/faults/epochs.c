/* Every call of the operating system that epochs make fails in turn, once or from then on. A failure is reported
 * cleanly, nothing is lost, and afterwards all works again. */
#include "epoch.h"
#include "turns.h"

#include "common/option.h"
#include "figures.h"
#include "space/arena.h"
#include "space/trap.h"

#include <sched.h>

/* The work: epochs of every policy, in and beside an instance, with objects of every kind, on two threads. */

enum { EPOCHS = 12, EACH = 150 };

struct object {
    void *p;
    size_t size;
    tslab_handle handle;
};

struct life {
    tslab_epoch epoch; /* {0}: it was refused */
    enum tslab_policy policy;
    uint64_t random;
    size_t alive;
    struct object objects[EACH];
};

static struct life lives[EPOCHS];
static size_t refused;

/* Whether it was granted; if not, for want of memory. */
static bool granted(bool yes)
{
    CHECK_SAY(yes || errno == ENOMEM, "%s", strerror(errno));
    refused += !yes;
    return yes;
}

static void open_life(size_t i, tslab_instance instance)
{
    static const enum tslab_policy policies[] = { TSLAB_POLICY_DRAIN, TSLAB_POLICY_RELEASE, TSLAB_POLICY_TRAP };
    struct life *const life = &lives[i];
    *life = (struct life){ .policy = policies[i % COUNT_OF(policies)], .random = i + 1 };
    errno = 0;
    life->epoch = tslab_epoch_open(
        &(struct tslab_epoch_options){ .label = "life", .policy = life->policy, .instance = instance });
    (void)granted(life->epoch.id != 0);
}

static void drop_object(struct life *life, struct object *object)
{
    if (object->p == NULL) {
        return;
    }
    verify(object->p, object->size, object->size);
    if (object->handle.id != 0) {
        CHECK(tslab_handle_get(life->epoch, object->handle) == object->p);
        STATUS(tslab_handle_free(life->epoch, object->handle), TSLAB_OK);
    } else {
        tslab_free(object->p);
    }
    object->p = NULL;
    life->alive--;
}

static void allocate_object(struct life *life, struct object *object)
{
    void *p = NULL;
    *object = (struct object){ .size = some_size(&life->random) };
    if (below(&life->random, EACH) == 0) {
        object->size = MEGABYTE + below(&life->random, 3 * MEGABYTE);
    }
    errno = 0;
    const size_t way = below(&life->random, 8);
    if (way == 0 && object->size <= 32 * KILOBYTE) {
        object->handle = tslab_handle_malloc(life->epoch, object->size, &p);
        CHECK((p != NULL) == (object->handle.id != 0));
    } else if (way == 1) {
        p = tslab_epoch_aligned_alloc(life->epoch, 1024, object->size);
    } else {
        p = tslab_epoch_malloc(life->epoch, object->size);
    }
    if (granted(p != NULL)) {
        object->p = fill(p, object->size, object->size);
        CHECK(same(tslab_epoch_of(p), life->epoch));
        life->alive++;
    }
}

static void resize_object(struct life *life, struct object *object)
{
    if (object->p == NULL || object->handle.id != 0) {
        return;
    }
    const size_t size = some_size(&life->random);
    errno = 0;
    void *const p = tslab_realloc(object->p, size);
    /* Refused or not, the contents are there. */
    verify(p == NULL ? object->p : p, p == NULL || object->size < size ? object->size : size, object->size);
    if (granted(p != NULL)) {
        object->p = fill(p, size, size);
        object->size = size;
    }
}

static void *live(void *argument)
{
    struct life *const life = argument;
    const int entered = tslab_epoch_enter(life->epoch);
    CHECK(entered >= 0 || entered == TSLAB_NO_MEMORY);
    refused += entered < 0;
    for (size_t i = 0; i < EACH; i++) {
        allocate_object(life, &life->objects[i]);
        resize_object(life, &life->objects[below(&life->random, i + 1)]);
        if (i % 3 == 0) {
            drop_object(life, &life->objects[below(&life->random, i + 1)]);
        }
    }
    if (entered >= 0) {
        leave(life->epoch);
    }
    ALIVE(life->epoch, life->alive);
    return NULL;
}

static size_t purged_bytes(void)
{
    return figure("purged_bytes");
}

static void close_life(struct life *life, unsigned how)
{
    for (size_t i = 0; i < EACH; i++) {
        if (life->objects[i].p != NULL) {
            verify(life->objects[i].p, life->objects[i].size, life->objects[i].size);
        }
    }
    struct tslab_epoch_report report;
    const size_t purged_before = purged_bytes();
    STATUS(tslab_epoch_close(life->epoch, how, &report), TSLAB_OK);
    CHECK_SAY(report.reclaimed_bytes <= purged_bytes() - purged_before, "%llu bytes are said to be reclaimed, not %zu",
              (unsigned long long)report.reclaimed_bytes, purged_bytes() - purged_before);
    CHECK_SAY(report.survivors == life->alive, "%llu survive, not %zu", (unsigned long long)report.survivors,
              life->alive);
    if (life->policy == TSLAB_POLICY_DRAIN) {
        for (size_t i = 0; i < EACH; i++) {
            drop_object(life, &life->objects[i]);
        }
    }
    check_gone(life->epoch);
}

/* A long block, whose pages go back with its epoch. */
static void live_long(void)
{
    enum { LONG_BYTES = 16 << 20 };
    for (int i = 0; i < 2; i++) {
        const tslab_epoch epoch = tslab_epoch_open(NULL);
        if (granted(epoch.id != 0)) {
            char *const p = tslab_epoch_malloc(epoch, LONG_BYTES);
            if (granted(p != NULL)) {
                p[0] = p[LONG_BYTES - 1] = 1;
            }
            STATUS(tslab_epoch_release(epoch, TSLAB_CLOSE_RECLAIM, NULL), TSLAB_OK);
        }
    }
}

static size_t work(void)
{
    refused = 0;
    errno = 0;
    live_long();
    const tslab_instance instance = tslab_instance_open("instance");
    (void)granted(instance.id != 0);
    for (size_t i = 0; i < EPOCHS; i++) {
        open_life(i, i % 2 == 0 ? instance : (tslab_instance){ 0 });
        if (lives[i].epoch.id == 0) {
            continue;
        }
        if (i % 4 == 0) {
            in_a_thread(live, &lives[i]);
        } else {
            (void)live(&lives[i]);
        }
        if (i % 2 == 1) {
            close_life(&lives[i], i % 3 == 0 ? TSLAB_CLOSE_RECLAIM : 0);
        }
    }
    if (instance.id != 0) {
        STATUS(tslab_instance_close(instance, TSLAB_CLOSE_RECLAIM, NULL), TSLAB_OK);
    } else {
        /* Those that were opened without it are in the default one. */
        for (size_t i = 0; i < EPOCHS; i += 2) {
            if (lives[i].epoch.id != 0) {
                close_life(&lives[i], 0);
            }
        }
    }
    CHECK(tslab_epoch_list(NULL, 0) == 0);
    return refused;
}

/* Works with failures, then without. */
static void run_turn(const struct turn *turn)
{
    alarm(HANG_SECONDS);
    turn_begins(turn);
    const size_t refused_then = work();
    turn_ends(turn);
    CHECK_SAY(!is_hint(turn->call) || refused_then == 0, "%zu were refused", refused_then);
    CHECK_SAY(work() == 0, "it does not work again");
    check_nothing_is_lost();
}

static void fail_in_turn(enum call call, unsigned least, unsigned most)
{
    for (int once = 0; once < 2; once++) {
        struct turn turn = { .call = call, .once = once != 0, .run = run_turn };
        turns(&turn, least, EPOCH_SANITIZED ? most / 8 : most, 1, 4);
    }
}

TEST(a_refused_commit)
{
    fail_in_turn(PLACE, 5, 100);
    fail_in_turn(COMMIT, GUARDED ? 1 : 0, 100);
}

TEST(a_refused_mapping)
{
    fail_in_turn(MAP, 0, 20);
}

TEST(a_refused_purge)
{
    fail_in_turn(PURGE, 5, 200);
}

TEST(a_refused_trap)
{
    fail_in_turn(FORBID, 5, 100);
}

TEST(a_clock_that_cannot_be_trusted)
{
    fail_in_turn(CLOCK, 5, 50);
}

/* An epoch is closed while a thread is inside, and lives on for its survivors. Units of work end by time. */

static void close_from_outside(void *epoch)
{
    STATUS(tslab_epoch_close(*(tslab_epoch *)epoch, 0, NULL), TSLAB_PENDING);
}

static void check_times(tslab_epoch epoch)
{
    const uint64_t long_ms = (uint64_t)200 * 366 * 24 * 3600 * 1000; /* more than the clock is wrong by */
    const struct tslab_epoch_stats stats = stats_of(epoch);
    CHECK_SAY(stats.age_ms < long_ms && stats.closed_ms < long_ms, "it is %llu ms old, and closed for %llu ms",
              (unsigned long long)stats.age_ms, (unsigned long long)stats.closed_ms);
}

CASE(live_by_a_wrong_clock)
{
    option_values[OPTION_EPOCH_POLICY] = (uint64_t)1 << CHOICE_SHIFT | WORK_INTERVAL;
    struct helper helper;
    helper_start(&helper);
    inject(CLOCK, 0, UINT32_MAX);
    for (int i = 0; i < 20; i++) {
        tslab_epoch epoch = opened();
        enter(epoch);
        void *const p = filled(epoch, 100, 1);
        helper_does(&helper, close_from_outside, &epoch);
        check_times(epoch);
        leave(epoch);
        check_times(epoch);
        verify_and_free(p, 100, 1);
        check_gone(epoch);
        STATUS(tslab_work_begin("unit"), TSLAB_OK);
        tslab_free(filled(tslab_epoch_current(), 100, 1));
        STATUS(tslab_work_end(), TSLAB_OK);
    }
    helper_ends(&helper);
    option_values[OPTION_EPOCH_POLICY] = WORK_NEVER;
    tslab_work_rotate();
    STATUS(tslab_work_begin("unit"), TSLAB_OK);
    STATUS(tslab_work_end(), TSLAB_OK);
}

/* The kernel may refuse when it has done a part, and refuse to take that back. */

static unsigned halves;
static bool commits;

static bool forbid_half(void *start, size_t bytes)
{
    if (++halves % 2 == 0) {
        return real.forbid(start, bytes);
    }
    (void)real.forbid(start, bytes / 2);
    note_site(FORBID, SITE);
    return false;
}

static bool commit_perhaps(void *start, size_t bytes)
{
    if (!commits && halves % 4 == 1) {
        note_site(COMMIT, SITE);
        errno = ENOMEM;
        return false;
    }
    return real.commit(start, bytes);
}

CASE(forbid_by_halves)
{
    inject_nothing();
    for (int round = 0; round < 4; round++) {
        os_calls.forbid = forbid_half;
        os_calls.commit = commit_perhaps;
        commits = round % 2 == 0;
        const size_t refused_then = work();
        CHECK(!commits || refused_then == 0);
        CHECK(halves > 0);
    }
    inject_nothing();
    CHECK(work() == 0);
    check_nothing_is_lost();
}

/* A trap ends when so many others came after it. Where the kernel has no memory for its end, it is not forgotten. */
static void trap_many(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const tslab_epoch epoch = opened_as(NULL, TSLAB_POLICY_TRAP);
        void *const p = tslab_epoch_malloc(epoch, 100);
        CHECK(granted(p != NULL));
        STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    }
}

static const void *trap_one(void)
{
    const tslab_epoch epoch = opened_as(NULL, TSLAB_POLICY_TRAP);
    const void *const p = tslab_epoch_malloc(epoch, 100);
    CHECK(p != NULL);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    return p;
}

CASE(traps_end_in_their_order)
{
    const void *const first = trap_one(), *const second = trap_one();
    trap_many(TRAP_RUNS - 3);
    const void *const last = trap_one();
    CHECK(!is_readable(first) && !is_readable(second) && !is_readable(last));
    const void *const next = trap_one();
    CHECK(is_readable(first));
    CHECK(!is_readable(second) && !is_readable(last) && !is_readable(next));
}

CASE(end_no_trap)
{
    CHECK(work() == 0);
    trap_many(TRAP_RUNS);
    const size_t trapped = counter_get(&trap_units);
    inject(COMMIT, 0, UINT32_MAX);
    trap_many(TRAP_RUNS / 2);
    /* The checked library has nothing else to do with what it cannot make accessible. */
    CHECK_SAY(GUARDED || counter_get(&trap_units) == trapped, "%zu units were trapped, now %zu", trapped,
              counter_get(&trap_units));
    inject_nothing();
    trap_many(2 * TRAP_RUNS);
    CHECK_SAY(counter_get(&trap_units) == trapped, "%zu units were trapped, in the end %zu", trapped,
              counter_get(&trap_units));
    check_nothing_is_lost();
}

/* An allocation fails in the epoch that is about to be closed, and is served outside of it: by another block, of which
 * nothing is known that was known of the first. */

enum { RACE_BYTES = 1 << 20, RACES = 4096 };

static tslab_epoch raced;
static atomic_int race; /* 1: the arena wants to grow; 2: the epoch is closed; 3: the other thread may end */

static void await_race(int step)
{
    while (atomic_load(&race) != step) {
        (void)sched_yield();
    }
}

static void *close_when_it_grows(void *unused)
{
    await_race(1);
    STATUS(tslab_epoch_close(raced, 0, NULL), TSLAB_PENDING);
    atomic_store(&race, 2);
    await_race(3);
    return unused;
}

static enum os_placed place_nothing(void *start, size_t bytes, enum os_access access)
{
    note_site(PLACE, SITE);
    if (atomic_load(&race) == 0) {
        atomic_store(&race, 1);
        await_race(2);
    }
    errno = ENOMEM;
    return OS_NO_MEMORY;
}

CASE(clear_after_a_failure)
{
    pthread_t closer;
    CHECK(pthread_create(&closer, NULL, close_when_it_grows, NULL) == 0);
    inject_nothing();
    char *const hot = tslab_malloc(RACE_BYTES);
    CHECK(hot != NULL);
    memset(hot, 0xaa, RACE_BYTES);
    raced = opened_as(NULL, TSLAB_POLICY_DRAIN);
    CHECK(tslab_epoch_enter(raced) >= 0);
    tslab_free(hot);
    os_calls.place = place_nothing;
    static char *blocks[RACES];
    size_t n = 0;
    while (atomic_load(&race) == 0) {
        CHECK(n < RACES);
        blocks[n++] = tslab_calloc(1, RACE_BYTES);
    }
    const char *const last = blocks[n - 1];
    CHECK(atomic_load(&race) == 2 && (GUARDED || last != NULL));
    for (size_t i = 0; last != NULL && i < RACE_BYTES; i++) {
        CHECK_SAY(last[i] == 0, "byte %zu is %#x", i, (unsigned)last[i]);
    }
    inject_nothing();
    while (n > 0) {
        tslab_free(blocks[--n]);
    }
    STATUS(tslab_epoch_leave(raced), TSLAB_OK);
    atomic_store(&race, 3);
    CHECK(pthread_join(closer, NULL) == 0);
    check_nothing_is_lost();
}

/* Records that the system does not take stay as they are. */
CASE(keep_records)
{
    enum { RECORDS = 300 };
    static tslab_epoch epochs[RECORDS];
    inject(PURGE, 0, UINT32_MAX);
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < RECORDS; i++) {
            const tslab_epoch before = epochs[i];
            epochs[i] = tslab_epoch_open(NULL);
            CHECK(epochs[i].id != 0);
            CHECK(before.id == 0 || tslab_epoch_enter(before) == TSLAB_STALE);
        }
        for (unsigned i = 0; i < RECORDS; i++) {
            STATUS(tslab_epoch_close(epochs[i], 0, NULL), TSLAB_OK);
        }
        (void)tslab_trim();
    }
    CHECK(calls_made[PURGE] != 0);
    inject_nothing();
    CHECK(work() == 0);
    check_nothing_is_lost();
}
