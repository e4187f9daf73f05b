/* Objects in epochs: every size and alignment, whichever way the epoch keeps them; changing their size; where they
 * belong and who may free them; and what is refused. */
#include "epoch.h"

#include <stdint.h>

static const enum tslab_policy policies[] = { TSLAB_POLICY_DRAIN, TSLAB_POLICY_RELEASE, TSLAB_POLICY_REPORT,
                                              TSLAB_POLICY_TRAP };

/* Sizes: all small ones, then those around every multiple of a sixteenth of a power of two. */
static size_t next_size(size_t size)
{
    if (size < 2100) {
        return size + 1;
    }
    const size_t step = ((size_t)1 << (63 - __builtin_clzll(size))) / 16;
    return size % step == step - 1 || size % step == 0 ? size + 1 : size / step * step + step - 1;
}

static void check_size(tslab_epoch epoch, size_t size)
{
    unsigned char *const p = filled(epoch, size, size);
    const size_t usable = tslab_usable_size(p);
    /* The large ones end with a page; they begin at 16 KiB or so. */
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    CHECK_SAY(usable >= size && usable < size + size / 4 + 64 +
                                             (size > 32 * KILOBYTE ? UNIT
                                              : size > UNIT        ? page
                                                                   : 0),
              "%zu bytes are usable of %zu", usable, size);
    pattern_fill(p, usable, size); /* all of them */
    unsigned char *const zeroed = tslab_epoch_calloc(epoch, 1, size);
    CHECK(zeroed != NULL && all_zero(zeroed, size) && same(tslab_epoch_of(zeroed), epoch));
    pattern_fill(zeroed, tslab_usable_size(zeroed), size + 1);
    verify(p, usable, size);
    tslab_free(p);
    verify_and_free(zeroed, size, size + 1);
}

static void check_all_sizes(size_t largest)
{
    const tslab_epoch epoch = opened();
    enter(epoch);
    for (size_t size = 1; size <= largest; size = next_size(size)) {
        check_size(epoch, size);
    }
    ALIVE(epoch, 0);
    leave(epoch);
    for (size_t size = 1; size <= largest; size = next_size(size)) {
        check_size(epoch, size);
    }
    CHECK(stats_of(epoch).live_objects == 0 && stats_of(epoch).live_bytes == 0);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    check_gone(epoch);
}

static void any_size_is_served(void)
{
    check_all_sizes(EPOCH_SANITIZED ? 300000 : 8 * MEGABYTE);
}

static void large_sizes_are_served(void)
{
    static const size_t sizes[] = { (size_t)64 << 20, (size_t)300 << 20 };
    const tslab_epoch epoch = opened();
    for (size_t i = 0; i < COUNT_OF(sizes) - EPOCH_SANITIZED; i++) {
        char *const p = tslab_epoch_malloc(epoch, sizes[i]);
        CHECK(p != NULL && tslab_usable_size(p) >= sizes[i] && same(tslab_epoch_of(p), epoch));
        p[0] = p[sizes[i] - 1] = 1;
        CHECK(stats_of(epoch).live_objects == 1 && stats_of(epoch).live_bytes >= sizes[i]);
        CHECK(stats_of(epoch).memory_bytes >= sizes[i]);
        tslab_free(p);
        char *const zeroed = tslab_epoch_calloc(epoch, 1, sizes[i]);
        CHECK(zeroed != NULL && zeroed[0] == 0 && zeroed[sizes[i] - 1] == 0 && zeroed[sizes[i] / 2] == 0);
        tslab_free(zeroed);
    }
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    check_gone(epoch);
}

/* All sizes at once, so that they lie beside each other. */
static void sizes_do_not_overlap(void)
{
    enum { SIZES = 3000 };
    static void *objects[SIZES];
    const tslab_epoch epoch = opened();
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < SIZES; i++) {
            objects[i] = filled(epoch, i * (round + 1) + 1, i);
        }
        for (size_t i = 0; i < SIZES; i++) {
            verify(objects[i], i * (round + 1) + 1, i);
        }
        for (size_t i = round; i < SIZES; i += 2) {
            verify_and_free(objects[i], i * (round + 1) + 1, i);
            objects[i] = NULL;
        }
        for (size_t i = 0; i < SIZES; i++) {
            if (objects[i] != NULL) {
                verify_and_free(objects[i], i * (round + 1) + 1, i);
            }
        }
        ALIVE(epoch, 0);
    }
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
}

