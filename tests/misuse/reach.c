/* The reach of a misuse of memory: a case for every cell of the table in SECURITY.md, in a process of its own. The
 * program is built twice: on the engine as users get it, and on the checked one.
 *
 *   reach            runs all cases
 *   reach --where    prints an address, and a word that depends on the secret of the process
 *
 * A case ends as the table says: it completes, having checked itself what the misuse did; or a line ends it, which
 * names the pointer that the case told; or it faults. */
#include "misuse.h"

#include "common/guard.h"
#include "engine.h"
#include "malloc/current_thread.h"
#include "os/os.h"
#include "space/arena.h"
#include "workers.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <tslab/tslab.h>

enum { SAME_CLASS = 64 };

static const struct tslab_epoch_options labelled = { .label = "e" };

static char *object(size_t size)
{
    void *const p = tslab_malloc(size);
    CHECK(p != NULL);
    return keep(memset(p, 0x5a, size)); /* the compiler must not know where it ends */
}

static char *object_in(tslab_epoch epoch, size_t size)
{
    void *const p = tslab_epoch_malloc(epoch, size);
    CHECK(p != NULL);
    return keep(memset(p, 0x5a, size));
}

/* Changes a byte, whatever it was. */
static void hit(char *p)
{
    *(volatile char *)p = (char)~*p;
}

/* Nobody can touch it. */
static bool is_guard(const void *p)
{
    return !is_readable(p);
}

/* Objects of one size that lie one behind the other: the first of two. */
static char *two_neighbours(size_t size, char **second)
{
    static char *all[SAME_CLASS];
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        all[i] = object(size);
    }
    const ptrdiff_t room = (ptrdiff_t)round_up(size + SEAL_BYTES, GRANULE_BYTES);
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        for (size_t k = 0; k < COUNT_OF(all); k++) {
            if (all[k] - all[i] == room) {
                *second = all[k];
                return all[i];
            }
        }
    }
    CHECK(!"no two of so many objects are neighbours");
    return NULL;
}

/* Linear overflow. */

MISUSE_OF(50, overflow_into_slack, COMPLETES, BEYOND_THE_END)
{
    char *const p = object(50);
    hit(p + 50);
    misused(p);
    tslab_free(p);
}

MISUSE(overflow_by_one, COMPLETES, BEYOND_THE_END)
{
    char *const p = object(56); /* in the checked library, 8 bytes more are 64 */
    hit(p + 56);
    misused(p);
    tslab_free(p);
}

MISUSE(overflow_into_neighbour, COMPLETES, BEYOND_THE_END)
{
    char *q;
    char *const p = two_neighbours(48, &q);
    memset(p, 0x77, (size_t)(q - p) + 1);
    CHECK(*q == 0x77);
    tslab_free(q);
    misused(p);
    tslab_free(p);
}

MISUSE(overflow_seen_by_realloc, COMPLETES, BEYOND_THE_END)
{
    char *const p = object(100);
    hit(p + 100);
    misused(p);
    (void)keep(tslab_realloc(p, 5000));
}

MISUSE(overflow_seen_by_usable_size, COMPLETES, BEYOND_THE_END)
{
    char *const p = object(100);
    if (tslab_usable_size(p) == 100) {
        hit(p + 100);
    }
    misused(p);
    (void)tslab_usable_size(p);
}

MISUSE(overflow_in_epoch, COMPLETES, BEYOND_THE_END)
{
    const tslab_epoch epoch = tslab_epoch_open(&labelled);
    char *const p = object_in(epoch, 56);
    char *const q = object_in(epoch, 500); /* in a chunk sizes are mixed */
    CHECK(q - p == 64);
    memset(p, 0x77, 65);
    CHECK(*q == 0x77);
    misused(p);
    tslab_free(p);
}

/* The bytes that describe the committed units. */
static size_t tables_copy(char **copy)
{
    const size_t units = load_plain(&arena.committed_units);
    const size_t sizes[] = { units * sizeof(struct unit), units * sizeof(struct run), units * sizeof(struct revisit) };
    const void *const tables[] = { arena.units, arena.runs, arena.revisits };
    const size_t bytes = sizes[0] + sizes[1] + sizes[2];
    char *at = *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    for (size_t i = 0; i < COUNT_OF(tables); at += sizes[i++]) {
        memcpy(at, tables[i], sizes[i]);
    }
    return bytes;
}

