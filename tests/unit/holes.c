/* Pages of used slabs that lie wholly in free slots: a trim gives them back, and touches no other. */
#include "child.h"
#include "engine.h"

#include "malloc/current_thread.h"
#include "os/os.h"

#include <sys/mman.h>
#include <tslab/tslab.h>

enum { OBJECTS = 20000 };

static struct {
    char *start;
    size_t size;
} objects[OBJECTS];

static void allocate_all(size_t size)
{
    for (size_t i = 0; i < OBJECTS; i++) {
        objects[i].size = size;
        objects[i].start = tslab_malloc(size);
        CHECK(objects[i].start != NULL);
        pattern_fill(objects[i].start, size, i);
    }
}

/* Keeps one of so many. */
static size_t keep_some(size_t stride)
{
    size_t kept = 0;
    for (size_t i = 0; i < OBJECTS; i++) {
        if (i % stride == stride / 2) {
            kept++;
        } else {
            tslab_free(objects[i].start);
            objects[i].start = NULL;
        }
    }
    return kept;
}

static void check_contents(void)
{
    for (size_t i = 0; i < OBJECTS; i++) {
        CHECK(objects[i].start == NULL || pattern_holds(objects[i].start, objects[i].size, i));
    }
}

/* The resident bytes of the arena. */
static size_t resident_bytes(void)
{
    const size_t page = os_page_bytes();
    static unsigned char is_resident[1 << 20];
    const size_t pages = (arena.committed_units - 1) * UNIT_BYTES / page;
    size_t resident = 0;
    CHECK(pages <= sizeof is_resident && mincore(arena_address(1), pages * page, is_resident) == 0);
    for (size_t i = 0; i < pages; i++) {
        resident += is_resident[i] & 1;
    }
    return resident * page;
}

struct holes {
    size_t size, stride;
};

static const struct holes rows[] = {
    { 16, 2000 }, { 64, 500 }, { 80, 700 }, { 256, 64 }, { 1000, 40 }, { 1024, 2000 }, { 4096, 3 }, { 8192, 7 },
};

IN_CHILDREN(a_trim_gives_back_the_pages_between_objects, rows)
{
    const struct holes *holes = argument;
    const size_t page = os_page_bytes();
    /* Until then nothing goes back by itself. */
    option_values[OPTION_RETAIN_BYTES] = TIB;
    option_values[OPTION_PURGE_DELAY_MS] = 3600 * 1000;
    allocate_all(holes->size);
    const size_t kept = keep_some(holes->stride);
    const size_t before = resident_bytes();
    const size_t given = tslab_trim();
    const size_t after = resident_bytes();
    CHECK(before - after <= given);
    /* An object keeps the pages that it lies on, and a slab whatever is not worth a call. */
    const size_t pinned = kept * (holes->size + page) + before / 16;
    CHECK_SAY(after <= pinned, "%zu of %zu bytes are resident, for %zu objects of %zu bytes", after, before, kept,
              holes->size);
    check_contents();
    CHECK_SAY(tslab_trim() == 0, "a second trim found something");
    /* The holes are memory as any other. */
    for (size_t i = 0; i < OBJECTS; i++) {
        if (objects[i].start == NULL) {
            objects[i].start = tslab_calloc(1, holes->size);
            CHECK(objects[i].start != NULL && all_zero(objects[i].start, holes->size));
            pattern_fill(objects[i].start, holes->size, i);
        }
    }
    check_contents();
}

static int by_address(const void *a, const void *b)
{
    const uintptr_t p = *(const uintptr_t *)a, q = *(const uintptr_t *)b;
    return p < q ? -1 : p > q;
}

/* The bytes of the pages that objects lie on. */
static size_t kept_bytes(void)
{
    static uintptr_t pages[2 * OBJECTS];
    const size_t page = os_page_bytes();
    size_t n = 0, different = 0;
    for (size_t i = 0; i < OBJECTS; i++) {
        if (objects[i].start != NULL) {
            pages[n++] = (uintptr_t)objects[i].start / page;
            pages[n++] = ((uintptr_t)objects[i].start + objects[i].size - 1) / page;
        }
    }
    qsort(pages, n, sizeof pages[0], by_address);
    for (size_t i = 0; i < n; i++) {
        different += i == 0 || pages[i] != pages[i - 1];
    }
    return different * page;
}

/* A trim leaves what objects lie on, and nothing else; apart from slabs that a heap has attached. */
static void trim_and_check(const char *when)
{
    (void)tslab_trim();
    const size_t kept = kept_bytes(), resident = resident_bytes();
    CHECK_SAY(resident <= kept + kept / 50 + ((size_t)256 << 10), "%s: %zu KiB are resident, objects lie on %zu KiB",
              when, resident >> 10, kept >> 10);
    check_contents();
}

enum where { IN_PROCESS, IN_EPOCH, IN_CLOSED };

static void *allocate(tslab_epoch epoch, enum where where, size_t size)
{
    return where == IN_PROCESS ? tslab_malloc(size) : tslab_epoch_malloc(epoch, size);
}

static const enum where places[] = { IN_PROCESS, IN_EPOCH, IN_CLOSED };

/* Objects die one of so many at a time, until each page has one; then most of these die, too. */
IN_CHILDREN(every_trim_gives_back_every_free_page, places)
{
    const enum where where = *(const enum where *)argument;
    const tslab_epoch epoch = tslab_epoch_open(NULL);
    for (size_t i = 0; i < OBJECTS; i++) {
        objects[i].size = 300;
        objects[i].start = allocate(epoch, where, objects[i].size);
        CHECK(objects[i].start != NULL);
        pattern_fill(objects[i].start, objects[i].size, i);
    }
    if (where == IN_CLOSED) {
        CHECK(tslab_epoch_close(epoch, 0, NULL) == TSLAB_OK);
    }
    uint64_t random = 1;
    for (size_t percent = 5; percent < 100; percent += percent < 80 ? 15 : 5) {
        for (size_t i = 0; i < OBJECTS; i++) {
            if (objects[i].start != NULL && random_next(&random) % 100 < 30) {
                tslab_free(objects[i].start);
                objects[i].start = NULL;
            }
        }
        trim_and_check("after each step");
    }
}