static void size_0_is_an_object_of_its_own(void)
{
    const tslab_epoch epoch = opened();
    void *objects[100];
    for (size_t i = 0; i < COUNT_OF(objects); i++) {
        objects[i] = i % 2 == 0 ? tslab_epoch_malloc(epoch, 0) : tslab_epoch_calloc(epoch, i, 0);
        CHECK(objects[i] != NULL && same(tslab_epoch_of(objects[i]), epoch));
        for (size_t other = 0; other < i; other++) {
            CHECK(objects[other] != objects[i]);
        }
    }
    ALIVE(epoch, COUNT_OF(objects));
    for (size_t i = 0; i < COUNT_OF(objects); i++) {
        tslab_free(objects[i]);
    }
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    check_gone(epoch);
}

static void any_alignment_is_served(void)
{
    static const size_t sizes[] = { 0, 1, 16, 24, 100, 500, 1000, 4095, 4096, 10000, 16384, 40000, 100000, 1 << 20 };
    const tslab_epoch epoch = opened();
    for (int inside = 0; inside < 2; inside++) {
        for (size_t alignment = 1; alignment <= 4 * MEGABYTE; alignment *= 2) {
            void *objects[COUNT_OF(sizes)];
            for (size_t i = 0; i < COUNT_OF(sizes); i++) {
                objects[i] = tslab_epoch_aligned_alloc(epoch, alignment, sizes[i]);
                CHECK_SAY(objects[i] != NULL && (uintptr_t)objects[i] % alignment == 0,
                          "%zu bytes aligned to %zu are at %p", sizes[i], alignment, objects[i]);
                CHECK(same(tslab_epoch_of(objects[i]), epoch));
                fill(objects[i], sizes[i], i);
            }
            for (size_t i = 0; i < COUNT_OF(sizes); i++) {
                verify_and_free(objects[i], sizes[i], i);
            }
        }
        ALIVE(epoch, 0);
        if (inside == 0) {
            enter(epoch);
        }
    }
    leave(epoch);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    check_gone(epoch);
}

static void what_cannot_be_served_is_refused(void)
{
    const tslab_epoch epoch = opened();
    enter(epoch);
    void *const p = filled(epoch, 100, 1);
    static const size_t sizes[] = { SIZE_MAX,        SIZE_MAX - 1,    SIZE_MAX - 15,   SIZE_MAX - 16,
                                    SIZE_MAX - 4096, (size_t)1 << 63, (size_t)1 << 62, (size_t)1 << 48 };
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        const size_t size = unseen(sizes[i]);
        errno = 0;
        CHECK(keep(tslab_epoch_malloc(epoch, size)) == NULL && errno == ENOMEM);
        errno = 0;
        CHECK(keep(tslab_epoch_calloc(epoch, 1, size)) == NULL && errno == ENOMEM);
        errno = 0;
        CHECK(keep(tslab_epoch_calloc(epoch, size, 16)) == NULL && errno == ENOMEM);
        errno = 0;
        CHECK(keep(tslab_epoch_aligned_alloc(epoch, 64, size)) == NULL && errno == ENOMEM);
        errno = 0;
        CHECK(keep(tslab_realloc(p, size)) == NULL && errno == ENOMEM);
        verify(p, 100, 1);
        CHECK(same(tslab_epoch_of(p), epoch));
    }
    errno = 0;
    CHECK(keep(tslab_epoch_calloc(epoch, unseen((size_t)1 << 33), unseen((size_t)1 << 33))) == NULL && errno == ENOMEM);
    for (size_t alignment = 0; alignment < 5000; alignment++) {
        if ((alignment & (alignment - 1)) != 0 || alignment == 0) {
            errno = 0;
            CHECK(keep(tslab_epoch_aligned_alloc(epoch, unseen(alignment), 100)) == NULL && errno == EINVAL);
        }
    }
    ALIVE(epoch, 1);
    verify_and_free(p, 100, 1);
    leave(epoch);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    check_gone(epoch);
}