MISUSE(overflow_of_64_kib, COMPLETES, BEYOND_THE_END)
{
    char *p = object(1000);
    for (int i = 0; i < 1000; i++) {
        char *const next = object(1000);
        p = next > p ? next : p;
    }
    char *before;
    char *after;
    const size_t bytes = tables_copy(&before);
    memset(p, 0x77, 65536); /* of the arena more is committed than is used */
    CHECK(tables_copy(&after) == bytes && memcmp(before, after, bytes) == 0);
    misused(p);
    tslab_free(p);
}

MISUSE(overflow_beyond_the_arena, FAULTS, FAULTS)
{
    char *const p = object(100);
    CHECK(!is_readable(arena_address((uint32_t)load_plain(&arena.committed_units))));
    for (char *at = p;; at += 16) {
        *(volatile char *)at = 1;
    }
}

MISUSE_OF(100000, overflow_of_large_into_slack, COMPLETES, BEYOND_THE_END)
{
    char *const p = object(100000);
    hit(p + 100000);
    misused(p);
    tslab_free(p);
}

/* Two large objects, one behind the other. In the checked library a guard page is between them. */
static char *two_large(size_t size, char **second)
{
    char *const p = object(size);
    char *const q = object(size);
    *second = q > p ? q : p;
    return q > p ? p : q;
}

MISUSE(overflow_of_large, COMPLETES, FAULTS)
{
    char *q;
    char *const p = two_large(81920 - SEAL_BYTES, &q);
    CHECK(GUARDED || q - p == 81920);
    memset(p, 0x77, 81921);
    CHECK(*q == 0x77);
}

/* Underflow. */

MISUSE(underflow_into_neighbour, COMPLETES, BEYOND_THE_END)
{
    char *q;
    char *const p = two_neighbours(48 - SEAL_BYTES, &q);
    hit(q - 1);
    CHECK(GUARDED || p[47] != 0x5a);
    tslab_free(q);
    misused(p);
    tslab_free(p);
}

MISUSE(underflow_of_large, COMPLETES, FAULTS)
{
    char *q;
    char *const p = two_large(81920 - SEAL_BYTES, &q);
    hit(q - 1);
    CHECK(p[81919] != 0x5a);
}

/* The first byte that cannot be touched below the units, from the top. */
static const char *end_of_underflow(void)
{
    const char *at = arena_address(1);
    do {
        at -= os_page_bytes();
    } while (is_readable(at));
    return at;
}

MISUSE(underflow_below_the_arena, FAULTS, FAULTS)
{
    tslab_free(object(1));
    const size_t described = load_plain(&arena.committed_units) * (UNIT_BYTES / GRANULE_BYTES);
    CHECK((uintptr_t)end_of_underflow() >= (uintptr_t)arena.codes + described);
    for (char *at = arena_address(1);; at -= 16) {
        *(volatile char *)at = 1;
    }
}

MISUSE(underflow_below_the_least_arena, FAULTS, FAULTS)
{
    live_in_arena_of(1 << 20); /* all of it is committed at once, and so are its tables */
    tslab_free(object(1));
    CHECK((uintptr_t)end_of_underflow() > (uintptr_t)arena.codes);
    for (char *at = arena_address(1);; at -= 16) {
        *(volatile char *)at = 1;
    }
}

/* The engine's own records. */

MISUSE(metadata_is_out_of_line, COMPLETES, COMPLETES)
{
    tslab_free(object(100));
    const uintptr_t tables[] = { (uintptr_t)arena.units, (uintptr_t)arena.runs, (uintptr_t)arena.revisits,
                                 (uintptr_t)arena.codes };
    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        CHECK(tables[i] < arena.base);
    }
    CHECK(!arena_has_unit(arena_unit(front_current)));
}

static bool tables_are_guarded(void)
{
    const void *const tables[] = {
        arena.units,
        arena.runs,
        arena.revisits,
        arena.codes,
#if TSLAB_CHECKED
        arena.live,
#endif
        arena_address(0)
    };
    bool guarded = is_guard(arena_address(0));
    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        guarded &= is_guard((const char *)tables[i] - 1);
    }
    return guarded;
}