IN_A_CHILD(a_close_with_reclaim_leaves_what_survivors_lie_on)
{
    const tslab_epoch epoch = tslab_epoch_open(NULL);
    for (size_t i = 0; i < OBJECTS; i++) {
        objects[i].size = 300;
        objects[i].start = tslab_epoch_malloc(epoch, objects[i].size);
        pattern_fill(objects[i].start, objects[i].size, i);
    }
    (void)keep_some(100);
    struct tslab_epoch_report report;
    CHECK(tslab_epoch_close(epoch, TSLAB_CLOSE_RECLAIM, &report) == TSLAB_OK);
    CHECK(report.survivors == OBJECTS / 100 && (report.reclaimed_bytes != 0 || os_page_bytes() > 4096));
    const size_t kept = kept_bytes(), resident = resident_bytes();
    CHECK_SAY(resident <= kept + ((size_t)512 << 10), "%zu KiB are resident, survivors lie on %zu KiB", resident >> 10,
              kept >> 10);
    check_contents();
}

/* Memory that goes back in large parts takes the free pages of what is left along, without a call. */
IN_A_CHILD(what_goes_back_takes_free_pages_along)
{
    option_values[OPTION_PURGE] = PURGE_EAGER;
    allocate_all(300);
    const size_t before = resident_bytes();
    (void)keep_some(100);
    const size_t after = resident_bytes(), kept = kept_bytes();
    CHECK_SAY(after <= max_size(before / 2, kept + kept / 8), "%zu KiB of %zu are resident, objects lie on %zu",
              after >> 10, before >> 10, kept >> 10);
    check_contents();
}

enum { MANY = 160000, LEAST = 16, MOST = 512, SLICES = 8, REQUESTS = 500 };

static char *many[MANY];
static uint32_t order[MANY];

enum freed { IN_ORDER, IN_REVERSE, AT_RANDOM, IN_SLICES, BY_REQUESTS };

/* The order in which MANY objects are freed. */
static void make_order(enum freed freed, uint64_t *random)
{
    const uint32_t stride = freed == IN_SLICES ? SLICES : freed == BY_REQUESTS ? REQUESTS : 1;
    uint32_t n = 0;
    for (uint32_t first = 0; first < stride; first++) {
        for (uint32_t i = first; i < MANY; i += stride) {
            order[n++] = freed == IN_REVERSE ? MANY - 1 - i : i;
        }
    }
    for (uint32_t i = MANY - 1; freed == AT_RANDOM && i != 0; i--) {
        const uint32_t other = (uint32_t)(random_next(random) % (i + 1)), object = order[i];
        order[i] = order[other];
        order[other] = object;
    }
}

struct freeing {
    enum freed freed;
    uint32_t but_every; /* one of so many survives */
};

static const struct freeing freeings[] = {
    { IN_ORDER, 1000 },    { IN_REVERSE, 1000 },      { AT_RANDOM, 1000 },  { IN_SLICES, 1000 },
    { BY_REQUESTS, 1000 }, { AT_RANDOM, UINT32_MAX }, { BY_REQUESTS, 100 }, { BY_REQUESTS, UINT32_MAX },
};

/* When the last free has been done, with nobody else to come by, little more is there than what survivors lie on.
 * Each slot that the thread caches keeps a page, which are most of them where they are longer than usual. */
IN_CHILDREN(frees_pay_in_every_order, freeings)
{
    const struct freeing *const freeing = argument;
    option_values[OPTION_MAGAZINES] = os_page_bytes() <= 4096;
    uint64_t random = 1;
    make_order(freeing->freed, &random);
    for (uint32_t i = 0; i < MANY; i++) {
        const size_t size = LEAST + random_next(&random) % (MOST - LEAST + 1);
        many[i] = tslab_malloc(size);
        CHECK(many[i] != NULL);
        memset(many[i], 1, size);
    }
    const size_t before = resident_bytes();
    size_t survivors = 0;
    for (uint32_t i = 0; i < MANY; i++) {
        if (random_next(&random) % freeing->but_every == 0) {
            survivors++;
        } else {
            tslab_free(many[order[i]]);
        }
    }
    const size_t after = resident_bytes(), kept = survivors * (os_page_bytes() + MOST);
    CHECK_SAY(after <= kept + before / 3, "%zu KiB of %zu are resident, and %zu objects survive", after >> 10,
              before >> 10, survivors);
}

static bool refuse(void *start, size_t bytes)
{
    return false;
}

IN_A_CHILD(what_was_refused_is_given_back_later)
{
    option_values[OPTION_RETAIN_BYTES] = TIB;
    option_values[OPTION_PURGE_DELAY_MS] = 3600 * 1000;
    allocate_all(256);
    (void)keep_some(os_page_bytes() / 64);
    const struct os_calls real = os_calls;
    os_calls.purge = refuse;
    const size_t before = resident_bytes();
    CHECK_SAY(tslab_trim() == 0, "it says that it gave back what the kernel refused");
    CHECK(resident_bytes() == before);
    check_contents();
    os_calls = real;
    CHECK_SAY(tslab_trim() >= before / 2, "what was refused once is not tried again");
    CHECK(resident_bytes() <= before / 2);
    check_contents();
}