static void memory_that_was_used_reads_as_zero_after_calloc(void)
{
    uint64_t random = 9;
    for (size_t round = 0; round < times(200); round++) {
        const tslab_epoch epoch = opened_as(NULL, policies[round % 2]);
        for (size_t i = 0; i < 300; i++) {
            const size_t size = some_size(&random);
            char *const p = tslab_epoch_calloc(epoch, 1, size);
            CHECK(p != NULL && all_zero(p, size));
            memset(p, 0xee, tslab_usable_size(p));
            if (i % 2 == 0 && round % 2 == 0) {
                tslab_free(p);
            }
        }
        STATUS(tslab_epoch_release(epoch, 0, NULL), TSLAB_OK);
    }
}

static void free_keeps_errno(void)
{
    const tslab_epoch epoch = opened();
    enter(epoch);
    for (size_t size = 1; size < 4 * MEGABYTE; size = size * 2 + 1) {
        void *const p = filled(epoch, size, 1), *const q = filled(epoch, size, 1);
        errno = (int)size;
        tslab_free(p);
        CHECK(errno == (int)size);
        CHECK(tslab_realloc(q, 0) == NULL);
    }
    leave(epoch);
    void *const last = filled(epoch, 100, 1);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    errno = 12345;
    tslab_free(last); /* with which the epoch goes */
    CHECK(errno == 12345);
    check_gone(epoch);
}

/* Changing sizes. */

static void realloc_keeps_contents_and_epoch(void)
{
    const tslab_epoch epoch = opened(), other = opened();
    uint64_t random = 13;
    enum { OBJECTS = 50 };
    struct {
        char *p;
        size_t size;
        uint64_t seed;
    } objects[OBJECTS] = { 0 };
    for (size_t i = 0; i < times(100000); i++) {
        const size_t at = below(&random, OBJECTS);
        size_t size = some_size(&random);
        if (below(&random, 500) == 0) {
            size = below(&random, 3 * MEGABYTE) + 1;
        }
        if (i % 1000 == 0) {
            /* It does not matter where the caller is. */
            const size_t where = i / 1000 % 4;
            if (where == 1) {
                enter(epoch);
            } else if (where == 2) {
                leave(epoch);
                enter(other);
            } else if (where == 3) {
                leave(other);
            }
        }
        if (objects[at].p == NULL) {
            objects[at].p = filled(epoch, size, i);
        } else {
            const size_t kept = size < objects[at].size ? size : objects[at].size;
            objects[at].p = tslab_realloc(objects[at].p, size);
            CHECK(objects[at].p != NULL && (uintptr_t)objects[at].p % 16 == 0);
            verify(objects[at].p, kept, objects[at].seed);
            CHECK(tslab_usable_size(objects[at].p) >= size);
            CHECK(same(tslab_epoch_of(objects[at].p), epoch));
            pattern_fill(objects[at].p, size, i);
        }
        objects[at].size = size;
        objects[at].seed = i;
    }
    while (tslab_epoch_current().id != 0) {
        leave(tslab_epoch_current());
    }
    ALIVE(epoch, OBJECTS);
    ALIVE(other, 0);
    for (size_t i = 0; i < OBJECTS; i++) {
        verify_and_free(objects[i].p, objects[i].size, objects[i].seed);
    }
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    STATUS(tslab_epoch_close(other, 0, NULL), TSLAB_OK);
    check_gone(epoch);
}

/* A string that is built up does not move at every step while nothing lies behind it. */
static void the_last_object_grows_in_place(void)
{
    const tslab_epoch epoch = opened();
    enter(epoch);
    size_t steps = 0, moves = 0;
    char *p = filled(epoch, 16, 1);
    for (size_t size = 32; size <= 4096; size += 16) {
        char *const before = p;
        p = tslab_realloc(p, size);
        verify(p, size - 16, 1);
        pattern_fill(p, size, 1);
        steps++;
        moves += p != before;
    }
    CHECK_SAY(moves * 10 <= steps, "it moved %zu times in %zu steps", moves, steps);
    /* Shrinking never has to move. */
    char *const before = p;
    p = tslab_realloc(p, 2048);
    CHECK(p == before);
    verify_and_free(p, 2048, 1);
    leave(epoch);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
}