MISUSE(metadata_between_guards_in_the_least_arena, COMPLETES, COMPLETES)
{
    live_in_arena_of(1 << 20);
    tslab_free(object(100));
    CHECK(tables_are_guarded());
}

MISUSE(metadata_between_guards, COMPLETES, COMPLETES)
{
    tslab_free(object(100));
    CHECK(tables_are_guarded());
    bool guarded;
    /* Between records and what else is mapped there is a page, or not. */
    const char *record = (const char *)front_current;
    while (is_readable(record)) {
        record += os_page_bytes();
    }
    void *const page = (void *)round_down((uintptr_t)record, os_page_bytes());
    void *const taken =
        mmap(page, os_page_bytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    guarded = taken == MAP_FAILED; /* it is ours */
    if (!guarded) {
        munmap(taken, os_page_bytes());
    }
    CHECK(guarded == GUARDED);
}

/* Old contents, to the last byte, and in the checked library zeros. */
MISUSE(free_memory_holds_nothing, COMPLETES, COMPLETES)
{
    enum { OBJECTS = 2000 };
    static char *all[OBJECTS];
    for (size_t i = 0; i < OBJECTS; i++) {
        all[i] = object(1 + i % 300);
    }
    for (size_t i = 0; i < OBJECTS; i++) {
        tslab_free(all[i]);
    }
    for (size_t i = 0; i < OBJECTS; i++) {
        for (size_t k = 0; k < 1 + i % 300; k++) {
            CHECK(all[i][k] == (GUARDED ? 0 : 0x5a));
        }
    }
}

/* An object of which every byte that its user may touch is 0x5a. */
static char *full_object(size_t size)
{
    char *const p = object(size);
    return memset(p, 0x5a, tslab_usable_size(p));
}

enum { MIXED = 3000 };

static char *mixed[MIXED];

static void *change_half_of_them(void *unused)
{
    (void)unused;
    uint64_t random = 11;
    for (int i = 0; i < 20000; i++) {
        const size_t at = random_next(&random) % MIXED;
        const size_t size = random_next(&random) % (i % 50 == 0 ? 100000 : 2000);
        char *p = mixed[at];
        if (i % 3 == 0) {
            p = tslab_realloc(p, 1 + size);
            CHECK(p != NULL);
            memset(p, 0x5a, tslab_usable_size(p));
        } else {
            tslab_free(p);
            p = full_object(size);
        }
        mixed[at] = p;
    }
    return NULL;
}

static void epochs_come_and_go(void)
{
    for (int round = 0; round < 20; round++) {
        const tslab_epoch epoch = tslab_epoch_open(&labelled);
        CHECK(tslab_epoch_enter(epoch) >= 0);
        for (size_t i = 0; i < 500; i++) {
            char *const p = object_in(epoch, 1 + i * 7 % 3000);
            memset(p, 0x5a, tslab_usable_size(p));
            if (i % 3 != 0) {
                tslab_free(p);
            }
        }
        void *lent;
        const tslab_handle handle = tslab_handle_malloc(epoch, 100, &lent);
        CHECK(handle.id != 0);
        memset(lent, 0x5a, 100);
        CHECK(tslab_handle_free(epoch, handle) == TSLAB_OK);
        CHECK(tslab_epoch_leave(epoch) == TSLAB_OK && tslab_epoch_release(epoch, 0, NULL) == TSLAB_OK);
    }
}

/* Whether all of the arena that can be read holds but zeros and this byte. */
static bool arena_holds_but(char byte)
{
    const char *const end = arena_address((uint32_t)load_plain(&arena.committed_units));
    for (const char *page = arena_address(1); page < end; page += os_page_bytes()) {
        const size_t bytes = is_readable(page) ? os_page_bytes() : 0;
        for (size_t i = 0; i < bytes; i++) {
            if (page[i] != 0 && page[i] != byte) {
                return false;
            }
        }
    }
    return true;
}

/* In memory that users can write, every byte is one that a user wrote: whatever was allocated, freed and flushed
 * before, by several threads. The checked library has seals there, while objects live. */
MISUSE(all_bytes_are_the_users, COMPLETES, COMPLETES)
{
    for (size_t i = 0; i < MIXED; i++) {
        mixed[i] = full_object(i % 2000);
    }
    for (int round = 0; round < 3; round++) {
        in_a_thread(change_half_of_them, NULL);
        (void)change_half_of_them(NULL);
        epochs_come_and_go();
        CHECK(GUARDED || arena_holds_but(0x5a));
    }
    for (size_t i = 0; i < MIXED; i++) {
        tslab_free(mixed[i]);
    }
    CHECK(arena_holds_but(GUARDED ? 0 : 0x5a));
}

/* Frees. Those that end the program are in pointers.c. */

/* An object at the very address of one that was freed. Others keep what they get. */
static char *reuse(const char *p, size_t size)
{
    for (int i = 0; i < 100000; i++) {
        char *const again = object(size);
        if (again == p) {
            return again;
        }
    }
    CHECK(!"the slot does not come again");
    return NULL;
}

MISUSE(free_after_reuse, DOUBLE, DOUBLE)
{
    char *const p = object(64);
    tslab_free(p);
    char *const owned = reuse(p, 64);
    tslab_free(p); /* what it frees is the new owner's */
    misused(owned);
    tslab_free(owned);
}

MISUSE(free_across_epochs, COMPLETES, COMPLETES)
{
    const tslab_epoch mine = tslab_epoch_open(&labelled);
    const tslab_epoch other = tslab_epoch_open(&labelled);
    void *const p = object_in(mine, 100);
    CHECK(tslab_epoch_enter(other) >= 0);
    tslab_free(p);
    CHECK(tslab_epoch_leave(other) == TSLAB_OK);
    struct tslab_epoch_report report;
    CHECK(tslab_epoch_close(mine, 0, &report) == TSLAB_OK && report.survivors == 0);
    CHECK(tslab_epoch_close(other, 0, &report) == TSLAB_OK && report.survivors == 0);
}

MISUSE(free_across_instances, COMPLETES, COMPLETES)
{
    const tslab_instance instance = tslab_instance_open("mine");
    const tslab_epoch root = tslab_instance_root(instance);
    tslab_free(tslab_epoch_malloc(root, 100)); /* an object knows where it belongs */
    struct tslab_epoch_stats stats;
    CHECK(tslab_epoch_stats_get(root, &stats) == TSLAB_OK && stats.live_objects == 0);
    CHECK(tslab_instance_close(instance, 0, NULL) == TSLAB_OK);
}

/* Use after free. */

MISUSE(read_after_free, COMPLETES, COMPLETES)
{
    char *const p = object(64);
    tslab_free(p);
    for (size_t i = 0; i < 64; i++) {
        CHECK(p[i] == (GUARDED ? 0 : 0x5a));
    }
}

MISUSE(read_after_free_of_large, COMPLETES, FAULTS)
{
    char *const p = object(100000);
    tslab_free(p);
    CHECK(*(volatile char *)p == 0x5a);
}

/* Bytes written into a freed object are its next owner's old contents, and nothing else. */
MISUSE(write_after_free_does_not_steer_malloc, COMPLETES, WRITTEN_AFTER_FREE)
{
    static long long target[8];
    char *const p = object(64);
    tslab_free(p);
    void *const forged = keep(target);
    for (size_t at = 0; at < 64; at += sizeof forged) {
        memcpy(p + at, &forged, sizeof forged);
    }
    misused(p);
    if (GUARDED) {
        (void)reuse(p, 64);
        return;
    }
    char *const again = tslab_malloc(64);
    CHECK(again == p && memcmp(again, &forged, sizeof forged) == 0);
    for (int i = 0; i < 1000; i++) {
        CHECK(tslab_malloc(64) != forged);
    }
}

MISUSE(write_after_free_into_the_last_byte, COMPLETES, WRITTEN_AFTER_FREE)
{
    char *const p = object(3000);
    tslab_free(p);
    hit(p + 2999);
    misused(p);
    (void)reuse(p, 3000);
}

MISUSE(write_after_free_in_epoch, COMPLETES, WRITTEN_AFTER_FREE)
{
    const tslab_epoch epoch = tslab_epoch_open(&labelled);
    CHECK(tslab_epoch_enter(epoch) >= 0);
    char *const p = object_in(epoch, 100);
    tslab_free(p);
    hit(p + 50);
    misused(p);
    CHECK(tslab_epoch_malloc(epoch, 100) == p); /* nothing else was in the chunk: it begins anew */
}

MISUSE(write_after_free_of_large, COMPLETES, FAULTS)
{
    char *const p = object(100000);
    tslab_free(p);
    hit(p);
}

static void touch_after_close(enum tslab_policy policy)
{
    const struct tslab_epoch_options options = { .label = "e", .policy = policy };
    const tslab_epoch epoch = tslab_epoch_open(&options);
    char *const p = object_in(epoch, 100);
    CHECK(tslab_epoch_close(epoch, 0, NULL) == TSLAB_OK);
    hit(p);
    CHECK(*p != 0x5a);
    tslab_free(p);
}

MISUSE(touch_after_drain, COMPLETES, COMPLETES)
{
    touch_after_close(TSLAB_POLICY_DRAIN); /* which is no misuse: survivors stay valid */
}

MISUSE(touch_after_trap, FAULTS, FAULTS)
{
    touch_after_close(TSLAB_POLICY_TRAP);
}

MISUSE(touch_after_release, COMPLETES, FAULTS)
{
    const struct tslab_epoch_options options = { .label = "e", .policy = TSLAB_POLICY_RELEASE };
    const tslab_epoch epoch = tslab_epoch_open(&options);
    char *const p = object_in(epoch, 100);
    CHECK(tslab_epoch_close(epoch, 0, NULL) == TSLAB_OK);
    const tslab_epoch next = tslab_epoch_open(&options);
    char *const q = object_in(next, 100);
    hit(p);
    CHECK(p == q && *q != 0x5a); /* another's by now */
}

MISUSE(free_after_release, DOUBLE_OR_WILD, DOUBLE_OR_WILD)
{
    const struct tslab_epoch_options options = { .label = "e", .policy = TSLAB_POLICY_RELEASE };
    const tslab_epoch epoch = tslab_epoch_open(&options);
    char *const p = object_in(epoch, 100);
    CHECK(tslab_epoch_close(epoch, 0, NULL) == TSLAB_OK);
    misused(p);
    tslab_free(p);
}

/* Reading what was never written. */

MISUSE(uninitialised_read, COMPLETES, COMPLETES)
{
    enum { OBJECTS = 1000 };
    static char *all[OBJECTS];
    bool zero = true;
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < OBJECTS; i++) {
            all[i] = tslab_malloc(1 + i * 37 % 60000);
            zero &= all_zero(all[i], 1 + i * 37 % 60000);
            memset(all[i], 0x5a, 1 + i * 37 % 60000);
        }
        for (size_t i = 0; i < OBJECTS; i++) {
            tslab_free(all[i]);
        }
    }
    CHECK(zero == GUARDED);
}