static void realloc_leaves_a_closed_epoch(void)
{
    static const size_t sizes[] = { 1, 40, 100, 3000, 20000, 100000, 2000000 };
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        const tslab_epoch epoch = opened(), ambient = opened();
        void *p = filled(epoch, sizes[i], i), *q = filled(epoch, sizes[i], i);
        STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
        /* To the process, when no scope is entered; else into the scope. */
        p = tslab_realloc(p, sizes[i] * 8 + 100);
        CHECK(p != NULL && same(tslab_epoch_of(p), no_epoch));
        verify(p, sizes[i], i);
        ALIVE(epoch, 1);
        enter(ambient);
        q = tslab_realloc(q, sizes[i] * 8 + 100);
        CHECK(q != NULL && same(tslab_epoch_of(q), ambient));
        verify(q, sizes[i], i);
        check_gone(epoch);
        leave(ambient);
        tslab_free(p);
        tslab_free(q);
        STATUS(tslab_epoch_close(ambient, 0, NULL), TSLAB_OK);
        check_gone(ambient);
    }
}

static void realloc_inside_of_a_closed_epoch_leaves_it(void)
{
    const tslab_epoch outer = opened(), epoch = opened();
    enter(outer);
    enter(epoch);
    void *p = filled(epoch, 100, 1);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_PENDING);
    p = tslab_realloc(p, 5000);
    verify(p, 100, 1);
    CHECK(same(tslab_epoch_of(p), no_epoch));
    leave(epoch);
    check_gone(epoch);
    verify(p, 100, 1);
    tslab_free(p);
    leave(outer);
    STATUS(tslab_epoch_close(outer, 0, NULL), TSLAB_OK);
}

static void an_object_of_the_process_stays_there(void)
{
    const tslab_epoch epoch = opened();
    char *p = fill(tslab_malloc(100), 100, 1);
    enter(epoch);
    p = tslab_realloc(p, 10000);
    verify(p, 100, 1);
    CHECK(same(tslab_epoch_of(p), no_epoch));
    char *const q = tslab_realloc(NULL, 100);
    CHECK(same(tslab_epoch_of(q), epoch));
    CHECK(tslab_realloc(q, 0) == NULL);
    tslab_free(p);
    ALIVE(epoch, 0);
    leave(epoch);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
}

/* Where they belong. */

static void plain_allocation_follows_the_scope(void)
{
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        for (unsigned flags = 0; flags <= TSLAB_OPEN_VOUCHED; flags += TSLAB_OPEN_VOUCHED) {
            const tslab_epoch epoch =
                opened_with(&(struct tslab_epoch_options){ .policy = policies[i], .flags = flags });
            enter(epoch);
            const bool lands = takes_plain(policies[i], flags);
            static const size_t sizes[] = { 1, 100, 1000, 20000, 100000, 3000000 };
            for (size_t n = 0; n < COUNT_OF(sizes); n++) {
                void *const all[] = { tslab_malloc(sizes[n]), tslab_calloc(1, sizes[n]),
                                      tslab_aligned_alloc(256, sizes[n]), tslab_realloc(NULL, sizes[n]) };
                for (size_t at = 0; at < COUNT_OF(all); at++) {
                    CHECK(all[at] != NULL);
                    CHECK_SAY(same(tslab_epoch_of(all[at]), lands ? epoch : no_epoch),
                              "policy %d, flags %u: %zu bytes of way %zu", (int)policies[i], flags, sizes[n], at);
                    tslab_free(all[at]);
                }
            }
            leave(epoch);
            STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
        }
    }
}