/* Values that are checked. */

MISUSE(forged_handles, COMPLETES, COMPLETES)
{
    const tslab_epoch epoch = tslab_epoch_open(&labelled);
    const tslab_epoch other = tslab_epoch_open(&labelled);
    void *p;
    const tslab_handle handle = tslab_handle_malloc(epoch, 100, &p);
    CHECK(handle.id != 0 && tslab_handle_malloc(other, 100, NULL).id != 0);
    for (unsigned bit = 0; bit < 64; bit++) {
        const tslab_handle forged = { handle.id ^ (uint64_t)1 << bit };
        CHECK(tslab_handle_get(epoch, forged) == NULL && tslab_handle_free(epoch, forged) == TSLAB_STALE);
    }
    uint64_t state = 1;
    for (int i = 0; i < 100000; i++) {
        const tslab_handle forged = { random_next(&state) };
        CHECK(tslab_handle_get(epoch, forged) == NULL && tslab_handle_free(epoch, forged) == TSLAB_STALE);
    }
    CHECK(tslab_handle_get(other, handle) == NULL && tslab_handle_free(other, handle) == TSLAB_STALE);
    CHECK(tslab_handle_get(epoch, handle) == p && tslab_handle_free(epoch, handle) == TSLAB_OK);
    CHECK(tslab_handle_get(epoch, handle) == NULL && tslab_handle_free(epoch, handle) == TSLAB_STALE);
}