/* Scopes that do not take plain malloc let it through to the next that does. */
static void plain_allocation_lands_in_the_innermost_scope_that_takes_it(void)
{
    const tslab_epoch drain = opened(), release = opened_as("release", TSLAB_POLICY_RELEASE),
                      trap = opened_as("t", TSLAB_POLICY_TRAP);
    const struct {
        tslab_epoch entered, lands;
    } scopes[] = { { release, no_epoch }, { drain, drain }, { release, drain }, { trap, drain },
                   { release, drain },    { drain, drain }, { trap, drain } };
    for (size_t i = 0; i < COUNT_OF(scopes); i++) {
        enter(scopes[i].entered);
        void *const p = tslab_malloc(100);
        CHECK_SAY(same(tslab_epoch_of(p), scopes[i].lands), "scope %zu", i);
        tslab_free(p);
        tslab_free(filled(scopes[i].entered, 100, i));
    }
    for (size_t i = COUNT_OF(scopes); i-- > 0;) {
        void *const p = tslab_malloc(100);
        CHECK_SAY(same(tslab_epoch_of(p), scopes[i].lands), "scope %zu", i);
        tslab_free(p);
        leave(scopes[i].entered);
    }
    STATUS(tslab_epoch_close(drain, 0, NULL), TSLAB_OK);
    STATUS(tslab_epoch_close(release, 0, NULL), TSLAB_OK);
    STATUS(tslab_epoch_close(trap, 0, NULL), TSLAB_OK);
}

/* An explicit call is not about scopes. */
static void a_call_that_names_an_epoch_lands_there(void)
{
    const tslab_epoch a = opened(), b = opened_as("b", TSLAB_POLICY_RELEASE);
    for (int round = 0; round < 2; round++) {
        for (size_t size = 1; size < 200000; size = size * 3 / 2 + 1) {
            tslab_free(filled(a, size, 1));
            tslab_free(filled(b, size, 1));
            void *const plain = tslab_malloc(size);
            CHECK(same(tslab_epoch_of(plain), round == 0 ? no_epoch : a));
            tslab_free(plain);
        }
        if (round == 0) {
            enter(a);
        }
    }
    leave(a);
    STATUS(tslab_epoch_close(a, 0, NULL), TSLAB_OK);
    STATUS(tslab_epoch_close(b, 0, NULL), TSLAB_OK);
}

/* Who frees. */

enum { FREED = 4000 };
static void *freed[FREED];
static size_t freed_sizes[FREED];

static void *free_all(void *first)
{
    for (size_t i = (uintptr_t)first; i < FREED; i += 2) {
        verify_and_free(freed[i], freed_sizes[i], i);
    }
    return NULL;
}

static void allocate_all(tslab_epoch epoch, uint64_t seed)
{
    uint64_t random = seed;
    for (size_t i = 0; i < FREED; i++) {
        freed_sizes[i] = some_size(&random);
        freed[i] = filled(epoch, freed_sizes[i], i);
    }
}

static void any_thread_may_free(void)
{
    /* The owner inside, outside, the epoch closed, the owner of half of them. */
    for (size_t way = 0; way < 4; way++) {
        const tslab_epoch epoch = opened();
        if (way == 0) {
            enter(epoch);
        }
        allocate_all(epoch, way + 1);
        if (way == 2) {
            STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
        }
        in_a_thread(free_all, (void *)0);
        ALIVE(epoch, FREED / 2);
        if (way == 3) {
            (void)free_all((void *)1);
        } else {
            in_a_thread(free_all, (void *)1);
        }
        if (way == 0) {
            leave(epoch);
        }
        if (way != 2) {
            const struct tslab_epoch_stats stats = stats_of(epoch);
            CHECK_SAY(stats.live_objects == 0 && stats.live_bytes == 0, "%llu objects live",
                      (unsigned long long)stats.live_objects);
            STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
        }
        check_gone(epoch);
    }
}

static void scopes_do_not_matter_to_free(void)
{
    const tslab_epoch a = opened(), b = opened();
    static void *objects[3][500];
    enter(a);
    for (size_t i = 0; i < 500; i++) {
        objects[0][i] = filled(a, 16 + i, i);
        objects[1][i] = filled(b, 16 + i, i);
    }
    leave(a);
    for (size_t i = 0; i < 500; i++) {
        objects[2][i] = fill(tslab_malloc(16 + i), 16 + i, i);
    }
    enter(b);
    for (size_t i = 0; i < 500; i++) {
        for (size_t n = 0; n < 3; n++) {
            verify_and_free(objects[n][i], 16 + i, i);
        }
    }
    leave(b);
    ALIVE(a, 0);
    ALIVE(b, 0);
    STATUS(tslab_epoch_close(a, 0, NULL), TSLAB_OK);
    STATUS(tslab_epoch_close(b, 0, NULL), TSLAB_OK);
    check_gone(a);
    check_gone(b);
}