static void refused(const void *p)
{
    CHECK(p == NULL && errno == ENOMEM);
    errno = 0;
}

MISUSE(size_overflow, COMPLETES, COMPLETES)
{
    const tslab_epoch epoch = tslab_epoch_open(&labelled);
    char *const p = object(100);
    const size_t half = unseen(SIZE_MAX / 2 + 1);
    refused(tslab_calloc(half, 2));
    refused(tslab_calloc(unseen(SIZE_MAX), unseen(SIZE_MAX)));
    refused(tslab_epoch_calloc(epoch, half, 2));
    for (size_t below = 0; below < 40; below++) {
        refused(tslab_malloc(unseen(SIZE_MAX - below)));
        refused(tslab_malloc(unseen(PTRDIFF_MAX - below)));
        refused(tslab_realloc(p, unseen(SIZE_MAX - below)));
        refused(tslab_realloc(p, unseen(PTRDIFF_MAX - below)));
        refused(tslab_aligned_alloc(64, unseen(SIZE_MAX - below)));
        refused(tslab_aligned_alloc(half, 1 + below));
        refused(tslab_epoch_malloc(epoch, unseen(SIZE_MAX - below)));
    }
    for (size_t i = 0; i < 100; i++) {
        CHECK(p[i] == 0x5a);
    }
}

/* A kernel that refuses must not make free memory look written to. */

static bool refuse(void *start, size_t bytes)
{
    (void)start;
    (void)bytes;
    return false;
}

static void traffic(void)
{
    enum { KEPT = 3000 };
    static char *kept[KEPT];
    for (size_t size = 1; size < 400000; size += 1 + size / 5) {
        char *const p = object(size);
        char *const q = object(size * 2);
        tslab_free(tslab_realloc(p, size * 3));
        tslab_free(tslab_realloc(q, size));
    }
    for (size_t i = 0; i < KEPT; i++) {
        kept[i] = object(1 + i * 7 % 30000); /* so many that slabs take over what large objects had */
    }
    for (size_t i = 0; i < KEPT; i++) {
        tslab_free(kept[i]);
    }
}

MISUSE(kernel_refuses, COMPLETES, COMPLETES)
{
    const struct os_calls real = os_calls;
    for (int what = 0; what < 4; what++) {
        os_calls.purge = (what & 1) != 0 ? refuse : real.purge;
        os_calls.forbid = (what & 2) != 0 ? refuse : real.forbid;
        traffic();
    }
    os_calls = real;
    traffic();
}

/* Every process has addresses of its own, and a secret. */

static void say_where(void)
{
    const char *const p = object(48);
    uint64_t seal = 0;
#if TSLAB_CHECKED > 1
    /* The word depends on the secret alone: the address is the same in all processes. */
    char *const fixed = mmap((void *)0x100000000000, os_page_bytes(), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    CHECK(fixed != MAP_FAILED);
    guard_seal(fixed, 64, 48);
    memcpy(&seal, fixed + 56, sizeof seal);
#endif
    printf("%p %llx\n", (const void *)p, (unsigned long long)seal);
}

TEST(processes_differ)
{
    (void)state;
    enum { RUNS = 4 };
    char said[RUNS][80];
    bool addresses_differ = false, seals_differ = false;
    for (int i = 0; i < RUNS; i++) {
        char *const command = "exec /proc/$PPID/exe --where";
        FILE *const answer = popen(command, "r");
        assert_non_null(answer);
        assert_non_null(fgets(said[i], sizeof said[i], answer));
        assert_int_equal(pclose(answer), 0);
        addresses_differ |= strncmp(said[0], said[i], 14) != 0;
        seals_differ |= strcmp(strchr(said[0], ' '), strchr(said[i], ' ')) != 0;
    }
    assert_true(seals_differ == GUARDED);
    /* A machine may have that turned off, for all programs. */
    char mode = '0';
    FILE *const randomize = fopen("/proc/sys/kernel/randomize_va_space", "r");
    assert_true(randomize == NULL || fread(&mode, 1, 1, randomize) == 1);
    assert_true(addresses_differ || mode == '0');
}

static void begin(void)
{
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--where") == 0) {
        say_where();
        return 0;
    }
    static const struct misuse_place place = { "in the process", begin, false, false };
    const struct misuse_table table = { .places = &place, .place_count = 1, .label = "e" };
    return misuse_run(&table, argc, argv);
}