static void trim_does_not_touch_what_lives(void)
{
    const tslab_epoch epoch = opened(), closed = opened();
    enter(epoch);
    allocate_all(epoch, 1);
    void *const survivor = filled(closed, 100, 7);
    STATUS(tslab_epoch_close(closed, TSLAB_CLOSE_RECLAIM, NULL), TSLAB_OK);
    (void)free_all((void *)1);
    (void)tslab_trim();
    ALIVE(epoch, FREED / 2);
    for (size_t i = 1; i < FREED; i += 2) {
        freed[i] = filled(epoch, freed_sizes[i], i);
    }
    (void)tslab_trim();
    (void)free_all((void *)0);
    (void)free_all((void *)1);
    verify_and_free(survivor, 100, 7);
    check_gone(closed);
    leave(epoch);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    check_gone(epoch);
}

/* The ways to keep objects that are for long-lived epochs come into play only after a while. */
static void a_long_life_changes_nothing(void)
{
    enum { LIVE = 2000 };
    static struct {
        char *p;
        size_t size;
        uint64_t seed;
    } live[LIVE];
    const tslab_epoch epoch = opened();
    uint64_t random = 21;
    enter(epoch);
    for (size_t i = 0; i < times(3000000); i++) {
        const size_t at = below(&random, LIVE);
        if (live[at].p != NULL) {
            verify_and_free(live[at].p, live[at].size, live[at].seed);
        }
        live[at].size = some_size(&random) % 2000 + 1;
        live[at].seed = i;
        live[at].p = fill(tslab_malloc(live[at].size), live[at].size, i);
    }
    size_t count = 0, bytes = 0;
    for (size_t at = 0; at < LIVE; at++) {
        if (live[at].p != NULL) {
            CHECK(same(tslab_epoch_of(live[at].p), epoch));
            count++;
            bytes += tslab_usable_size(live[at].p);
        }
    }
    const struct tslab_epoch_stats stats = stats_of(epoch);
    CHECK_SAY(stats.live_objects == count && stats.live_bytes == bytes, "%llu objects of %llu bytes, not %zu of %zu",
              (unsigned long long)stats.live_objects, (unsigned long long)stats.live_bytes, count, bytes);
    /* It is no pool that only grows: about 1.1 MiB live, and some 650 MiB went through. */
    CHECK_SAY(stats.memory_bytes < 16 * MEGABYTE, "%llu bytes are held for %zu", (unsigned long long)stats.memory_bytes,
              bytes);
    for (size_t at = 0; at < LIVE; at++) {
        if (live[at].p != NULL) {
            verify_and_free(live[at].p, live[at].size, live[at].seed);
        }
    }
    leave(epoch);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    check_gone(epoch);
}

static const struct epoch_case cases[] = {
    CASE(any_size_is_served),
    CASE(large_sizes_are_served),
    CASE(sizes_do_not_overlap),
    CASE(size_0_is_an_object_of_its_own),
    CASE(any_alignment_is_served),
    CASE(what_cannot_be_served_is_refused),
    CASE(memory_that_was_used_reads_as_zero_after_calloc),
    CASE(free_keeps_errno),
    CASE(realloc_keeps_contents_and_epoch),
    CASE(the_last_object_grows_in_place),
    CASE(realloc_leaves_a_closed_epoch),
    CASE(realloc_inside_of_a_closed_epoch_leaves_it),
    CASE(an_object_of_the_process_stays_there),
    CASE(plain_allocation_follows_the_scope),
    CASE(plain_allocation_lands_in_the_innermost_scope_that_takes_it),
    CASE(a_call_that_names_an_epoch_lands_there),
    CASE(any_thread_may_free),
    CASE(scopes_do_not_matter_to_free),
    CASE(trim_does_not_touch_what_lives),
    CASE(a_long_life_changes_nothing),
};

int main(int argc, char **argv)
{
    return cases_run(cases, COUNT_OF(cases), argc, argv);
}
